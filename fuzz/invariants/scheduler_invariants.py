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
# - late by at most a tick: it is delivered, at the latest, when the tick of its instant is over, or with the next tick
#   if its instant was past when it was asked for; to the nanosecond, as the clock is virtual;
# - never lost, never kept: both hold the same records at all times, even between two slices;
# - never twice: no delivery after a delivery or a cancel;
# - sliced: one callback of the clock moves and delivers no more records than a slice has, and delivers none once its
#   time is used up;
# - in order: records are delivered by instant, ties in the order in which they were filed. A record that was moved to
#   a later instant has no rank among ties, because the scheduler may move it lazily. What is asked for while a tick is
#   being delivered has no place in its order;
# - a delivery that raises, as every fifth record's does, stops no other one;
# - one timer: the scheduler has no other one at the clock.
#
# Three means make these joints frequent. `small_steps` reduces chunk and slice sizes to one to three records, so that
# a dozen records meet what a million would. Operations happen also from within a delivery (`when_due`) and between
# two slices (`between_slices`), where real servers reschedule. About half of the moves to a later instant change
# `due` in place, without calling `schedule`, as the store does with a record that is updated before it expires. In some
# inputs a delivery takes time, so that slices end by time and timers run late.
#
# A violation inside a timer callback would be swallowed by the loop, so it is kept and raised by the next `advance`.

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from heapq import heappop
from typing import NamedTuple

from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.reference_server import buckets, scheduler
from wireproof.reference_server.buckets import Bucket
from wireproof.reference_server.clock import Timer, VirtualClock
from wireproof.reference_server.scheduler import Scheduler

__all__ = ["RECORDS", "SLICE_NS", "DueTime", "ScheduleCheck", "ScheduledRecord", "small_steps"]

RECORDS = 12
SLICE_NS = 2_000_000
"""The time of a slice in ns."""
MOST_RECORDS = 40
"""Records from which on no others are kept: each comparison looks at all of them."""
RAISING = 5
"""One of so many records raises when it is delivered."""
MANY = 400
"""Records that are scheduled and cancelled at once."""


class DeliveryError(Exception):
    """Raised by a delivery, as a server's may."""


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
    """Reduce the chunk sizes of the scheduler to their minimum, and log nothing, for the duration of the context."""
    sizes = scheduler.CHUNK, scheduler.FEW, buckets.RUN
    scheduler.CHUNK, scheduler.FEW, buckets.RUN = 1, 1, 3
    was_disabled, scheduler.log.disabled = scheduler.log.disabled, True
    try:
        yield
    finally:
        scheduler.CHUNK, scheduler.FEW, buckets.RUN = sizes
        scheduler.log.disabled = was_disabled


class _SlicedClock(VirtualClock):
    """A virtual clock that shows each callback to `around`; time also passes by `work`, inside callbacks."""

    def __init__(self, start: int, around: Callable[[Callable[[], object]], object]) -> None:
        super().__init__(start_monotonic_ns=start)
        self._around = around
        self._armed: set[Timer] = set()

    def call_at(self, when_ns: int, callback: Callable[[], object]) -> Timer:
        """Run `callback`, as `VirtualClock` does."""

        def run() -> None:
            self._armed.discard(timer)
            self._around(callback)

        timer = super().call_at(when_ns, run)
        if isinstance(getattr(callback, "__self__", None), Scheduler):
            self._armed.add(timer)
        return timer

    def timers(self) -> int:
        """Return how many timers of a scheduler wait."""
        self._armed = {one for one in self._armed if getattr(one, "callback", None) is not None}
        return len(self._armed)

    def work(self, ns: int) -> None:
        """Let time pass inside a callback."""
        self._now_ns += ns

    def advance_to(self, when_ns: int) -> None:
        """Run what is due, as `VirtualClock` does; time does not go back where work took longer."""
        while self._timers and self._timers[0][0] <= max(when_ns, self._now_ns):
            due_ns, _, timer = heappop(self._timers)
            if timer.callback is not None:
                self._now_ns = max(self._now_ns, due_ns)
                timer.callback()
        self._now_ns = max(self._now_ns, when_ns)


class DueTime(NamedTuple):
    """A record that is scheduled, as the model knows it."""

    due: int
    order: int | None
    """Its rank among ties; None once it was moved later."""
    at: int
    """When that was asked for."""
    opened: int
    """The last tick that was delivered, or being delivered, then."""


