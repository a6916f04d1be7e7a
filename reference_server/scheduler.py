"""Expiry of records: millions of instants, one timer. The tests check each sentence of this contract.

An item is never early. It is late by at most a tick plus the work in progress, unless somebody blocks the loop. Items
come in order of their instants, equal ones in the order of scheduling; one that was moved to a later instant has no
place among equal ones, and one that is scheduled while a tick is delivered has none in that tick. An instant in the
past comes with the next tick. Each item comes exactly once, and never after `cancel` or after it was moved. Work is
sliced by time and by count. There is one timer. Memory is proportional to the live items. `on_due` may call the
scheduler.
"""

# Strategy
#
# A heap with lazy deletion needs compaction (73 ms in one step at 10^7 items) and about 3 times the memory; a timer
# wheel cascades in one step (155 ms at 10^6). So items are in dicts ("buckets") of two levels:
#
# - `_near`: one bucket for each tick, for instants up to `_horizon`. Tick t has the instants in (t-1, t] * 2^shift,
#   so delivering it when it is over is never early.
# - `_far`: one bucket for each span of 2^SPAN_BITS ticks, for later instants.
#
# `_ticks` and `_spans` are heaps of the keys, a few thousand at most. An item is in exactly one bucket and knows it, so
# `cancel` deletes it there and leaves nothing behind, and the cost of an item does not grow with their number.
#
# Moving an item to a later instant, as every renewed TTL does, only assigns `due`. The item stays in its bucket and
# is filed again when that bucket comes up, so any number of such moves costs one. Only an earlier instant moves it now.
#
# One span before its first tick, a span is split: its items are filed by tick, CHUNK at a time. Ticks of that span and
# of later ones wait until the split is done, otherwise an item could be overtaken. Items that are scheduled into a span
# during its split open a new bucket, which is split after it, and so do items for an earlier span, before whose split
# `_horizon` stays where it is: equal instants keep their order.
#
# The timer is armed for the earliest tick or span. It runs a slice: it resumes one generator, which delivers and splits
# and yields how many items it has handled, until the slice's time or count is used up. Then it is armed again at once,
# so that connections get their turn. Delivery goes before splitting, and large buckets are sorted in runs (`buckets`).

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush
from typing import Generic, Protocol, TypeVar

from wireproof.reference_server.buckets import Bucket, by_instant, repack
from wireproof.reference_server.clock import Clock, Timer

__all__ = ["Bucket", "Scheduler", "Timed"]

SPAN_BITS = 10
"""A span is 2^10 ticks: with fewer there are more spans, with more there are more ticks."""
SPARSE = 16
"""Smaller buckets are not worth repacking."""
CHUNK = 64
"""Items moved from a span between two readings of the clock."""
FEW = 8
"""Items delivered between two readings of the clock."""

NEVER = float("inf")

log = logging.getLogger(__name__)


class Timed(Protocol):
    """An item: hashed by identity (`eq=False`), with two attributes; `bucket` begins as None."""

    due: int
    """The instant of delivery, ns on the clock's monotonic scale; set by `schedule`. While the item is scheduled,
    increasing it has the same effect as `schedule`."""
    bucket: Bucket | None
    """For the scheduler only; not None exactly while the item is scheduled."""


T = TypeVar("T", bound=Timed)


