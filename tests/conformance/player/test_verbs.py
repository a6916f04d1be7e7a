"""The verbs of cases: what each asks of the driver, and what each makes of the answers."""

from typing import Any

import pytest

from tests.conformance.scripted import ASK, INSERT, ScriptedTarget, make_symbols, play
from wireproof.conformance.model.actions import Open, Shut, Sleep, Write
from wireproof.conformance.model.outcome import StepEvent
from wireproof.conformance.model.trace import Kind
from wireproof.conformance.model.verdict import Guilty, Verdict
from wireproof.conformance.suite.symbols import Symbols
from wireproof.conformance.suite.written import as_written
from wireproof.protocols import protocol

QUERY_REPLY = bytes.fromhex("01 0700 04 3b00")
PUSH = bytes.fromhex("03 0100 70")
SEEN = {"QUERY_REPLY": {"quota": 7, "ttl": {"at_most": 60}}}


@pytest.mark.parametrize(
    ("reads", "label"), [([b"\x01"], "accepted"), ([b"\x00"], "refused"), ([PUSH], "other: MESSAGE(payload=70 \"p\")")]
)  # fmt: skip
def test_observing_notes_which_answer_came(reads: list[bytes], label: str) -> None:
    outcome = play({"send": INSERT, "observe": {"accepted": "ok", "refused": "refused"}}, reads=reads)

    assert (outcome.verdict, outcome.observed) == (Verdict.PASS, label)


@pytest.mark.parametrize(
    ("reads", "label"), [([], "silent"), ([Kind.ENDED], "closed"), ([Kind.RESET], "closed"), ([b"\x00"], "refused")]
)
def test_observing_notes_silence_and_closing(reads: list[Any], label: str) -> None:
    outcome = play({"send": INSERT, "observe": {"refused": "refused", "silent": 0.5, "closed": True}}, reads=reads)

    assert (outcome.verdict, outcome.observed) == (Verdict.PASS, label)


def test_a_step_is_carried_out_where_its_label_was_observed() -> None:
    steps = (
        {"send": INSERT, "observe": {"accepted": "ok", "refused": "refused"}},
        {"send": ASK, "expect": SEEN, "when": "accepted"},
    )

    assert play(*steps, reads=[b"\x00"]).verdict is Verdict.PASS
    assert play(*steps, reads=[b"\x01", QUERY_REPLY]).verdict is Verdict.PASS
    assert play(*steps, reads=[b"\x01", b"\x00"]).verdict is Verdict.FAIL


def test_half_a_message_is_no_silence() -> None:
    outcome = play({"send": ASK, "observe": {"silent": 0.5, "closed": True}}, reads=[b"\x01\x07"])

    assert (outcome.verdict, outcome.got) == (Verdict.HANG, "2 bytes of an unfinished message")


def test_observing_finds_garbage_and_nothing_at_all() -> None:
    labels = {"accepted": "ok", "refused": "refused"}

    assert play({"send": INSERT, "observe": labels}, reads=[b"\x07"]).verdict is Verdict.FAIL
    assert play({"send": INSERT, "observe": labels}).verdict is Verdict.HANG


def test_silence_is_proved_by_a_barrier() -> None:
    assert play({"send": ASK, "expect": "refused"}, {"silent": "a"}, reads=[b"\0", b"\0"]).verdict is Verdict.PASS
    assert (
        play({"send": ASK, "expect": "refused"}, {"silent": "a"}, reads=[b"\0", PUSH + b"\0"]).verdict is Verdict.FAIL
    )
    assert play({"send": ASK}, {"silent": "a"}, reads=[b"\0\0"]).verdict is Verdict.FAIL


def test_a_push_is_expected_by_its_own_verb_one_or_many() -> None:
    many = {"each": {"i": [1, 2]}, "of": {"channel": "c", "payload": "{i}"}}
    numbered = bytes.fromhex("03 0100 31 03 0100 32")

    assert play({"push": {"channel": "c", "payload": "p"}}, reads=[PUSH]).verdict is Verdict.PASS
    assert play({"push": many}, reads=[numbered]).verdict is Verdict.PASS
    assert play({"push": many}, reads=[numbered[:4] + numbered[:4]]).verdict is Verdict.FAIL