class ScheduleCheck:
    """A scheduler and its model on a virtual clock; `tick` and `start` are in ns, `items` is the size of a slice.

    A delivery takes `work` ns.
    """

    def __init__(self, *, tick: int = 1, items: int = 4, start: int = 0, work: int = 0) -> None:
        self.clock, self.tick = _SlicedClock(start, self._slice), 1 << tick.bit_length() - 1
        self._most_in_slice, self._work = items, work
        self.scheduler: Scheduler[ScheduledRecord] = Scheduler(
            self.clock, self._on_due, tick_ns=tick, slice_items=items, slice_ns=SLICE_NS
        )
        self.records = [ScheduledRecord(number) for number in range(RECORDS)]
        self.model: dict[ScheduledRecord, DueTime] = {}
        self._delivered: list[tuple[DueTime, int]] = []
        """What was delivered in this advance, and some before, each with the tick that was being delivered."""
        self._inside: dict[ScheduledRecord, tuple[ScheduledRecord, int | None]] = {}
        self._count = self._worked = self._stop = 0
        self._broken: InvariantError | None = None

    @property
    def span(self) -> int:
        """The nanoseconds of a span of the scheduler."""
        return self.tick << scheduler.SPAN_BITS

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
        self._delivered, self._worked = self._delivered[-RECORDS:], 0
        self.clock.advance(ns)
        if self._broken is not None:
            raise self._broken
        self._check_order()
        now = self.clock.monotonic_ns()
        late = [one for one, asked in self.model.items() if self._latest(asked) < now]
        if late:
            raise InvariantError("late by at most a tick", f"{late} still wait at {now}", "late")
        self.compare()

    def _latest(self, asked: DueTime) -> int:
        """Return the instant at which a record must have been delivered, if nothing but the work so far held it up."""
        return max(-(-asked.due // self.tick), asked.at // self.tick + 1) * self.tick + self._worked

    def _check_order(self) -> None:
        """Check that nothing came before what is due earlier, where both were there before the tick was delivered.

        Raises `InvariantError`.
        """
        for at, (first, tick) in enumerate(self._delivered):
            for later, _ in self._delivered[at + 1 :]:
                is_ranked = first.order is not None and later.order is not None
                is_tie = is_ranked and first.due == later.due and later.order < first.order  # type: ignore[operator]
                if max(first.opened, later.opened) < tick and (later.due < first.due or is_tie):
                    detail = f"{later.due} (asked for at {later.at}) after {first.due} (asked for at {first.at})"
                    raise InvariantError("in order of instant", detail, "overtaken" if is_tie else "order")

    def crowd(self, delay: int, left: int) -> None:
        """Schedule many other records at one instant, and cancel all but `left`; then every other one of those.

        The rest is delivered, in order, unless there are many already. Raises `InvariantError` if what was cancelled
        takes memory.
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
        kept = many[1:left:2] if len(self.records) < MOST_RECORDS else []
        for one in many[:left]:
            if one not in kept:
                self.scheduler.cancel(one)
        if any(one.bucket is not None for one in many if one not in kept):
            raise InvariantError("never lost, never kept", "a cancelled record is held", "held")
        self.records += kept
        for one in kept:
            self._count += 1
            self._ask(one, self.clock.monotonic_ns() + delay, self._count)

    def close_between_slices(self, at: int, hops: int) -> None:
        """In `at` ns and `hops` turns of the loop later, close the scheduler."""

        def hop(left: int) -> None:
            if left:
                self.clock.call_at(0, lambda: hop(left - 1))
            else:
                self._count += len(self.records)
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
        if self.clock.timers() > 1:
            raise InvariantError("there is one timer", f"{self.clock.timers()} timers wait", "timers")
        now = self.clock.monotonic_ns()
        due = sorted(one.name for one, asked in self.model.items() if asked.due <= now)
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
        self._stop = self.clock.monotonic_ns() + SLICE_NS
        try:
            callback()
        except DeliveryError as error:
            self._break("a delivery that raises stops no other", f"{error} reaches the loop", "raised")
        touched = sum(one.bucket is not before[one] for one in self.records) - (self._count - applied)
        if touched > self._most_in_slice:
            self._break("work is sliced by count", f"{touched} records in one slice of {self._most_in_slice}", "slice")

    def _on_due(self, item: ScheduledRecord) -> None:
        if item not in self.model:
            self._break("never twice, never after a cancel", f"{item} delivered", "twice")
            return
        asked, now = self.model.pop(item), self.clock.monotonic_ns()
        if now < asked.due:
            self._break("never early", f"{item} delivered at {now}, due {asked.due}", "early")
        if now > self._latest(asked):
            self._break("late by at most a tick", f"{item} delivered at {now}, due {asked.due}", "late")
        if now >= self._stop:
            self._break("work is sliced by time", f"{item} delivered {now - self._stop} ns after its end", "slice time")
        self._delivered.append((asked, self.scheduler._opened))
        self._worked += self._work
        self.clock.work(self._work)
        if item in self._inside:
            self._apply(*self._inside.pop(item))
        if item.name % RAISING == RAISING - 1:
            raise DeliveryError(f"what the delivery of {item} raises")

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
        self._ask(item, now + delay, None if later else self._count)

    def _ask(self, item: ScheduledRecord, due: int, order: int | None) -> None:
        """Let the model know what was scheduled now."""
        self.model[item] = DueTime(due, order, self.clock.monotonic_ns(), self.scheduler._opened)
