"""When records expire: up to millions of instants, one timer. The contract, each sentence of it tested:

Never early. Late by at most a tick plus the work in hand, while nobody blocks the loop. In order of instant, ties in
the order they were filed. An instant already past goes with the next tick. Exactly once; never after `cancel` or a
move. Sliced by time and by count. One timer. Memory follows the live records. `on_due` may call back in.

A record is filed by `schedule`, except one that is moved later: it stays where it is, and is filed anew when that place
comes up. So moving it later is one assignment, as often as one likes, and is paid for once.

Why dicts of buckets: a heap with lazy deletion needs compaction (73 ms in one step at 10^7) and ~3 times the memory, a
wheel cascades in one step (155 ms at 10^6). Here a record sits in one dict, so moving it leaves nothing behind; far
records wait in spans of 1024 ticks, split one span ahead, a chunk at a time. A record's cost does not grow with n.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush
from typing import Generic, Protocol, TypeVar

from wireproof.reference_server.buckets import Bucket, by_instant, repack
from wireproof.reference_server.clock import Clock, Timer

__all__ = ["Bucket", "Scheduler", "Timed"]

SPAN_BITS = 10
"""A span is 2^10 ticks: fewer make more spans for far records, more make more buckets for near ones."""
SPARSE = 16
"""A bucket smaller than this is never worth repacking."""
CHUNK = 64
"""Records moved from a span between two looks at the clock."""
FEW = 8
"""Records delivered between two looks at the clock."""

NEVER = float("inf")

log = logging.getLogger(__name__)


class Timed(Protocol):
    """What a record brings: hashed by identity (`eq=False`), two attributes, `bucket` None to begin with."""

    due: int
    """The instant to deliver it at, ns on the clock's monotonic scale; written by `schedule`. While the record is
    scheduled, raising it is as good as scheduling it later."""
    bucket: Bucket | None
    """The scheduler's own; not None exactly while the record is scheduled."""


T = TypeVar("T", bound=Timed)


class Scheduler(Generic[T]):
    """Calls `on_due(item)` for each item at its instant.

    `tick_ns` is the lateness allowed, rounded down to a power of two (1 is exact, for simulation). A slice ends after
    `slice_ns` or `slice_items`, whichever is first; then the clock is asked for another, so that others get their turn.
    """

    __slots__ = (
        "_armed_ns", "_clock", "_emptied", "_far", "_horizon", "_mask", "_near", "_on_due", "_opened", "_parting",
        "_shift", "_slice_items", "_slice_ns", "_span_shift", "_spans", "_split", "_splitting", "_ticks", "_timer",
        "_work",
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
        """Arms nothing until something is scheduled. Raises ValueError when a limit is below 1."""
        if min(tick_ns, slice_ns, slice_items) < 1:
            raise ValueError(f"limits start at 1: {tick_ns=} {slice_ns=} {slice_items=}")
        self._clock, self._on_due = clock, on_due
        self._slice_ns, self._slice_items = slice_ns, slice_items
        self._shift = tick_ns.bit_length() - 1
        self._span_shift, self._mask = self._shift + SPAN_BITS, (1 << self._shift) - 1
        self._opened = clock.monotonic_ns() >> self._shift
        """The last tick delivered or in delivery. Tick t holds the instants in (t-1, t] * 2^shift."""
        self._horizon = clock.monotonic_ns()
        """Instants up to here, ns, are filed by tick in `_near`, later ones by span in `_far`."""
        self._near: dict[int, Bucket] = {}
        self._ticks: list[int] = []
        self._far: dict[int, Bucket] = {}
        self._spans: list[int] = []
        self._emptied = 0
        """How often a bucket lost its last record to `cancel` since empty spans were last looked for."""
        self._timer: Timer | None = None
        self._armed_ns: float = NEVER
        self._work: Iterator[int] | None = None
        self._split: Iterator[int] | None = None
        self._splitting: float = NEVER
        """The span being split; its ticks, and those of later spans, wait until that is done."""
        self._parting: Bucket = {}
        """What it held."""

    def schedule(self, item: T, when_ns: int) -> None:
        """Deliver `item` at `when_ns` (any int, monotonic ns); an item already scheduled is moved."""
        if item.bucket is not None:
            if when_ns >= item.due:
                item.due = when_ns
                return
            self.cancel(item)
        item.due = when_ns
        self._file(item, when_ns)

    reschedule = schedule

    def cancel(self, item: T) -> None:
        """Forget `item`; harmless when it is not scheduled."""
        bucket = item.bucket
        if bucket is None:
            return
        del bucket[item]
        item.bucket = None
        left = len(bucket)
        if not left & (left - 1):
            self._tidy(bucket)

    def overdue(self, now_ns: int) -> list[T]:
        """Items whose instant has come and that were not delivered yet; costs what the ticks up to now hold."""
        last = ((now_ns + self._mask) >> self._shift) + 1
        buckets = [bucket for tick, bucket in self._near.items() if tick <= last]
        buckets += [bucket for span, bucket in self._far.items() if span <= last >> SPAN_BITS]
        return [item for bucket in (*buckets, self._parting) for item in bucket if item.due <= now_ns]

    def close(self) -> None:
        """Disarm the timer and forget every item."""
        if self._timer is not None:
            self._timer.cancel()
        for bucket in (*self._near.values(), *self._far.values(), self._parting):
            for item in bucket:
                item.bucket = None
            bucket.clear()
        for part in (self._near, self._ticks, self._far, self._spans):
            part.clear()
        self._timer = self._work = self._split = None
        self._armed_ns = self._splitting = NEVER

    def _file(self, item: T, when_ns: int) -> None:
        """Put `item` where `when_ns` will find it."""
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
        """A new bucket; the timer is moved when its wake comes before the one armed."""
        bucket = table[key] = {}
        heappush(order, key)
        if wake_ns < self._armed_ns:
            self._arm(wake_ns)
        return bucket

    def _tidy(self, bucket: Bucket) -> None:
        """As a bucket shrinks past 0 and each power of two: empty spans go, an oversized table is repacked."""
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
        """One turn: work until the budget is spent or nothing is due, then arm for what comes next."""
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
        """All work due now, yielding how many records were handled; delivery goes before splitting."""
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
        """The earliest tick is over, and no record of it is still in a span."""
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
                    self._tell(item)
            if handled >= FEW:
                yield handled
                handled = 0
        if self._near.pop(tick, None) is not None:
            heappop(self._ticks)
        yield handled

    def _tell(self, item: T) -> None:
        try:
            self._on_due(item)
        except Exception:
            log.exception("on_due failed for %r", item)

    def _split_span(self, span: int) -> Iterator[int]:
        """File a span's records by tick. Those scheduled meanwhile open it anew and follow: ties keep order."""
        self._parting = bucket = self._far.pop(span, {})
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
        self._splitting, self._parting = NEVER, {}
        if span not in self._far:
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
