"""The player: every way a step can end becomes one verdict with clause, step and byte, and nothing else leaves it."""

from typing import Any

import pytest

from tests.conformance.scripted import ASK, CLAUSE, INSERT, OTHER, ScriptedTarget, make_case, make_symbols, play
from wireproof.conformance.model.actions import Action, Answer
from wireproof.conformance.model.outcome import AT_END
from wireproof.conformance.model.trace import Kind
from wireproof.conformance.model.verdict import Guilty, Verdict
from wireproof.conformance.player import player
from wireproof.conformance.player.player import Player
from wireproof.conformance.suite.segmentation import SEGMENTATIONS
from wireproof.conformance.suite.symbols import SymbolError

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


def test_a_difference_is_reported_with_step_byte_and_the_first_clause() -> None:
    wrong = bytes.fromhex("01 0700 04 3d00")
    outcome = play({"send": INSERT, "expect": "ok"}, {"send": ASK, "expect": SEEN}, reads=[b"\x01", wrong])

    assert (outcome.verdict, outcome.guilty, outcome.blamed) == (Verdict.FAIL, Guilty.TARGET, CLAUSE)
    assert (outcome.step, outcome.byte, outcome.expected, outcome.got) == (1, 4, "QUERY_REPLY.ttl <= 60", "61")


def test_a_step_may_blame_another_clause_for_itself_only() -> None:
    steps = ({"send": ASK, "expect": "refused", "clause": OTHER}, {"send": ASK, "expect": "refused"})

    assert play(*steps, reads=[QUERY_REPLY]).blamed == OTHER
    assert play(*steps, reads=[b"\0", QUERY_REPLY]).blamed == CLAUSE


@pytest.mark.parametrize(("field", "blamed"), [("quota", CLAUSE), ("ttl", OTHER)])
def test_a_step_may_blame_another_clause_for_a_field(field: str, blamed: str) -> None:
    wrong = {"quota": bytes.fromhex("01 0800 04 3b00"), "ttl": bytes.fromhex("01 0700 04 3d00")}

    assert play({"send": ASK, "expect": SEEN, "blame": {"ttl": OTHER}}, reads=[wrong[field]]).blamed == blamed


@pytest.mark.parametrize(
    ("reads", "blamed"), [([], OTHER), ([Kind.ENDED], OTHER), ([b"\x01\x07"], CLAUSE), ([b"\x07"], CLAUSE)]
)
def test_a_step_may_blame_another_clause_where_no_byte_of_a_message_comes(reads: list[Any], blamed: str) -> None:
    assert play({"send": ASK, "expect": SEEN, "blame": {"nothing": OTHER}}, reads=reads).blamed == blamed


def test_a_step_inside_repeat_blames_its_own_clause() -> None:
    inner = {"send": ASK, "expect": "refused", "clause": OTHER}

    assert play({"repeat": {"each": {"i": [1, 2]}, "steps": [inner]}}, reads=[QUERY_REPLY]).blamed == OTHER


@pytest.mark.parametrize("reads", [[QUERY_REPLY], [], [Kind.ENDED], [b"\x07"]])
def test_a_prerequisite_that_fails_makes_the_case_untestable(reads: list[Any]) -> None:
    outcome = play({"send": ASK, "expect": "refused", "given": True}, reads=reads)

    assert (outcome.verdict, outcome.guilty) == (Verdict.UNTESTABLE, Guilty.TARGET)


def test_a_prerequisite_inside_repeat_is_one_too() -> None:
    inner = {"send": ASK, "expect": "refused", "given": True}

    assert (
        play({"repeat": {"each": {"i": [1, 2]}, "steps": [inner]}}, reads=[QUERY_REPLY]).verdict is Verdict.UNTESTABLE
    )


def test_no_answer_is_a_hang() -> None:
    outcome = play({"send": ASK, "expect": "refused"})

    assert (outcome.verdict, outcome.byte, outcome.got) == (Verdict.HANG, 0, "nothing in 2 s")


def test_half_an_answer_is_a_hang_that_reports_how_much_came() -> None:
    outcome = play({"send": ASK, "expect": SEEN}, reads=[QUERY_REPLY[:4]])

    assert (outcome.verdict, outcome.byte) == (Verdict.HANG, 4)
    assert "beyond 4 bytes" in str(outcome.got)


def test_trickling_bytes_do_not_move_the_deadline() -> None:
    target = ScriptedTarget({"a": [b"\x01"]})
    play({"wait": 1.0}, {"send": ASK, "expect": SEEN}, target=target)

    assert [one.timeout for one in target.actions if hasattr(one, "timeout")] == [2.0, 2.0]


def test_who_finds_nobody_there_has_not_ended_the_target() -> None:
    outcome = play({"connect": "b"}, {"send": ASK, "expect": "refused"}, target=ScriptedTarget(takes=1))

    assert outcome.unreachable
    assert (outcome.expected, outcome.got) == ("a connection", "reset: refused")


