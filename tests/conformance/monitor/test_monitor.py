"""The monitor accuses who broke the protocol first, with evidence, and nobody who did not."""

from __future__ import annotations

import weakref

import pytest

from tests.collector import no_collector
from tests.conformance.traced_conversation import THROTTR, TICK, TracedConversation
from wireproof.conformance.model.intended import IntendedFrame
from wireproof.conformance.model.trace import Kind
from wireproof.conformance.model.verdict import Guilty
from wireproof.conformance.model.violation import MISREAD, NOT_INTENDED, Violation
from wireproof.conformance.monitor.monitor import Monitor, MonitorReport
from wireproof.protocols import Message
from wireproof.protocols.throttr import OK, REFUSED
from wireproof.protocols.throttr.replies import PushedEvent, PushedMessage, QueryReply, WhoamiReply
from wireproof.protocols.throttr.requests import Event, Info, Insert, Purge, Query, Subscribe, Whoami

ASK = Query(b"k")
FOUND = QueryReply(7, 4, 59)
PUSH = PushedMessage(b"p")
ENDS = [Kind.ENDED, Kind.RESET]


def guilty_of(report: MonitorReport) -> Violation:
    assert report.first is not None
    return report.first


def test_a_good_conversation_accuses_nobody() -> None:
    conversation = TracedConversation().sends(Insert(7, 4, 60, b"k")).comes(OK).sends(ASK, ASK).comes(FOUND, REFUSED)
    report = conversation.happens(Kind.HALF_CLOSED).happens(Kind.ENDED).happens(Kind.CLOSED).report()

    assert (report.guilty, report.first) == (Guilty.NOBODY, None)
    assert [(one.connection, one.opened, one.violation, one.unframed) for one in report.connections] == [
        ("a", 0, None, None)
    ]


def test_events_without_bytes_are_not_the_end() -> None:
    conversation = (
        TracedConversation()
        .sends(ASK, crossed=b"")
        .comes("")
        .happens(Kind.SENT, data=b"\x02\x01k")
        .comes("")
        .comes(REFUSED)
    )

    assert conversation.report().guilty is Guilty.NOBODY


def test_an_empty_trace_accuses_nobody() -> None:
    assert TracedConversation().report().guilty is Guilty.NOBODY


def test_a_request_without_an_answer_accuses_nobody() -> None:
    assert TracedConversation().sends(ASK).happens(Kind.SILENT).happens(Kind.ENDED).report().guilty is Guilty.NOBODY


def test_a_reply_to_nothing_is_the_targets() -> None:
    first = guilty_of(TracedConversation().sends(ASK).comes(REFUSED).comes(REFUSED).report())

    assert (first.side, first.connection, first.stream, first.offset) == (Guilty.TARGET, "a", Guilty.TARGET, 1)
    assert (first.error, first.clause) == ("unexpected_message", "THR-ROBUSTNESS-5")
    assert (first.event, first.at_us) == (3, 3 * TICK)


@pytest.mark.parametrize("cut", range(1, 3))
def test_a_reply_before_its_request_was_whole_is_the_targets(cut: int) -> None:
    data = b"\x02\x01k"
    conversation = TracedConversation().sends_by_hand(data[:cut]).comes(REFUSED).sends_by_hand(data[cut:], like=ASK)
    first = guilty_of(conversation.report())

    assert (first.side, first.event, first.error) == (Guilty.TARGET, 2, "unexpected_message")


@pytest.mark.parametrize("bad", ["07", "00 07", "01 0700 04 3b00 ff"])
def test_what_no_client_can_read_is_the_targets(bad: str) -> None:
    first = guilty_of(TracedConversation().sends(ASK, ASK).comes(bad).report())

    assert (first.side, first.offset) == (Guilty.TARGET, len(bytes.fromhex(bad)) - 1)
    assert first.error == "bad_status"


@pytest.mark.parametrize("end", ENDS)
def test_an_answer_cut_by_the_end_is_the_targets(end: Kind) -> None:
    first = guilty_of(TracedConversation().sends(ASK).comes("01 07").happens(end).report())

    assert (first.side, first.offset, first.error, first.event) == (Guilty.TARGET, 0, "truncated", 3)


def test_half_an_answer_accuses_nobody_as_long_as_the_rest_may_come() -> None:
    assert (
        TracedConversation().sends(ASK).comes("01 07").happens(Kind.SILENT).happens(Kind.CLOSED).report().guilty
        is Guilty.NOBODY
    )


@pytest.mark.parametrize(("profile", "push"), [("7.1.0", PUSH), ("7.3.2", PushedEvent(b"c", b"p"))])
def test_pushes_are_not_judged(profile: str, push: Message) -> None:
    conversation = TracedConversation(profile).comes(push).sends(ASK).comes(push, FOUND, push).happens(Kind.ENDED)

    assert conversation.report().guilty is Guilty.NOBODY


