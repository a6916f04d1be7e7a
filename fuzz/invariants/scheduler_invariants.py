"""The TTL scheduler compared with a dict of instants."""

# Strategy. The scheduler files records in buckets by tick, splits wide spans of ticks when they come near, delivers a
# tick in slices so that the event loop stays responsive, and skips work with a timer that is armed for the earliest
# bucket. Its errors live at the joints of these parts: a record that moves while its bucket is delivered, a span that
# is split while records are cancelled, an instant that is rounded to a tick. The model has no such parts: a dict from
# record to instant.
#
# `ScheduleCheck` applies every operation to both and compares them; engines only choose operations. It checks:
#
# - never early: a record is delivered at or after its instant;
# - late by at most a tick: after time has passed, no record waits whose instant is a tick or more ago;
# - never lost, never kept: both hold the same records at all times, even between two slices;
# - never twice: no delivery after a delivery or a cancel;
# - sliced: one callback of the clock moves and delivers no more records than a slice has;
# - in order: records are delivered by instant, ties in the order in which they were filed. A record that was moved to
#   a later instant has no rank among ties, because the scheduler may move it lazily. What is scheduled while time
#   passes has its place, too, if it was asked for before the tick of what came before it was over.
#
# Three means make these joints frequent. `small_steps` reduces chunk and slice sizes to one to three records, so that
# a dozen records meet what a million would. Operations happen also from within a delivery (`when_due`) and between
# two slices (`between_slices`), where real servers reschedule. About half of the moves to a later instant change
# `due` in place, without calling `schedule`, as the store does with a record that is updated before it expires.
#
# A violation inside a timer callback would be swallowed by the loop, so it is kept and raised by the next `advance`.

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import itemgetter

from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.reference_server import buckets, scheduler
from wireproof.reference_server.buckets import Bucket
from wireproof.reference_server.clock import Timer, VirtualClock
from wireproof.reference_server.scheduler import Scheduler

__all__ = ["RECORDS", "ScheduleCheck", "ScheduledRecord", "small_steps"]

RECORDS = 12
MANY = 400
"""Records that are scheduled and cancelled at once."""


class ScheduledRecord:
    """A record that is scheduled, moved and cancelled."""

    __slots__ = ("bucket", "due", "name")

    def __init__(self, name: int) -> None:
        self.bucket: Bucket | None = None
        self.name, self.due = name, 0

    def __repr__(self) -> str:
        """Return its name for messages."""
        return f"r{self.name}"


@contextmanager
def small_steps() -> Iterator[None]:
    """Reduce the chunk sizes of the scheduler to their minimum for the duration of the context."""
    sizes = scheduler.CHUNK, scheduler.FEW, buckets.RUN
    scheduler.CHUNK, scheduler.FEW, buckets.RUN = 1, 1, 3
    try:
        yield
    finally:
        scheduler.CHUNK, scheduler.FEW, buckets.RUN = sizes


class _SlicedClock(VirtualClock):
    """A virtual clock that shows each callback to `around`."""

    def __init__(self, start: int, around: Callable[[Callable[[], object]], object]) -> None:
        super().__init__(start_monotonic_ns=start)
        self._around = around

    def call_at(self, when_ns: int, callback: Callable[[], object]) -> Timer:
        """Run `callback`, as `VirtualClock` does."""
        return super().call_at(when_ns, lambda: self._around(callback))