class Scheduler(Generic[T]):
    """Calls `on_due(item)` for each item at its instant.

    `tick_ns` is the allowed lateness, rounded down to a power of two (1 is exact, for simulation). A slice ends after
    `slice_ns` or `slice_items`, whichever is first, and continues in another callback of the clock.
    """

    __slots__ = (
        "_armed_ns", "_clock", "_emptied", "_far", "_horizon", "_mask", "_near", "_on_due", "_opened", "_shift",
        "_slice_items", "_slice_ns", "_span_shift", "_spans", "_split", "_split_bucket", "_splitting", "_ticks",
        "_timer", "_work",
    )  # fmt: skip

    def __init__(
        self,
        clock: Clock,
        on_due: Callable[[T], object],
        *,
        tick_ns: int = 10_000_000,
        slice_ns: int = 2_000_000,
        slice_items: int = 4096,
    ) -> None:
        """Arm no timer before something is scheduled. Raises ValueError if a limit is below 1."""
        if min(tick_ns, slice_ns, slice_items) < 1:
            raise ValueError(f"limits start at 1: {tick_ns=} {slice_ns=} {slice_items=}")
        self._clock, self._on_due = clock, on_due
        self._slice_ns, self._slice_items = slice_ns, slice_items
        self._shift = tick_ns.bit_length() - 1
        self._span_shift, self._mask = self._shift + SPAN_BITS, (1 << self._shift) - 1
        self._opened = clock.monotonic_ns() >> self._shift
        """The last tick that was delivered or is being delivered."""
        self._horizon = clock.monotonic_ns()
        """Instants up to this one (ns) are in `_near`, later ones in `_far`."""
        self._near: dict[int, Bucket] = {}
        self._ticks: list[int] = []
        self._far: dict[int, Bucket] = {}
        self._spans: list[int] = []
        self._emptied = 0
        """How many buckets `cancel` has emptied since empty spans were last dropped."""
        self._timer: Timer | None = None
        self._armed_ns: float = NEVER
        self._work: Iterator[int] | None = None
        self._split: Iterator[int] | None = None
        self._splitting: float = NEVER
        """The span that is being split; its ticks and those of later spans wait."""
        self._split_bucket: Bucket = {}
        """Its items."""

    def schedule(self, item: T, when_ns: int) -> None:
        """Deliver `item` at `when_ns` (any int, monotonic ns); move it if it is already scheduled."""
        if item.bucket is not None:
            if when_ns >= item.due:
                item.due = when_ns
                return
            self.cancel(item)
        item.due = when_ns
        self._file(item, when_ns)

    reschedule = schedule

    def cancel(self, item: T) -> None:
        """Remove `item`; does nothing if it is not scheduled."""
        bucket = item.bucket
        if bucket is None:
            return
        del bucket[item]
        item.bucket = None
        left = len(bucket)
        if not left & (left - 1):
            self._tidy(bucket)

    def overdue(self, now_ns: int) -> list[T]:
        """Return the items that are due at `now_ns` and not delivered yet; visits all items of the ticks up to then."""
        last = ((now_ns + self._mask) >> self._shift) + 1
        buckets = [bucket for tick, bucket in self._near.items() if tick <= last]
        buckets += [bucket for span, bucket in self._far.items() if span <= last >> SPAN_BITS]
        return [item for bucket in (*buckets, self._split_bucket) for item in bucket if item.due <= now_ns]

    def close(self) -> None:
        """Cancel the timer and remove every item."""
        if self._timer is not None:
            self._timer.cancel()
        for bucket in (*self._near.values(), *self._far.values(), self._split_bucket):
            for item in bucket:
                item.bucket = None
            bucket.clear()
        for part in (self._near, self._ticks, self._far, self._spans):
            part.clear()
        self._timer = self._work = self._split = None
        self._armed_ns = self._splitting = NEVER

    def _file(self, item: T, when_ns: int) -> None:
        """Put `item` into the bucket of `when_ns`."""
        if when_ns > self._horizon:
            span = when_ns >> self._span_shift
            try:
                bucket = self._far[span]
            except KeyError:
                bucket = self._open(self._far, self._spans, span, (span - 1) << self._span_shift)
        else:
            tick = (when_ns + self._mask) >> self._shift
            if tick <= self._opened:
                tick = self._opened + 1
            try:
                bucket = self._near[tick]
            except KeyError:
                bucket = self._open(self._near, self._ticks, tick, tick << self._shift)
        bucket[item] = None
        item.bucket = bucket

    def _open(self, table: dict[int, Bucket], order: list[int], key: int, wake_ns: int) -> Bucket:
        """Return a new bucket; re-arm the timer if it must wake earlier for it."""
        bucket = table[key] = {}
        heappush(order, key)
        if wake_ns < self._armed_ns:
            self._arm(wake_ns)
        return bucket

    def _tidy(self, bucket: Bucket) -> None:
        """Drop empty spans or repack an oversized dict; called as a bucket shrinks to 0 and to each power of two."""
        if len(bucket) >= SPARSE:
            repack(bucket)
        elif not bucket:
            self._emptied += 1
            if self._emptied > len(self._far) // 2 + SPARSE:
                self._drop_empty_spans()

    def _drop_empty_spans(self) -> None:
        for span in [span for span, bucket in self._far.items() if not bucket]:
            del self._far[span]
        repack(self._far)
        self._spans[:] = self._far
        heapify(self._spans)
        self._emptied = 0

    def _arm(self, wake_ns: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._armed_ns = wake_ns
        self._timer = self._clock.call_at(wake_ns, self._slice)

    def _slice(self) -> None:
        """Work until the slice is used up or nothing is due, then arm the timer."""
        self._timer, self._armed_ns = None, -NEVER
        now_ns = self._clock.monotonic_ns
        stop_ns, left = now_ns() + self._slice_ns, self._slice_items
        try:
            if self._work is None:
                self._work = self._deliver_and_split()
            for done in self._work:
                left -= done
                if left <= 0 or now_ns() >= stop_ns:
                    break
            else:
                self._work = None
        except BaseException:
            self._work = None
            raise
        finally:
            self._arm_next()

    def _arm_next(self) -> None:
        self._armed_ns = NEVER
        wakes = [tick << self._shift for tick in self._ticks[:1]]
        wakes += [(span - 1) << self._span_shift for span in self._spans[:1]]
        if self._work is not None:
            self._arm(self._clock.monotonic_ns())
        elif wakes:
            self._arm(min(wakes))

    def _deliver_and_split(self) -> Iterator[int]:
        """Do all work that is due, delivery before splitting; yield how many items were handled."""
        while True:
            now_ns = self._clock.monotonic_ns()
            if self._tick_is_ready(now_ns):
                yield from self._deliver_tick(self._ticks[0])
            elif self._split is not None:
                done = next(self._split, 0)
                if not done:
                    self._split = None
                yield done
            elif self._spans and self._spans[0] - 1 << self._span_shift <= now_ns:
                self._splitting = span = heappop(self._spans)
                self._split = self._split_span(span)
            else:
                return

    def _tick_is_ready(self, now_ns: int) -> bool:
        """Return whether the earliest tick is over and no item of it is still in a span."""
        if not self._ticks or self._ticks[0] << self._shift > now_ns:
            return False
        span = self._ticks[0] >> SPAN_BITS
        return span < self._splitting and not (self._spans and self._spans[0] <= span)

    def _deliver_tick(self, tick: int) -> Iterator[int]:
        bucket = self._near[tick]
        self._opened = tick
        end_ns, handled = tick << self._shift, 1
        for item in (yield from by_instant(bucket)):
            handled += 1
            if item.bucket is bucket:
                del bucket[item]
                item.bucket = None
                if item.due > end_ns:
                    self._file(item, item.due)
                else:
                    self._call_back(item)
            if handled >= FEW:
                yield handled
                handled = 0
        if self._near.pop(tick, None) is not None:
            heappop(self._ticks)
        yield handled

    def _call_back(self, item: T) -> None:
        try:
            self._on_due(item)
        except Exception:
            log.exception("on_due failed for %r", item)

    def _split_span(self, span: int) -> Iterator[int]:
        """File the items of a span by tick; yield how many were handled."""
        self._split_bucket = bucket = self._far.pop(span, {})
        last_ns = (span + 1 << self._span_shift) - 1
        for count, item in enumerate(list(bucket), 1):
            if item.bucket is bucket:
                del bucket[item]
                if item.due > last_ns:
                    self._file(item, item.due)
                else:
                    self._file_by_tick(item)
            if not count % CHUNK:
                yield CHUNK
        self._splitting, self._split_bucket = NEVER, {}
        if not (self._spans and self._spans[0] <= span):
            self._horizon = last_ns
        repack(self._far)

    def _file_by_tick(self, item: T) -> None:
        tick = max((item.due + self._mask) >> self._shift, self._opened + 1)
        near = self._near.get(tick)
        if near is None:
            near = self._near[tick] = {}
            heappush(self._ticks, tick)
        near[item] = None
        item.bucket = near
