"""The scheduler against a dict of instants: never early, never lost, never twice, in order, late by at most a tick.

`ScheduleCheck` does each operation to both and compares; engines only choose operations. Work may be cut as small as it
can be, so that a dozen records meet every seam that a million would.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from operator import itemgetter

from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.reference_server import buckets, scheduler
from wireproof.reference_server.buckets import Bucket
from wireproof.reference_server.clock import VirtualClock
from wireproof.reference_server.scheduler import Scheduler

__all__ = ["RECORDS", "ScheduleCheck", "ScheduledRecord", "small_steps"]

RECORDS = 12


class ScheduledRecord:
    """What is scheduled, moved and cancelled."""

    __slots__ = ("bucket", "due", "name")

    def __init__(self, name: int) -> None:
        self.bucket: Bucket | None = None
        self.name, self.due = name, 0

    def __repr__(self) -> str:
        """As a violation shows it."""
        return f"r{self.name}"


@contextmanager
def small_steps() -> Iterator[None]:
    """Let the scheduler cut its work as small as it can."""
    sizes = scheduler.CHUNK, scheduler.FEW, buckets.RUN
    scheduler.CHUNK, scheduler.FEW, buckets.RUN = 1, 1, 3
    try:
        yield
    finally:
        scheduler.CHUNK, scheduler.FEW, buckets.RUN = sizes


class ScheduleCheck:
    """A scheduler and its naive model, side by side, on a virtual clock."""

    def __init__(self, *, tick: int = 1, items: int = 4, start: int = 0) -> None:
        self.clock, self.tick = VirtualClock(start_monotonic_ns=start), tick
        self.scheduler: Scheduler[ScheduledRecord] = Scheduler(
            self.clock, self._on_due, tick_ns=tick, slice_items=items
        )
        self.records = [ScheduledRecord(number) for number in range(RECORDS)]
        self.model: dict[ScheduledRecord, tuple[int, int | None, int]] = {}
        """Record -> its instant, its place among ties (None once it was moved later), when that was asked for."""
        self._delivered: list[tuple[int, int | None]] = []
        self._inside: dict[ScheduledRecord, tuple[ScheduledRecord, int | None]] = {}
        self._count, self._disturbed = 0, False
        self._broken: InvariantError | None = None

    def apply(self, which: int, delay: int | None) -> None:
        """Schedule a record `delay` ns from now, or cancel it (None)."""
        self._apply(self.records[which % RECORDS], delay)

    def when_due(self, which: int, other: int, delay: int | None) -> None:
        """Once a record is delivered, do as `apply` says to another, from within the delivery."""
        self._inside[self.records[which % RECORDS]] = (self.records[other % RECORDS], delay)

    def between_slices(self, which: int, delay: int | None, at: int, hops: int) -> None:
        """In `at` ns, and `hops` turns of the loop later, do as `apply` says and compare."""

        def hop(left: int) -> None:
            if left:
                self.clock.call_at(0, lambda: hop(left - 1))
            else:
                self.apply(which, delay)
                self._compare_within()

        self.clock.call_at(self.clock.monotonic_ns() + at, lambda: hop(hops))

    def advance(self, ns: int) -> None:
        """Let time pass; `Violation` when what was delivered is not what is due."""
        self._delivered, self._disturbed = [], False
        self.clock.advance(ns)
        if self._broken is not None:
            raise self._broken
        filed = [(due, order) for due, order in self._delivered if order is not None]
        if not self._disturbed and (
            filed != sorted(filed) or self._delivered != sorted(self._delivered, key=itemgetter(0))
        ):
            raise InvariantError("in order of instant", f"delivered {self._delivered}", "order")
        now = self.clock.monotonic_ns()
        late = [one for one, (due, _, asked) in self.model.items() if max(due, asked) + self.tick <= now]
        if late:
            raise InvariantError("late by at most a tick", f"{late} still wait at {now}", "late")
        self.compare()

    def compare(self) -> None:
        """Both hold the same records and say the same of what is overdue."""
        held = {one for one in self.records if one.bucket is not None}
        if held != set(self.model):
            raise InvariantError("never lost, never kept", f"holds {held}, not {set(self.model)}", "held")
        now = self.clock.monotonic_ns()
        due = sorted(one.name for one, (instant, _, _) in self.model.items() if instant <= now)
        overdue = sorted(one.name for one in self.scheduler.overdue(now))
        if overdue != due:
            raise InvariantError(
                "what is overdue is reported exactly", f"reported {overdue}, expected {due}", "overdue"
            )

    def _on_due(self, item: ScheduledRecord) -> None:
        if item not in self.model:
            self._break("never twice, never after a cancel", f"{item} delivered", "twice")
            return
        due, order, _ = self.model.pop(item)
        if self.clock.monotonic_ns() < due:
            self._break("never early", f"{item} delivered at {self.clock.monotonic_ns()}, due {due}", "early")
        self._delivered.append((due, order))
        if item in self._inside:
            self._apply(*self._inside.pop(item))

    def _compare_within(self) -> None:
        """Compare while a timer runs, which must not be broken off."""
        try:
            self.compare()
        except InvariantError as violation:
            self._broken = self._broken or violation

    def _break(self, invariant: str, detail: str, shape: str) -> None:
        """Keep a violation met where the scheduler would swallow it."""
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