def test_a_push_beside_a_bare_reply_accuses_nobody() -> None:
    conversation = (
        TracedConversation().sends(Subscribe(b"c")).comes(OK).sends(Whoami()).comes(PUSH, WhoamiReply(b"i" * 16))
    )
    report = conversation.sends(ASK).comes(REFUSED).report()

    assert report.guilty is Guilty.NOBODY
    assert report.connections[0].undecided


def test_pushes_beside_bare_replies_accuse_nobody_however_many() -> None:
    conversation = TracedConversation().sends(Whoami(), Info(), Whoami(), ASK)
    conversation.comes(
        PUSH, PUSH, WhoamiReply(b"\x03" * 16), PUSH, b"\x03" + bytes(431), PUSH, WhoamiReply(b"i" * 16), REFUSED
    )

    assert conversation.happens(Kind.ENDED).report().guilty is Guilty.NOBODY


def test_what_neither_reading_explains_is_the_targets() -> None:
    conversation = TracedConversation().sends(Whoami(), ASK).comes(PUSH, b"i" * 20)

    assert guilty_of(conversation.report()).side is Guilty.TARGET


@pytest.mark.parametrize(
    ("crossed", "offset"),
    [("02 02 6b", 1), ("02 01 6c", 2), ("02 01", 2), ("02 01 6b 00", 3), ("", 0)],
    ids=["length", "byte", "cut", "more", "nothing"],
)
def test_bytes_that_the_player_did_not_give_are_the_harnesss(crossed: str, offset: int) -> None:
    conversation = TracedConversation().sends(ASK, crossed=bytes.fromhex(crossed)).comes("07")
    first = guilty_of(conversation.report())

    assert (first.side, first.stream, first.offset, first.error) == (
        Guilty.HARNESS,
        Guilty.HARNESS,
        offset,
        NOT_INTENDED,
    )
    assert first.event == 1


@pytest.mark.parametrize("data", ["02 02 6b", "02 00", "02 01 6c", "04 01 6b", "02", "", "ff"])
def test_bytes_that_do_not_say_what_was_intended_are_the_harnesss(data: str) -> None:
    first = guilty_of(TracedConversation().sends_wrongly(data, ASK).comes("00 07").report())

    assert (first.side, first.event) == (Guilty.HARNESS, 1)
    assert first.error in (NOT_INTENDED, "unknown_type")


def test_a_message_without_bytes_before_bytes_that_are_declared_wrong_is_the_harnesss() -> None:
    conversation = TracedConversation()
    conversation.intended_on().frames.append(IntendedFrame(1, b"", ASK))

    assert guilty_of(conversation.sends_by_hand("0a").report()).error == NOT_INTENDED


def test_a_trace_that_ends_in_a_write_shows_that_it_was_cut() -> None:
    assert guilty_of(TracedConversation().sends(ASK, crossed=b"\x02").report()).event == 1
    assert guilty_of(TracedConversation().sends_wrongly("02", ASK).report()).event == 1


@pytest.mark.parametrize(("data", "error"), [("02 01 6b 0a", "unknown_type"), ("02 01", "truncated")])
def test_without_an_account_what_no_server_can_read_is_the_harnesss(data: str, error: str) -> None:
    conversation = TracedConversation(accounted=False).sends_by_hand(data).happens(Kind.CLOSED)
    first = guilty_of(conversation.report())

    assert (first.side, first.error) == (Guilty.HARNESS, error)


def test_bytes_after_our_end_are_the_harnesss() -> None:
    conversation = TracedConversation().sends(ASK).happens(Kind.HALF_CLOSED).sends(ASK).comes(REFUSED, REFUSED)

    assert (guilty_of(conversation.report()).side, guilty_of(conversation.report()).error) == (
        Guilty.HARNESS,
        "illegal_state",
    )


MALFORMED = ["0a", "02 ff 6b", "03"]


@pytest.mark.parametrize("data", MALFORMED)
@pytest.mark.parametrize("answer", ["", "00", "07 07", "ff" * 40])
def test_what_follows_bytes_that_the_case_declares_wrong_is_not_judged(data: str, answer: str) -> None:
    conversation = TracedConversation().sends(ASK).comes(REFUSED).sends_by_hand(data)
    report = conversation.comes(answer).sends(ASK).comes("07").happens(Kind.ENDED).happens(Kind.CLOSED).report()

    assert report.guilty is Guilty.NOBODY
    assert report.connections[0].unframed == 3


@pytest.mark.parametrize("data", MALFORMED)
def test_what_came_before_bytes_that_the_case_declares_wrong_is_judged(data: str) -> None:
    first = guilty_of(TracedConversation().sends(ASK).comes("07").sends_by_hand(data).happens(Kind.CLOSED).report())

    assert (first.side, first.event) == (Guilty.TARGET, 2)


