"""The scheduler's invariants hold for ours under random operations, and a wrong scheduler breaks each of them."""

from __future__ import annotations

import random
from typing import Any

import pytest

from wireproof.fuzz import scheduler_input
from wireproof.fuzz.invariants import scheduler_invariants as invariants
from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.fuzz.invariants.scheduler_invariants import ScheduleCheck, ScheduledRecord
from wireproof.reference_server.scheduler import Scheduler


def test_random_operations_break_nothing() -> None:
    source = random.Random(2)
    for seed in scheduler_input.seeds():
        scheduler_input.check(seed)
    for _ in range(300):
        scheduler_input.check(source.randbytes(source.randrange(120)))


class Early(Scheduler[ScheduledRecord]):
    """Delivers a hundred nanoseconds too soon."""

    def schedule(self, item: ScheduledRecord, when_ns: int) -> None:
        super().schedule(item, when_ns - 100)


class Late(Scheduler[ScheduledRecord]):
    """Delivers a thousand ticks late."""

    def schedule(self, item: ScheduledRecord, when_ns: int) -> None:
        super().schedule(item, when_ns + 1000)
        item.due = when_ns


class Forgets(Scheduler[ScheduledRecord]):
    """Takes every third record for scheduled and drops it."""

    count = 0

    def schedule(self, item: ScheduledRecord, when_ns: int) -> None:
        self.count += 1
        if self.count % 3:
            super().schedule(item, when_ns)


class CancelsNothing(Scheduler[ScheduledRecord]):
    """Delivers what was cancelled."""

    def cancel(self, item: ScheduledRecord) -> None:
        if item.bucket is not None and item.due > self._clock.monotonic_ns() + 50:
            return
        super().cancel(item)


class KeepsBuckets(Scheduler[ScheduledRecord]):
    """Leaves the buckets after that cancelled records have emptied."""

    def _tidy(self, bucket: Any) -> None:
        """Do nothing."""


class ClosesHalf(Scheduler[ScheduledRecord]):
    """Forgets, as it closes, what is being filed by tick."""

    def close(self) -> None:
        self._split_bucket = {}
        super().close()


def check_many(number: int) -> None:
    source = random.Random(3)
    for _ in range(number):
        scheduler_input.check(source.randbytes(60))


@pytest.mark.parametrize(
    ("wrong", "invariant"),
    [
        (Early, "never early|what is overdue"),
        (Late, "late by at most a tick|what is overdue"),
        (Forgets, "never lost, never kept"),
        (CancelsNothing, "never lost, never kept|never twice|what is overdue"),
    ],
)
def test_a_wrong_scheduler_is_noticed(wrong: Any, invariant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(invariants, "Scheduler", wrong)
    with pytest.raises(InvariantError, match=invariant):
        check_many(300)


def test_an_order_that_is_wrong_is_noticed() -> None:
    check = ScheduleCheck()
    check.apply(1, 10)
    check.apply(2, 20)
    check.model[check.records[1]] = (25, 1, 0)

    with pytest.raises(InvariantError, match=r"never early"):
        check.advance(40)


def test_what_is_due_as_it_is_filed_in_a_span_goes_in_order_with_what_was_due_before() -> None:
    """Found by the coverage-guided fuzzer: the span's record went with a tick that was over, before an earlier one."""
    scheduler_input.check(bytes.fromhex("000def010000000300000100011700070100000000 7f82"))


class NeverStops(Scheduler[ScheduledRecord]):
    """Delivers all that is due in one callback of the clock."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **{**named, "slice_items": 10**6})


def test_a_slice_that_does_not_end_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(invariants, "Scheduler", NeverStops)

    with pytest.raises(InvariantError, match="work is sliced by count"):
        check_all(scheduler_input.seeds())


@pytest.mark.parametrize(
    ("wrong", "invariant"), [(KeepsBuckets, "memory is proportional"), (ClosesHalf, "never lost, never kept")]
)
def test_what_seeds_alone_find(wrong: Any, invariant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(invariants, "Scheduler", wrong)

    with pytest.raises(InvariantError, match=invariant):
        check_all(scheduler_input.seeds())


def test_what_is_overtaken_while_others_are_scheduled_is_noticed() -> None:
    check = ScheduleCheck()
    check._disturbed = True
    check._delivered = [(20, 1, 0), (10, 2, 0)]

    with pytest.raises(InvariantError, match="in order of instant"):
        check._check_overtaken()


def check_all(seeds: list[bytes]) -> None:
    for seed in seeds:
        scheduler_input.check(seed)
