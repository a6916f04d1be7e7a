"""The player: every way a step can end becomes one verdict with clause, step and byte, and nothing else leaves it."""

import json
from typing import Any

import pytest

from conformance.actions import Open, Shut, Sleep, Write
from conformance.delivery import DELIVERIES
from conformance.documents import vectors_root
from conformance.outcome import Note
from conformance.player import Player
from conformance.steps import VERBS
from conformance.trace import Kind
from conformance.verdicts import Guilty, Verdict
from tests.conformance.scripted import ASK, CLAUSE, INSERT, OTHER, ScriptedTarget, make_case, make_symbols, play

QUERY_REPLY = bytes.fromhex("01 0700 04 3b00")
PUSH = bytes.fromhex("03 0100 70")
SEEN = {"QUERY_REPLY": {"quota": 7, "ttl": {"at_most": 60}}}


def test_a_case_whose_expectations_are_met_passes() -> None:
    outcome = play({"send": INSERT, "expect": "ok"}, {"send": ASK, "expect": SEEN}, reads=[b"\x01", QUERY_REPLY])

    assert outcome.verdict is Verdict.PASS
    assert (outcome.guilty, outcome.blamed, outcome.step, outcome.byte) == (None, None, None, None)


def test_a_reply_in_many_pieces_is_one_reply() -> None:
    pieces = [bytes([byte]) for byte in QUERY_REPLY]

    assert play({"send": ASK, "expect": SEEN}, reads=pieces).verdict is Verdict.PASS


def test_a_difference_is_told_with_step_byte_and_the_first_clause() -> None:
    wrong = bytes.fromhex("01 0700 04 3d00")
    outcome = play({"send": INSERT, "expect": "ok"}, {"send": ASK, "expect": SEEN}, reads=[b"\x01", wrong])

    assert (outcome.verdict, outcome.guilty, outcome.blamed) == (Verdict.FAIL, Guilty.TARGET, CLAUSE)
    assert (outcome.step, outcome.byte, outcome.expected, outcome.got) == (1, 4, "QUERY_REPLY.ttl <= 60", "61")


def test_a_step_may_blame_another_clause_for_itself_only() -> None:
    steps = ({"send": ASK, "expect": "refused", "clause": OTHER}, {"send": ASK, "expect": "refused"})

    assert play(*steps, reads=[QUERY_REPLY]).blamed == OTHER
    assert play(*steps, reads=[b"\0", QUERY_REPLY]).blamed == CLAUSE


def test_a_step_inside_repeat_blames_its_own_clause() -> None:
    inner = {"send": ASK, "expect": "refused", "clause": OTHER}

    assert play({"repeat": {"each": {"i": [1, 2]}, "steps": [inner]}}, reads=[QUERY_REPLY]).blamed == OTHER


@pytest.mark.parametrize("reads", [[QUERY_REPLY], [], [Kind.ENDED], [b"\x07"]])
def test_a_prerequisite_that_fails_makes_the_case_untestable(reads: list[Any]) -> None:
    outcome = play({"send": ASK, "expect": "refused", "given": True}, reads=reads)

    assert (outcome.verdict, outcome.guilty) == (Verdict.UNTESTABLE, Guilty.NOBODY)


def test_a_prerequisite_inside_repeat_is_one_too() -> None:
    inner = {"send": ASK, "expect": "refused", "given": True}

    assert (
        play({"repeat": {"each": {"i": [1, 2]}, "steps": [inner]}}, reads=[QUERY_REPLY]).verdict is Verdict.UNTESTABLE
    )


def test_no_answer_is_a_hang() -> None:
    outcome = play({"send": ASK, "expect": "refused"})

    assert (outcome.verdict, outcome.byte, outcome.got) == (Verdict.HANG, 0, "nothing in 2 s")


def test_half_an_answer_is_a_hang_that_tells_how_much_came() -> None:
    outcome = play({"send": ASK, "expect": SEEN}, reads=[QUERY_REPLY[:4]])

    assert (outcome.verdict, outcome.byte) == (Verdict.HANG, 4)
    assert "beyond 4 bytes" in str(outcome.got)