def test_a_request_by_hand_whose_like_is_answered_is_judged_like_any() -> None:
    conversation = TracedConversation().sends_by_hand("02").sends_by_hand("01").sends_by_hand("6b", like=ASK)

    assert conversation.comes(FOUND).report().guilty is Guilty.NOBODY
    assert guilty_of(conversation.comes("07").report()).side is Guilty.TARGET


def test_requests_by_hand_that_the_case_awaits_no_answer_to_leave_it_open_what_comes() -> None:
    assert TracedConversation().sends_by_hand("02 01 6b").comes("07").report().guilty is Guilty.NOBODY
    assert TracedConversation().sends_by_hand("02016b 02016b", like=ASK).comes("00 07").report().guilty is Guilty.NOBODY


def test_a_request_by_hand_that_is_answered_like_another_leaves_it_open_what_comes() -> None:
    conversation = TracedConversation("7.3.2").sends_by_hand("19 01 0200 63 1818", like=Purge(b"k"))

    assert conversation.comes("01").report().guilty is Guilty.NOBODY


def test_requests_after_a_lying_length_by_hand_are_not_taken_for_ours() -> None:
    conversation = TracedConversation().sends_by_hand("02 05").sends(ASK, ASK).comes("07").happens(Kind.CLOSED)

    assert conversation.report().guilty is Guilty.NOBODY


def test_a_write_that_failed_leaves_it_open_what_comes() -> None:
    conversation = TracedConversation().sends(ASK, crossed=b"\x02").happens(Kind.RESET)
    conversation.intended_on().lost.append(2)

    assert conversation.comes("07").happens(Kind.CLOSED).report().guilty is Guilty.NOBODY


def test_writes_that_fail_one_after_the_other_are_no_end_of_what_comes() -> None:
    conversation = (
        TracedConversation()
        .sends(ASK)
        .sends(ASK, crossed=b"\x02")
        .happens(Kind.RESET)
        .sends(ASK, crossed=b"")
        .happens(Kind.RESET)
    )
    conversation.intended_on().lost += [3, 5]
    conversation.comes(FOUND, REFUSED).understood(FOUND, 0, 6).understood(REFUSED, 6, 7)

    assert conversation.report().guilty is Guilty.NOBODY
    assert guilty_of(conversation.understood(FOUND, 7, 13).comes(REFUSED).report()).error == MISREAD


def test_the_first_in_time_is_accused_whatever_the_connection() -> None:
    target_first = (
        TracedConversation().sends(ASK).comes("07").sends(ASK, name="b", crossed=b"\x02\x02k").happens(Kind.CLOSED, "b")
    )
    harness_first = (
        TracedConversation().sends(ASK).sends(ASK, name="b", crossed=b"\x02\x02k").happens(Kind.CLOSED, "b").comes("07")
    )

    assert target_first.report().guilty is Guilty.TARGET
    assert harness_first.report().guilty is Guilty.HARNESS
    assert [one.violation and one.violation.side for one in harness_first.report().connections] == ["target", "harness"]


def test_a_name_used_again_is_another_connection() -> None:
    conversation = TracedConversation().sends(ASK).happens(Kind.CLOSED).sends(ASK).comes("07")
    first, second = conversation.report().connections

    assert (first.connection, first.opened, first.violation) == ("a", 0, None)
    assert (second.connection, second.opened) == ("a", 3)
    assert second.violation is not None
    assert second.violation.offset == 0


def test_a_reply_that_the_player_understood_otherwise_is_the_harnesss() -> None:
    conversation = TracedConversation().sends(ASK).comes(FOUND).understood(QueryReply(1792, 4, 59), 0, 6)
    first = guilty_of(conversation.report())

    assert (first.side, first.stream, first.offset, first.error) == (Guilty.HARNESS, Guilty.TARGET, 0, MISREAD)
    assert "quota=1792" in first.detail


def test_a_reply_that_the_player_cut_otherwise_is_the_harnesss() -> None:
    conversation = (
        TracedConversation().sends(ASK, ASK).comes(REFUSED, REFUSED).understood(REFUSED, 0, 1).understood(REFUSED, 0, 2)
    )

    assert (guilty_of(conversation.report()).error, guilty_of(conversation.report()).offset) == (MISREAD, 1)


@pytest.mark.parametrize("end", [None, Kind.ENDED])
def test_a_refusal_of_what_can_be_read_is_the_harnesss(end: Kind | None) -> None:
    conversation = TracedConversation().sends(ASK, ASK).comes(REFUSED, FOUND)
    conversation = conversation.happens(end) if end else conversation

    assert (guilty_of(conversation.refused(1).report()).side, guilty_of(conversation.report()).error) == (
        Guilty.HARNESS,
        MISREAD,
    )