def test_a_target_that_takes_no_connection_after_bytes_were_sent_has_crashed() -> None:
    outcome = play({"send": {"raw": "00"}}, {"connect": "b"}, target=ScriptedTarget(takes=1))

    assert (outcome.verdict, outcome.unreachable) == (Verdict.CRASH, False)


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


def test_what_comes_after_the_last_step_is_at_no_place_of_the_case() -> None:
    outcome = play({"send": ASK, "expect": "refused"}, reads=[b"\x00", b"\x01"])

    assert outcome.place is not None
    assert outcome.place.field == AT_END


@pytest.mark.parametrize(("given", "verdict"), [(False, Verdict.FAIL), (True, Verdict.UNTESTABLE)])
def test_bytes_beyond_an_answer_belong_to_the_step_that_asked(given: bool, verdict: Verdict) -> None:
    first = {"send": INSERT, "expect": "ok", "clause": OTHER, "given": given}
    outcome = play(first, {"send": ASK, "expect": "refused"}, reads=[b"\x01\x00", b"\x00"])

    assert (outcome.verdict, outcome.step, outcome.blamed) == (verdict, 0, OTHER)
    assert outcome.expected == "nothing beyond the answer"
    assert "1 bytes that nothing asked for: 00" in str(outcome.got)


def test_a_push_that_comes_along_with_an_answer_is_none_of_its_bytes() -> None:
    steps = ({"send": INSERT, "expect": "ok"}, {"send": ASK, "expect": [{"push": {"payload": "p"}}, "refused"]})

    assert play(*steps, reads=[b"\x01" + PUSH, b"\x00"]).verdict is Verdict.PASS


@pytest.mark.parametrize(("data", "verdict"), [("1818", Verdict.PASS), ("18", Verdict.FAIL)])
def test_what_bytes_by_hand_ask_beyond_their_one_request_may_be_answered(data: str, verdict: Verdict) -> None:
    first = {"send": {"raw": data, "as": "WHOAMI"}, "expect": "WHOAMI_REPLY"}

    target = ScriptedTarget({"a": [bytes(32)], "b": [b"\x00"]})
    assert play(first, {"reset": "a"}, {"send": ASK, "on": "b", "expect": "refused"}, target=target).verdict is verdict


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


class SlowTarget(ScriptedTarget):
    """Takes two seconds for whatever it is asked."""

    def _answer(self, action: Action) -> Answer:
        self._now += 2
        return super()._answer(action)


@pytest.mark.parametrize(("seconds", "verdict"), [(4, Verdict.UNTESTABLE), (60, Verdict.FAIL)])
def test_a_failure_after_a_silence_for_which_a_target_may_end_a_connection_blames_nobody(
    seconds: int, verdict: Verdict, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(player, "ending_silent", lambda name: frozenset({"TIMEOUT"}))
    target = SlowTarget({"a": [QUERY_REPLY], "b": [b"\x00"]})
    steps = ({"send": ASK, "on": "b", "expect": "refused"}, {"send": ASK, "expect": "refused"})
    symbols = make_symbols(TIMEOUT=seconds)
    slow = Player(make_case(*steps), symbols, segmentation=SEGMENTATIONS["whole"])
    slow.in_real_time = True

    outcome = target.play(slow)

    assert (outcome.verdict, outcome.guilty is Guilty.HARNESS) == (verdict, verdict is Verdict.UNTESTABLE)


def test_a_failure_seen_too_late_blames_nobody() -> None:
    steps = ({"mark": "m"}, {"wait_until": {"mark": "m", "plus": 1.0, "latest": 1.2}}, {"send": ASK, "expect": SEEN})
    outcome = play(*steps, target=ScriptedTarget({"a": [b"\x00"]}, lag=0.3))

    assert (outcome.verdict, outcome.guilty) == (Verdict.UNTESTABLE, Guilty.HARNESS)
    assert "too late to decide" in str(outcome.got)


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


def what_is_wrong_with(step: Any) -> str | None:
    """Return why a step cannot be played: found when it is read, or when it is its turn."""
    try:
        outcome = play({"connect": "a"}, step, reads=[QUERY_REPLY])
    except SymbolError as error:
        return str(error)
    return outcome.got if (outcome.verdict, outcome.guilty) == (Verdict.HARNESS_ERROR, Guilty.HARNESS) else None


@pytest.mark.parametrize("step", BROKEN, ids=[str(step) for step in BROKEN])
def test_a_step_that_cannot_be_played_is_our_own_fault(step: Any) -> None:
    assert what_is_wrong_with(step)


def test_a_broken_step_is_named_by_its_number() -> None:
    assert play({"connect": "a"}, {"send": "NOTHING"}).step == 1


def test_connections_are_closed_however_a_case_ends() -> None:
    for reads in ([b"\x00"], [b"\x01"], [], [Kind.RESET]):
        target = ScriptedTarget({"a": reads})
        play({"connect": "b"}, {"send": ASK, "expect": "refused"}, {"send": "X"}, target=target)

        assert not target.open


def test_a_play_that_is_given_up_ends_quietly() -> None:
    running = Player(make_case({"send": ASK}), make_symbols(), segmentation=SEGMENTATIONS["whole"]).play()
    next(running)
    running.close()
