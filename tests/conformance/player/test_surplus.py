"""What comes while a case lets time pass: an answer too many is found there, not by whatever reads it next."""

import pytest

from tests.conformance.scripted import ASK, INSERT, OTHER, ScriptedTarget, make_case, make_symbols, play
from wireproof.conformance.drivers.replay import ReplayDriver
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.trace import Kind
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.player.player import Player
from wireproof.conformance.suite.segmentation import SEGMENTATIONS
from wireproof.conformance.suite.symbols import Symbols
from wireproof.protocols import protocol

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


def namechan(answers: list[bytes | Kind], *, wait: float) -> Outcome:
    """Subscribe, wait, unsubscribe, with a case about something else; what the server says comes from a script."""
    wanted = {"UNSUBSCRIBED": {"topic": "p"}}
    steps = (
        {"send": {"VERSION": {"version": 1}}, "expect": {"VERSION_REPLY": {"version": 1}}, "given": True},
        {"send": {"CONNECT": {"version": 1, "id": "c"}}},
        {"send": {"SUBSCRIBE": {"topic": "p", "replay": "FROM_CURRENT"}}, "expect": {"SUBSCRIBED": {"topic": "p"}}},
        {"wait": wait},
        {"send": {"UNSUBSCRIBE": {"topic": "p"}}, "expect": wanted},
    )
    case = make_case(*steps, clauses=("NCH-PING-1",), profiles=("1",))
    symbols = Symbols(protocol("namechan"), "1", "standard", case="made/up", namespace="t", variables={})
    target = ScriptedTarget({"a": [(1).to_bytes(8, "big"), SUBSCRIBED, *answers]})
    target.meanwhile["a"] = [SUBSCRIBED] if wait else []
    return target.play(Player(case, symbols, segmentation=SEGMENTATIONS["whole"], timeout=2.0))


SUBSCRIBED = (18).to_bytes(4, "big") + b"\x03((id 3)(topic p))"
UNSUBSCRIBED = (18).to_bytes(4, "big") + b"\x04((id 3)(topic p))"


def test_the_script_of_a_right_server_passes() -> None:
    assert namechan([UNSUBSCRIBED], wait=0.0).verdict is Verdict.PASS


def test_an_answer_that_comes_again_is_blamed_on_the_clause_of_its_own_request() -> None:
    outcome = namechan([UNSUBSCRIBED], wait=0.2)

    assert (outcome.verdict, outcome.blamed) == (Verdict.FAIL, "NCH-SUBSCRIBE-1")
    assert str(outcome.got).startswith("it comes again: ")


def test_so_is_one_that_comes_in_place_of_the_next_answer() -> None:
    outcome = namechan([SUBSCRIBED, UNSUBSCRIBED], wait=0.0)

    assert (outcome.verdict, outcome.blamed) == (Verdict.FAIL, "NCH-SUBSCRIBE-1")
    assert str(outcome.got).startswith("it comes again; ")


def test_one_that_nothing_was_like_before_is_blamed_on_the_step() -> None:
    outcome = namechan([SUBSCRIBED.replace(b"id 3", b"id 4"), UNSUBSCRIBED], wait=0.0)

    assert (outcome.verdict, outcome.blamed) == (Verdict.FAIL, "NCH-PING-1")