@pytest.mark.parametrize(
    ("reads", "verdict"),
    [([Kind.ENDED], Verdict.PASS), ([Kind.RESET], Verdict.PASS), ([], Verdict.HANG), ([PUSH], Verdict.FAIL)],
)
def test_closing_can_be_asked_of_the_target(reads: list[Any], verdict: Verdict) -> None:
    assert play({"connect": "a"}, {"closed": "a"}, reads=reads).verdict is verdict


@pytest.mark.parametrize(
    ("reads", "verdict"),
    [([Kind.ENDED], Verdict.PASS), ([b"\0", Kind.RESET], Verdict.PASS), ([b"\1"], Verdict.FAIL), ([], Verdict.HANG)],
)
def test_a_closing_may_stand_for_the_answers(reads: list[Any], verdict: Verdict) -> None:
    step = {"send": [INSERT, INSERT], "expect": ["refused", "refused"], "or_closed": True}

    assert play(step, reads=reads).verdict is verdict


@pytest.mark.parametrize("end", [Kind.ENDED, Kind.RESET])
def test_a_closing_may_come_within_a_message(end: Kind) -> None:
    cut = {"push": {"channel": "c", "payload": "p"}, "or_closed": True}

    assert play(cut, reads=[PUSH[:-1], end]).verdict is Verdict.PASS
    assert play({**cut, "or_closed": False}, reads=[PUSH[:-1], end]).verdict is Verdict.FAIL


def test_sending_on_a_connection_the_target_ended_is_the_target_s_fault() -> None:
    outcome = play({"connect": "a"}, {"observe": {"closed": True}}, {"send": ASK}, reads=[Kind.ENDED])

    assert (outcome.verdict, outcome.guilty) == (Verdict.FAIL, Guilty.TARGET)


def test_a_target_that_stops_reading_hangs() -> None:
    target = ScriptedTarget()
    target.write_ends = Kind.SILENT

    assert play({"send": ASK}, target=target).verdict is Verdict.HANG


def test_what_came_before_a_reset_is_still_read() -> None:
    target = ScriptedTarget({"a": [b"\x00", Kind.RESET]})
    target.write_ends = Kind.RESET

    assert play({"send": ASK, "expect": "refused"}, {"closed": "a"}, target=target).verdict is Verdict.PASS


def test_a_new_client_is_served() -> None:
    target = ScriptedTarget({"alive0": [b"\0"]})

    assert play({"alive": True}, target=target).verdict is Verdict.PASS
    assert play({"alive": True}).verdict is Verdict.HANG


def test_connections_are_controlled_by_name_and_may_be_opened_again() -> None:
    steps = (
        {"connect": "a"}, {"half_close": "a"}, {"close": "a"}, {"connect": "a"}, {"reset": "a"},
        {"repeat": {"each": {"i": [1, 2]}, "steps": [{"connect": "c{i}"}, {"close": "c{i}"}]}},
    )  # fmt: skip
    target = ScriptedTarget()

    assert play(*steps, target=target).verdict is Verdict.PASS
    names = [
        (type(one).__name__, getattr(one, "how", ""), one.connection)
        for one in target.actions
        if isinstance(one, Open | Shut)
    ]
    assert names == [
        ("Open", "", "a"), ("Shut", "half", "a"), ("Shut", "close", "a"), ("Open", "", "a"), ("Shut", "reset", "a"),
        ("Open", "", "c1"), ("Shut", "close", "c1"), ("Open", "", "c2"), ("Shut", "close", "c2"),
    ]  # fmt: skip


def test_the_port_of_a_connection_has_a_name() -> None:
    symbols = make_symbols()
    play({"connect": "b"}, symbols=symbols)

    assert symbols.number("b_port") == 40000


def test_waits_are_asked_of_the_driver_and_counted_from_the_mark() -> None:
    target = ScriptedTarget()
    play({"wait": 0.5}, {"mark": "m"}, {"wait": "0.5 * 2"}, {"wait_until": {"mark": "m", "plus": 1.5}}, target=target)

    assert [one.seconds for one in target.actions if isinstance(one, Sleep)] == [0.5, 0.0, 1.0, 0.5]


