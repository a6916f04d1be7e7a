"""A driver that lets us wait in vain is waited for less, but not one that lacks the processor or takes its time."""

from __future__ import annotations

import re

import pytest

from wireproof.conformance.sdk.play import waits as module
from wireproof.conformance.sdk.play.waits import ANSWER, EVENT, FULL_WAITS, LOST, STEP, Waits


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr(module.time, "monotonic", lambda: self.now)


class Driver:
    """At rest, or using `share` of a processor; `hidden` shows nothing."""

    def __init__(self, clock: Clock, *, at_rest: bool = True, share: float = 0.0, hidden: bool = False) -> None:
        self.clock, self.at_rest, self.share, self.hidden = clock, at_rest, share, hidden

    def cpu(self) -> float | None:
        return None if self.hidden else self.clock.now * self.share

    def rests(self) -> bool:
        return self.at_rest and not self.hidden


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def in_vain(waits: Waits, clock: Clock, kind: str = ANSWER, name: str = "query", seconds: float = 5.0) -> float:
    """Return how long a wait took for what did not come."""
    wait, began = waits.begin(kind, name, seconds), clock.now
    while not wait.is_over():
        clock.now += STEP
    wait.in_vain()
    return clock.now - began


def test_what_was_waited_for_in_full_is_waited_for_less_while_the_driver_rests(clock: Clock) -> None:
    waits = Waits(Driver(clock))

    assert in_vain(waits, clock) == pytest.approx(5.0, abs=STEP)
    assert in_vain(waits, clock) < 1.0
    assert in_vain(waits, clock, name="get") == pytest.approx(5.0, abs=STEP)
    assert in_vain(waits, clock, EVENT) == pytest.approx(5.0, abs=STEP)


def test_after_some_waits_in_vain_no_other_of_their_kinds_takes_the_whole_deadline(clock: Clock) -> None:
    waits = Waits(Driver(clock))
    took = [in_vain(waits, clock, name=f"request {number}") for number in range(FULL_WAITS + 3)]

    assert [one < 1.0 for one in took] == [False] * FULL_WAITS + [True] * 3
    assert in_vain(waits, clock, LOST) == pytest.approx(5.0, abs=STEP)


def test_a_longer_wait_than_was_in_vain_is_waited_for_in_full(clock: Clock) -> None:
    waits = Waits(Driver(clock))
    in_vain(waits, clock, seconds=1.0)

    assert in_vain(waits, clock, seconds=5.0) == pytest.approx(5.0, abs=STEP)


@pytest.mark.parametrize(
    ("how", "seconds"),
    [
        ({"at_rest": False}, 5.0),  # it wants the processor and gets none
        ({"hidden": True}, 5.0),
        ({"at_rest": False, "share": 0.05}, 5.0),
        ({"at_rest": False, "share": 1.0}, 0.7),
    ],
)
def test_only_a_driver_that_rests_or_has_used_the_processor_is_given_up_early(
    clock: Clock, how: dict[str, float], seconds: float
) -> None:
    waits = Waits(Driver(clock, **how))  # type: ignore[arg-type]
    in_vain(waits, clock)

    assert in_vain(waits, clock) == pytest.approx(seconds, abs=0.2)


def test_a_driver_that_takes_its_time_is_given_several_times_as_much(clock: Clock) -> None:
    waits = Waits(Driver(clock))
    in_vain(waits, clock)
    wait = waits.begin(ANSWER, "get", 5.0)
    while clock.now < 106.0:
        clock.now += STEP
        wait.is_over()
    wait.came()

    assert 3.2 <= in_vain(waits, clock) < 4.2


def test_a_short_wait_says_what_was_in_vain_before_and_what_the_driver_did(clock: Clock) -> None:
    waits = Waits(Driver(clock))
    in_vain(waits, clock)
    wait = waits.begin(ANSWER, "query", 5.0)
    while not wait.is_over():
        clock.now += STEP

    assert re.fullmatch(r"none in 0\.[67] s, after 5 s without an answer before", wait.in_vain())
    assert wait.hang is not None
    assert not wait.hang.busy