def test_trickling_bytes_do_not_move_the_deadline() -> None:
    target = ScriptedTarget({"a": [b"\x01"]})
    play({"wait": 1.0}, {"send": ASK, "expect": SEEN}, target=target)

    assert [one.timeout for one in target.actions if hasattr(one, "timeout")] == [2.0, 2.0]


def test_a_target_that_takes_no_connection_has_crashed() -> None:
    outcome = play({"send": ASK, "expect": "refused"}, target=ScriptedTarget(takes=0))

    assert (outcome.verdict, outcome.expected, outcome.got) == (Verdict.CRASH, "a connection", "reset: refused")


@pytest.mark.parametrize("end", [Kind.ENDED, Kind.RESET])
def test_a_lost_connection_is_a_failure_while_others_are_served(end: Kind) -> None:
    outcome = play({"send": ASK, "expect": "refused"}, reads=[end])

    assert (outcome.verdict, outcome.got) == (Verdict.FAIL, f"the target closed the connection ({end})")


def test_a_lost_connection_is_a_crash_when_no_other_is_taken() -> None:
    outcome = play({"send": ASK, "expect": "refused"}, target=ScriptedTarget({"a": [Kind.RESET]}, takes=1))

    assert outcome.verdict is Verdict.CRASH
    assert "takes no connection any more" in str(outcome.got)


def test_garbage_is_a_failure_at_its_byte_in_the_message() -> None:
    outcome = play({"send": [ASK, ASK], "expect": ["refused", "refused"]}, reads=[b"\x00\x07"])

    assert (outcome.verdict, outcome.byte) == (Verdict.FAIL, 0)
    assert "expected 00 or 01, got 07" in str(outcome.got)


def test_a_frame_cut_by_the_end_is_a_failure() -> None:
    outcome = play({"send": ASK, "expect": SEEN}, reads=[QUERY_REPLY[:3], Kind.ENDED])

    assert outcome.verdict is Verdict.FAIL
    assert "truncated" in str(outcome.got)


@pytest.mark.parametrize("extra", [b"\x00", b"\x01", b"\x03\x00\x00", b"\xff" * 40])
@pytest.mark.parametrize("joined", [True, False])
def test_bytes_after_the_last_answer_are_a_failure(extra: bytes, joined: bool) -> None:
    reads = [b"\x00" + extra] if joined else [b"\x00", extra]
    outcome = play({"send": ASK, "expect": "refused", "given": True}, reads=reads)

    assert (outcome.verdict, outcome.expected, outcome.blamed) == (Verdict.FAIL, "nothing more", CLAUSE)


def test_what_comes_after_bytes_that_are_no_request_is_open() -> None:
    assert play({"send": {"raw": "ff"}}, reads=[b"\x00"]).verdict is Verdict.PASS


def test_answers_that_the_case_does_not_expect_are_not_judged() -> None:
    assert play({"send": ASK}, reads=[b"\x00"]).verdict is Verdict.PASS


def test_a_push_nobody_expects_is_a_failure() -> None:
    outcome = play({"send": ASK, "expect": "refused"}, reads=[b"\x00", PUSH])

    assert (outcome.verdict, outcome.got) == (Verdict.FAIL, 'MESSAGE(payload=70 "p")')


def test_a_push_before_the_answer_is_a_failure() -> None:
    outcome = play({"send": ASK, "expect": "refused"}, reads=[PUSH + b"\x00"])

    assert (outcome.verdict, outcome.got) == (Verdict.FAIL, 'MESSAGE(payload=70 "p")')


def test_a_target_that_does_not_end_its_side_is_not_blamed_for_it() -> None:
    target = ScriptedTarget({"a": [b"\x00", Kind.SILENT]})

    assert play({"send": ASK, "expect": "refused"}, target=target).verdict is Verdict.PASS


def test_a_failure_seen_too_late_blames_nobody() -> None:
    steps = ({"mark": "m"}, {"wait_until": {"mark": "m", "plus": 1.0, "latest": 1.2}}, {"send": ASK, "expect": SEEN})
    outcome = play(*steps, target=ScriptedTarget({"a": [b"\x00"]}, lag=0.3))

    assert (outcome.verdict, outcome.guilty) == (Verdict.UNTESTABLE, Guilty.HARNESS)
    assert "too late to tell" in str(outcome.got)