def test_messages_and_patterns_can_be_repeated() -> None:
    target = ScriptedTarget({"a": [b"\0" * 5]})
    each = {"each": {"i": [1, 3]}, "of": {"QUERY": {"key": "k{i}"}}}
    step = {"send": [each, {"times": 2, "of": {"QUERY": {"key": "z"}}}], "expect": {"times": 5, "of": "refused"}}

    assert play(step, target=target).verdict is Verdict.PASS
    assert target.written["a"] == b"\x02\x02k1\x02\x02k2\x02\x02k3\x02\x01z\x02\x01z"


def test_messages_of_one_step_leave_in_one_write() -> None:
    target = ScriptedTarget({"a": [b"\0\0"]})
    play({"send": [ASK, ASK], "expect": ["refused", "refused"]}, target=target)

    assert len([one for one in target.actions if isinstance(one, Write)]) == 1


def test_a_raw_frame_is_answered_like_the_request_it_is() -> None:
    step = {"send": {"raw": {"join": [{"hex": "0201"}, "k"]}, "as": {"QUERY": {"key": "k"}}}, "expect": SEEN}

    assert play(step, reads=[QUERY_REPLY]).verdict is Verdict.PASS


def test_the_scribe_hears_every_step_with_its_bytes() -> None:
    notes: list[StepEvent] = []
    play({"send": ASK, "expect": SEEN}, {"wait": 1}, {"close": "a"}, reads=[QUERY_REPLY], notes=notes)

    assert [(one.do, one.connection, len(one.messages)) for one in notes] == [
        ("connect", "a", 0), ("send", "a", 1), ("receive", "a", 1), ("wait", "", 0), ("close", "a", 0),
    ]  # fmt: skip
    assert notes[2].data == QUERY_REPLY
    assert as_written(notes[2].expect) == SEEN


def test_the_trace_holds_every_byte_with_its_time() -> None:
    outcome = play({"wait": 0.25}, {"send": {"raw": "ff"}}, reads=[])
    events = [(one.at_us, one.connection, one.kind, one.data) for one in outcome.trace]

    assert events[0] == (250_000, "", Kind.WAITED, b"")
    assert (250_000, "a", Kind.SENT, b"\xff") in events
    assert events[-1][2] is Kind.CLOSED


def test_whoever_expects_a_push_uses_the_clauses_about_pushes() -> None:
    with_push = play({"push": {"payload": "q"}}, reads=[PUSH])
    without = play({"send": INSERT, "expect": "ok"}, reads=[b"\x00"])

    assert with_push.place is not None
    assert "PUSH" in with_push.place.asked
    assert without.place is not None
    assert without.place.asked == {"INSERT"}


def test_a_request_inside_another_one_was_asked_for_too() -> None:
    carrying = {"EVENT": {"channel": "c", "payload": {"message": "LIST"}}}
    outcome = play({"send": carrying, "expect": "ok"}, reads=[b"\x00"], symbols=make_symbols("7.3.2"))

    assert outcome.place is not None
    assert outcome.place.asked == {"EVENT", "LIST"}


def test_what_is_expected_may_have_to_come_sooner_than_the_run_waits() -> None:
    step = {"send": INSERT, "expect": "refused", "within": 0.5}

    assert play(step, reads=[b"\0"]).verdict is Verdict.PASS
    assert play(step).got == "nothing in 0.5 s"
    assert play({**step, "within": 60}).got == "nothing in 2 s"


def test_an_answer_may_have_to_be_the_bytes_that_the_encoder_writes() -> None:
    symbols = Symbols(protocol("tmqp"), "doc", "standard", case="made/up", namespace="t", variables={})
    ping = {"send": "PING", "expect": "PONG", "exact": True}
    steps = {"send": ["PROTOCOL", {"HELLO": {"payload": "x"}}], "expect": "PROTOCOL_REPLY"}, ping
    pongs = [bytes.fromhex(one) for one in ("8aff000000000000", "0a10000000000000")]

    right, wrong = (play(*steps, reads=[b"TMQP/2.0", pong], symbols=symbols) for pong in pongs)
    free = play(steps[0], {**ping, "exact": False}, reads=[b"TMQP/2.0", pongs[1]], symbols=symbols)

    assert (right.verdict, free.verdict) == (Verdict.PASS, Verdict.PASS)
    assert (wrong.verdict, wrong.got) == (Verdict.FAIL, "0a10000000000000")
