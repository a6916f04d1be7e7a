"""What comes while a case lets time pass: an answer too many is found there, not by whatever reads it next."""

import pytest

from tests.conformance.scripted import ASK, INSERT, OTHER, ScriptedTarget, make_case, make_symbols, play
from wireproof.conformance.drivers.replay import ReplayDriver
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.trace import Kind
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.player.player import Player
from wireproof.conformance.suite.segmentation import SEGMENTATIONS

PUSH = bytes.fromhex("03 0100 70")
FIRST = {"send": INSERT, "expect": "ok", "clause": OTHER}
STEPS = (FIRST, {"wait": 0.2}, {"send": ASK, "expect": "refused"})


def over(reads: list[bytes | Kind], meanwhile: list[bytes], *steps: dict[str, object]) -> Outcome:
    target = ScriptedTarget({"a": reads})
    target.meanwhile["a"] = meanwhile
    return play(*(steps or STEPS), target=target)


@pytest.mark.parametrize(("given", "verdict"), [(False, Verdict.FAIL), (True, Verdict.UNTESTABLE)])
def test_an_answer_that_comes_again_during_a_wait_is_one_that_nothing_asked_for(given: bool, verdict: Verdict) -> None:
    outcome = over([b"\x01", b"\x00"], [b"\x01"], {**FIRST, "given": given}, *STEPS[1:])

    assert (outcome.verdict, outcome.blamed, outcome.step) == (verdict, "THR-ROBUSTNESS-5", 1)
    assert (outcome.expected, outcome.got) == ("nothing beyond the answer", "1 bytes that nothing asked for: 01")
    assert outcome.place is not None
    assert outcome.place.reply_to == "INSERT"


def test_so_is_one_that_came_before_a_wait_for_an_instant() -> None:
    later = {"wait_until": {"mark": "m", "plus": 0.5}}
    outcome = over([b"\x01", b"\x00"], [b"\x00"], {"mark": "m"}, FIRST, later, STEPS[-1])

    assert (outcome.verdict, outcome.blamed) == (Verdict.FAIL, "THR-ROBUSTNESS-5")


def test_pushes_may_come_during_a_wait_and_are_still_there_afterwards() -> None:
    awaited = {"push": {"payload": "p"}}

    assert over([b"\x01", b"\x00"], [PUSH], FIRST, {"wait": 0.2}, awaited, STEPS[-1]).verdict is Verdict.PASS


def test_what_is_due_may_come_during_a_wait() -> None:
    steps = ({"send": INSERT}, {"wait": 0.2}, {"expect": "ok"})

    assert over([b"\x01"], [b"\x07"], *steps).verdict is Verdict.PASS


def test_the_end_of_a_connection_during_a_wait_is_for_whoever_reads_next() -> None:
    assert over([b"\x01", Kind.ENDED], [], FIRST, {"wait": 0.2}, {"closed": "a"}).verdict is Verdict.PASS


@pytest.mark.parametrize("meanwhile", [[PUSH], [b"\x01"]])
def test_a_trace_with_what_came_during_a_wait_is_judged_the_same_again(meanwhile: list[bytes]) -> None:
    lived = over([b"\x01", PUSH, b"\x00"] if meanwhile == [PUSH] else [b"\x01", b"\x00"], meanwhile)
    case = make_case(*STEPS)

    again = ReplayDriver(lived.trace).play(
        Player(case, make_symbols(), segmentation=SEGMENTATIONS["whole"], timeout=2.0)
    )

    assert again == lived