def test_a_refusal_of_what_cannot_be_read_is_the_targets() -> None:
    assert guilty_of(TracedConversation().sends(ASK, ASK).comes("00 07").refused(1).report()).side is Guilty.TARGET


def test_a_refusal_before_what_cannot_be_read_is_the_harnesss() -> None:
    assert guilty_of(TracedConversation().sends(ASK, ASK).comes("00 07").refused(0).report()).side is Guilty.HARNESS


def test_a_refusal_of_what_is_not_judged_accuses_nobody() -> None:
    assert TracedConversation().sends_by_hand("0a", like=ASK).comes("07").refused(0).report().guilty is Guilty.NOBODY
    assert TracedConversation().sends_by_hand("02").comes("07").refused(0).report().guilty is Guilty.NOBODY
    assert TracedConversation().sends(Whoami(), ASK).comes(PUSH, b"i" * 16).refused(16).report().guilty is Guilty.NOBODY


def test_a_refusal_of_what_answers_bytes_that_are_declared_wrong_is_the_harnesss() -> None:
    conversation = TracedConversation().sends_by_hand("0a", like=ASK)

    assert guilty_of(conversation.comes("00").refused(0).report()).error == MISREAD


def test_what_answers_bytes_that_are_declared_wrong_is_held_against_what_the_player_read() -> None:
    conversation = (
        TracedConversation("7.3.2").sends_by_hand("19 01 0200 63 1818", like=ASK).sends(ASK).comes(FOUND, REFUSED)
    )

    assert guilty_of(conversation.understood(FOUND, 0, 6).understood(FOUND, 6, 7).report()).offset == 6


@pytest.mark.parametrize("data", ["02 02 6b", "04 01 6b", "02 01 6b 02", "fe", "02"])
def test_a_wrong_message_after_bytes_that_are_declared_wrong_is_the_harnesss(data: str) -> None:
    first = guilty_of(TracedConversation().sends_by_hand("0a").sends_wrongly(data, ASK).report())

    assert (first.side, first.offset, first.event, first.error) == (Guilty.HARNESS, 1, 2, NOT_INTENDED)


def test_bytes_by_hand_that_changed_on_their_way_out_are_the_harnesss() -> None:
    conversation = TracedConversation().sends_by_hand("0a").sends(ASK, crossed=b"\x02\x01j")

    assert guilty_of(conversation.report()).offset == 3


def test_an_event_that_carries_a_request_is_answered_like_it() -> None:
    carried = Event(b"c", b"\x02\x01k")

    assert TracedConversation("7.3.2").sends(carried).comes("01 01 0700 04 3b00").report().guilty is Guilty.NOBODY
    assert guilty_of(TracedConversation("7.3.2").sends(carried).comes("01 07").report()).offset == 1


def test_it_may_be_asked_at_any_time() -> None:
    conversation = TracedConversation().sends(ASK).comes("07")
    monitor = Monitor(THROTTR, "7.1.0", "uint16")
    detail = []
    for event in conversation.trace:
        monitor.feed(event)
        detail.append(monitor.report().guilty)

    assert detail == ["nobody", "nobody", "target"]


@pytest.mark.parametrize("late", [False, True])
def test_a_reply_that_somebody_else_reads_as_the_monitor_does_is_no_push(late: bool) -> None:
    name = b"\x03" + b"i" * 15
    conversation = TracedConversation().sends(Whoami()).comes(name).sends(ASK).comes("00 07")
    monitor = Monitor(THROTTR, "7.1.0", "uint16")
    for event in conversation.trace[:3] if not late else conversation.trace:
        monitor.feed(event)
    monitor.agreed("a", 0)
    for event in conversation.trace[3:] if not late else ():
        monitor.feed(event)

    assert conversation.report().guilty is Guilty.NOBODY
    assert monitor.report().guilty is Guilty.TARGET
    assert not monitor.report().connections[0].undecided


def test_events_of_connections_that_were_never_opened_are_passed_over() -> None:
    conversation = TracedConversation()
    conversation.happens(Kind.CLOSED)
    conversation.trace.append(conversation.trace[-1])
    del conversation.trace[0]

    assert conversation.report().connections == ()


def test_a_monitor_is_freed_without_the_collector_of_cycles() -> None:
    """What reads the harness's bytes kept what reads both directions, and was kept by it: whole plays in a campaign."""
    monitor = Monitor(THROTTR, "7.1.0", "uint16")
    for event in TracedConversation().sends(ASK).comes(FOUND).sends_by_hand("ff").happens(Kind.RESET).trace:
        monitor.feed(event)
    seen = weakref.ref(monitor._connections[0]._harness)

    with no_collector():
        del monitor
        assert seen() is None