class ScheduleCheck:
    """A scheduler and its model on a virtual clock; `tick` and `start` are in ns, `items` is the size of a slice."""

    def __init__(self, *, tick: int = 1, items: int = 4, start: int = 0) -> None:
        self.clock, self.tick = _SlicedClock(start, self._slice), 1 << tick.bit_length() - 1
        self._most_in_slice = items + buckets.RUN
        self.scheduler: Scheduler[ScheduledRecord] = Scheduler(
            self.clock, self._on_due, tick_ns=tick, slice_items=items
        )
        self.records = [ScheduledRecord(number) for number in range(RECORDS)]
        self.model: dict[ScheduledRecord, tuple[int, int | None, int]] = {}
        """Record -> (its instant, its rank among ties or None once it was moved later, when that was requested)."""
        self._delivered: list[tuple[int, int | None, int]] = []
        """Instant, rank and the time of the request of what was delivered in this advance."""
        self._inside: dict[ScheduledRecord, tuple[ScheduledRecord, int | None]] = {}
        self._count, self._disturbed = 0, False
        self._broken: InvariantError | None = None

    def apply(self, which: int, delay: int | None) -> None:
        """Schedule a record `delay` ns from now, or cancel it (None)."""
        self._apply(self.records[which % RECORDS], delay)

    def when_due(self, which: int, other: int, delay: int | None) -> None:
        """When a record is delivered, apply `delay` to another one from within the delivery."""
        self._inside[self.records[which % RECORDS]] = (self.records[other % RECORDS], delay)

    def between_slices(self, which: int, delay: int | None, at: int, hops: int) -> None:
        """In `at` ns and `hops` turns of the loop later, apply `delay` to a record and compare."""

        def hop(left: int) -> None:
            if left:
                self.clock.call_at(0, lambda: hop(left - 1))
            else:
                self.apply(which, delay)
                self._compare_within()

        self.clock.call_at(self.clock.monotonic_ns() + at, lambda: hop(hops))

    def advance(self, ns: int) -> None:
        """Let `ns` nanoseconds pass.

        Raises `InvariantError` if a delivery was early, late, lost, doubled or out of order.
        """
        self._delivered, self._disturbed = [], False
        self.clock.advance(ns)
        if self._broken is not None:
            raise self._broken
        filed = [(due, order) for due, order, _ in self._delivered if order is not None]
        if not self._disturbed and (
            filed != sorted(filed) or self._delivered != sorted(self._delivered, key=itemgetter(0))
        ):
            raise InvariantError("in order of instant", f"delivered {self._delivered}", "order")
        self._check_overtaken()
        now = self.clock.monotonic_ns()
        late = [one for one, (due, _, asked) in self.model.items() if max(due, asked) + self.tick <= now]
        if late:
            raise InvariantError("late by at most a tick", f"{late} still wait at {now}", "late")
        self.compare()

    def _check_overtaken(self) -> None:
        """Check that nothing came before what is due earlier and was asked for before its tick was over.

        This holds also where others were scheduled meanwhile. An instant that was past when it was asked for has no
        place in the order. Raises `InvariantError`.
        """
        timely = [one for one in self._delivered if one[0] > one[2]]
        for at, (due, order, asked) in enumerate(timely):
            over = -(-due // self.tick) * self.tick
            for later_due, later_order, later_asked in timely[at + 1 :]:
                is_tie = due == later_due and order is not None and later_order is not None and later_order < order
                if max(asked, later_asked) < over and (later_due < due or is_tie):
                    detail = f"{later_due} (asked for at {later_asked}) after {due} (asked for at {asked})"
                    raise InvariantError("in order of instant", detail, "overtaken")

    def crowd(self, delay: int, left: int) -> None:
        """Schedule many other records at one instant, and cancel all but `left`; then those, too.

        Raises `InvariantError` if what was cancelled takes memory.
        """
        many = [ScheduledRecord(number) for number in range(MANY)]
        for one in many:
            self.scheduler.schedule(one, self.clock.monotonic_ns() + delay)
        for one in many[left:]:
            self.scheduler.cancel(one)
        for bucket in (*self.scheduler._near.values(), *self.scheduler._far.values()):
            size = sys.getsizeof(bucket)
            if len(bucket) >= scheduler.SPARSE and size > 512 * len(bucket) + 4096:
                detail = f"{size} bytes for {len(bucket)} records, after {MANY - left} were cancelled"
                raise InvariantError("memory is proportional to the live items", detail, "bucket")
        for one in many[:left]:
            self.scheduler.cancel(one)
        if any(one.bucket is not None for one in many):
            raise InvariantError("never lost, never kept", "a cancelled record is held", "held")

    def close_between_slices(self, at: int, hops: int) -> None:
        """In `at` ns and `hops` turns of the loop later, close the scheduler."""

        def hop(left: int) -> None:
            if left:
                self.clock.call_at(0, lambda: hop(left - 1))
            else:
                self._count += RECORDS
                self._disturbed = True
                self.scheduler.close()
                self.model.clear()
                self._compare_within()

        self.clock.call_at(self.clock.monotonic_ns() + at, lambda: hop(hops))

    def compare(self) -> None:
        """Check that both hold the same records and agree which are overdue. Raises `InvariantError`."""
        filed = {one for one in self.records if one.bucket is not None}
        if filed != set(self.model):
            raise InvariantError("never lost, never kept", f"holds {filed}, expected {set(self.model)}", "held")
        self._check_memory()
        now = self.clock.monotonic_ns()
        due = sorted(one.name for one, (instant, _, _) in self.model.items() if instant <= now)
        overdue = sorted(one.name for one in self.scheduler.overdue(now))
        if overdue != due:
            raise InvariantError(
                "what is overdue is reported exactly", f"reported {overdue}, expected {due}", "overdue"
            )

    def _check_memory(self) -> None:
        """Check that cancelled and delivered records leave nothing behind. Raises `InvariantError`."""
        held = self.scheduler
        for name, table, order in (("spans", held._far, held._spans), ("ticks", held._near, held._ticks)):
            if sorted(table) != sorted(order):
                detail = f"{name} {sorted(table)} in the table and {sorted(order)} in the heap"
                raise InvariantError("table and heap agree", detail, name)
        empty = sum(not bucket for bucket in held._far.values())
        if empty > len(held._far) - empty + 2 * scheduler.SPARSE + 2:
            detail = f"{empty} empty spans beside {len(held._far) - empty} others"
            raise InvariantError("memory is proportional to the live items", detail, "empty spans")

    def _slice(self, callback: Callable[[], object]) -> None:
        """Run a callback of the clock, in which only as many records may be moved and delivered as a slice has."""
        before, applied = {one: one.bucket for one in self.records}, self._count
        callback()
        touched = sum(one.bucket is not before[one] for one in self.records) - (self._count - applied)
        if touched > self._most_in_slice:
            self._break("work is sliced by count", f"{touched} records in one slice of {self._most_in_slice}", "slice")

    def _on_due(self, item: ScheduledRecord) -> None:
        if item not in self.model:
            self._break("never twice, never after a cancel", f"{item} delivered", "twice")
            return
        due, order, asked = self.model.pop(item)
        if self.clock.monotonic_ns() < due:
            self._break("never early", f"{item} delivered at {self.clock.monotonic_ns()}, due {due}", "early")
        self._delivered.append((due, order, asked))
        if item in self._inside:
            self._apply(*self._inside.pop(item))

    def _compare_within(self) -> None:
        """Compare inside a timer callback, which must not raise."""
        try:
            self.compare()
        except InvariantError as violation:
            self._broken = self._broken or violation

    def _break(self, invariant: str, detail: str, shape: str) -> None:
        """Keep a violation where the scheduler would swallow an exception."""
        self._broken = self._broken or InvariantError(invariant, detail, shape)

    def _apply(self, item: ScheduledRecord, delay: int | None) -> None:
        self._count += 1
        self._disturbed = True
        if delay is None:
            self.scheduler.cancel(item)
            self.model.pop(item, None)
            return
        now = self.clock.monotonic_ns()
        later = item in self.model and now + delay >= item.due
        if later and self._count % 2:
            item.due = now + delay
        else:
            self.scheduler.schedule(item, now + delay)
        self.model[item] = (now + delay, None if later else self._count, now)