def test_a_failure_seen_in_time_counts() -> None:
    steps = ({"mark": "m"}, {"wait_until": {"mark": "m", "plus": 1.0, "latest": 1.2}}, {"send": ASK, "expect": SEEN})

    assert play(*steps, reads=[b"\x00"]).verdict is Verdict.FAIL


BROKEN = [
    {"send": {"QUERRY": {}}},
    {"send": {"QUERY": {}}},
    {"send": "QUERY_REPLY"},
    {"send": {"INSERT": {"key": "k", "quota": "MAX + 1", "ttl_type": 1, "ttl": 1}}},
    {"send": {"QUERY": {"key": {"fill": 1, "size": 256}}}},
    {"send": {"raw": "0"}},
    {"send": {"raw": "00", "as": "ok"}},
    {"send": {"uint": 1, "size": 0}},
    {"send": ASK, "expect": {"QUERY_REPLY": {"quota": {"between": [1]}}}},
    {"send": ASK, "expect": {"QUERY_REPLY": {"quota": {"size": 1}}}},
    {"send": ASK, "expect": {"QUERY_REPLY": {"quota": "1 // 0"}}},
    {"send": ASK, "expect": {"QUERY_REPLY": {"quota": {"one_of": 7}}}},
    {"send": ASK, "observe": 7},
    {"wait": "soon"},
    {"wait_until": {"mark": "never", "plus": 1}},
    {"repeat": {"each": {"i": [1]}, "steps": []}},
    {"repeat": {"each": {"i": [1, 2]}, "steps": [None]}},
    {"on": "a"},
    {"on": "{x}", "send": ASK},
    {"sned": ASK},
    {},
    None,
    "send",
    {"by_profile": {"7.3.2": {"send": ASK}}},
    {"by_profile": {"7.1.0": {"sned": ASK}}},
]


@pytest.mark.parametrize("step", BROKEN, ids=[str(step) for step in BROKEN])
def test_a_step_that_cannot_be_played_is_our_own_fault(step: Any) -> None:
    outcome = play({"connect": "a"}, step, reads=[QUERY_REPLY])

    assert (outcome.verdict, outcome.guilty) == (Verdict.HARNESS_ERROR, Guilty.HARNESS)
    assert outcome.got


def test_a_broken_step_is_named_by_its_number() -> None:
    assert play({"connect": "a"}, {"sned": ASK}).step == 1


def test_connections_are_closed_however_a_case_ends() -> None:
    for reads in ([b"\x00"], [b"\x01"], [], [Kind.RESET]):
        target = ScriptedTarget({"a": reads})
        play({"connect": "b"}, {"send": ASK, "expect": "refused"}, {"send": "X"}, target=target)

        assert not target.open


def test_a_play_that_is_given_up_ends_quietly() -> None:
    running = Player(make_case({"send": ASK}), make_symbols(), delivery=DELIVERIES["whole"]).play()
    next(running)
    running.close()


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


def test_every_verb_is_documented_and_in_the_schema() -> None:
    schema = json.loads((vectors_root() / "schema" / "cases.schema.json").read_text(encoding="utf-8"))
    steps = schema["$defs"]["step"]["properties"]

    assert set(VERBS) == set(steps) - {"on", "clause", "given", "or_closed", "by_profile", "by_variant"}


def test_the_scribe_hears_every_step_with_its_bytes() -> None:
    notes: list[Note] = []
    play({"send": ASK, "expect": SEEN}, {"wait": 1}, {"close": "a"}, reads=[QUERY_REPLY], notes=notes)

    assert [(one.do, one.connection, len(one.messages)) for one in notes] == [
        ("connect", "a", 0), ("send", "a", 1), ("receive", "a", 1), ("wait", "", 0), ("close", "a", 0),
    ]  # fmt: skip
    assert notes[2].data == QUERY_REPLY
    assert notes[2].expect == SEEN


def test_the_trace_holds_every_byte_with_its_time() -> None:
    outcome = play({"wait": 0.25}, {"send": {"raw": "ff"}}, reads=[])
    events = [(one.at_us, one.connection, one.kind, one.data) for one in outcome.trace]

    assert events[0] == (250_000, "", Kind.WAITED, b"")
    assert (250_000, "a", Kind.SENT, b"\xff") in events
    assert events[-1][2] is Kind.CLOSED
