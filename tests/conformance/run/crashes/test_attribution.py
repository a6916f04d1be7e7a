"""Who is looked at when a server died: those that sent last first, those that only waited by themselves."""

import asyncio
import time
from typing import Any

import pytest

from tests.conformance.scripted import make_case, make_symbols
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.trace import Kind, Trace, TraceEvent
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.player.player import Player
from wireproof.conformance.run.crashes.attribution import Batch, Suspect
from wireproof.conformance.suite.segmentation import SEGMENTATIONS

PASS = Outcome(Verdict.PASS, Trace())
FAIL = Outcome(Verdict.FAIL, Trace())


def suspect(name: str, sent: float, *, asleep: bool = False, outcome: Outcome | None = None) -> Suspect:
    return Suspect(make_case(id=name), 0.0, sent, asleep, outcome, time.monotonic())


@pytest.fixture
def batch() -> Batch:
    loop = asyncio.new_event_loop()
    try:
        return Batch(loop.create_future())
    finally:
        loop.close()


def names(suspects: list[Suspect]) -> list[str]:
    return [one.case.id for one in suspects]


def test_who_was_cut_short_comes_before_who_had_passed_and_then_who_sent_last(batch: Batch) -> None:
    for one in (
        suspect("a/1", 1.0),
        suspect("a/4", 4.0, outcome=PASS),
        suspect("a/2", 2.0),
        suspect("a/3", 3, outcome=FAIL),
    ):
        batch.add(one)

    assert (names(batch.suspects()[0]), batch.suspects()[1]) == (["a/3", "a/2", "a/1", "a/4"], [])


@pytest.mark.parametrize(("waiting", "apart"), [(1, 0), (2, 2), (5, 5)])
def test_several_that_only_waited_are_kept_apart_one_is_not(batch: Batch, waiting: int, apart: int) -> None:
    batch.add(suspect("a/awake", 1.0))
    for number in range(waiting):
        batch.add(suspect(f"a/{number}", 9.0, asleep=True))

    assert [len(one) for one in batch.suspects()] == [1 + waiting - apart, apart]
    assert batch.suspects()[0][0].case.id == "a/awake"


def test_a_case_is_settled_once_and_only_when_it_ended_long_enough_ago(batch: Batch) -> None:
    batch.add(suspect("a/1", 1.0, outcome=PASS))

    assert list(batch.settled(60.0)) == []
    assert [case.id for case, _, _ in batch.settled(0.0)] == ["a/1"]
    assert list(batch.settled(0.0)) == []


@pytest.mark.parametrize(("outcome", "asleep"), [(None, True), (PASS, False)])
def test_what_is_known_of_a_case_is_when_it_sent_and_whether_it_waits(outcome: Any, asleep: bool) -> None:
    player = Player(make_case(), make_symbols(), segmentation=SEGMENTATIONS["whole"])
    player.talk.trace += [TraceEvent(1_500_000, "a", Kind.SENT, b"x"), TraceEvent(9_000_000, "a", Kind.RECEIVED, b"y")]
    player.talk.asleep = True
    one = Suspect.of(player.case, player, 100.0, outcome)

    assert (one.began, one.sent, one.asleep) == (100.0, 101.5, asleep)
