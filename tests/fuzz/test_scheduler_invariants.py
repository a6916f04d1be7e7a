"""The scheduler's invariants hold for ours under random operations, and a wrong scheduler breaks each of them."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.fuzz.planting import plant
from wireproof.fuzz import scheduler_input
from wireproof.fuzz.invariants import scheduler_invariants as invariants
from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.fuzz.invariants.scheduler_invariants import DueTime, ScheduleCheck, ScheduledRecord
from wireproof.reference_server import scheduler as scheduler_module
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


class LetsThrough(Scheduler[ScheduledRecord]):
    """Does not catch what a delivery raises."""

    def _call_back(self, item: ScheduledRecord) -> None:
        self._on_due(item)


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
        (LetsThrough, "a delivery that raises stops no other"),
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
    check.model[check.records[1]] = DueTime(25, 1, 0, 0)

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
    check._delivered = [(DueTime(20, 1, 0, 0), 20), (DueTime(10, 2, 0, 0), 20)]

    with pytest.raises(InvariantError, match="in order of instant"):
        check._check_order()


def test_what_is_asked_for_while_a_tick_is_delivered_has_no_place_in_its_order() -> None:
    check = ScheduleCheck()
    check._delivered = [(DueTime(20, 1, 0, 0), 20), (DueTime(10, 2, 20, 20), 21)]

    check._check_order()


SCHEDULED = {
    "a record due as its tick ends comes a tick later": (
        "_deliver_tick", "item.due > end_ns", "item.due >= end_ns", "late by at most a tick"),
    "an instant in the past comes with the tick after the next one": (
        "_file", "tick = self._opened + 1", "tick = self._opened + 2", "overdue|late by at most a tick"),
    "the timer of a far record is late by a nanosecond": (
        "_file", "(span - 1) << self._span_shift)", "(span << self._span_shift) + 1)", "late by at most a tick"),
    "a timer is not moved for a record that is due a nanosecond earlier": (
        "_open", "wake_ns < self._armed_ns", "wake_ns < self._armed_ns - 1", "late by at most a tick"),
    "the horizon is a nanosecond too far": (
        "_split_span", "self._horizon = last_ns", "self._horizon = last_ns + 1", "in order of instant"),
    "the horizon moves over what came while a span was split": (
        "_split_span", "if not (self._spans and self._spans[0] <= span):", "if True:", "in order of instant"),
    "a tick is delivered before the span that begins with it is split": (
        "_tick_is_ready", "self._spans[0] <= span", "self._spans[0] < span", "in order of instant"),
    "a tick is delivered while its span is split": (
        "_tick_is_ready", "span < self._splitting", "span <= self._splitting", "in order of instant"),
    "spans are out of order after empty ones were dropped": (
        "_drop_empty_spans", "heapify(self._spans)", "pass", "late by at most a tick"),
    "what is being filed by tick is not overdue": (
        "overdue", "(*buckets, self._split_bucket)", "buckets", "overdue"),
    "timers are armed beside the others": (
        "_arm", "self._timer.cancel()", "pass", "there is one timer"),
    "a timer is left when the scheduler is closed": (
        "close", "self._timer.cancel()", "pass", "there is one timer"),
    "a slice does not end by time": (
        "_slice", "left <= 0 or now_ns() >= stop_ns", "left <= 0", "work is sliced by time"),
    "a slice moves one record more than it may": (
        "_slice", "left <= 0 or", "left < 0 or", "work is sliced by count"),
}  # fmt: skip
"""What seeds alone find -> function, an edit that does it, and what is said of it now."""


@pytest.mark.parametrize(("name", "old", "new", "invariant"), SCHEDULED.values(), ids=SCHEDULED)
def test_seeds_find_what_is_wrong_by_a_nanosecond_or_a_record(
    name: str, old: str, new: str, invariant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, Scheduler, name, old, new)

    with pytest.raises(InvariantError, match=invariant):
        check_all(scheduler_input.seeds())


def test_equal_instants_stay_in_order_where_a_bucket_shrinks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler_module, "repack", repacked_in_reverse)

    with pytest.raises(InvariantError, match="in order of instant"):
        check_all(scheduler_input.seeds())


def repacked_in_reverse(table: dict[Any, Any]) -> None:
    """Rebuild a dict with the last entry first."""
    kept = list(table.items())
    table.clear()
    table.update(kept[::-1])


def check_all(seeds: list[bytes]) -> None:
    for seed in seeds:
        scheduler_input.check(seed)


def test_an_instant_in_a_span_that_waits_for_its_split_is_not_overtaken_once_a_later_span_is_split() -> None:
    # r7 and r8 are due at one instant; r7 is in a span that was opened while the next one was split, and is not split.
    scheduler_input.check(bytes.fromhex("7c00000000e20001e20002e2040000e000040704e000040804e003"))
