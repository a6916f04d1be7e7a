"""The scheduler's contract, sentence by sentence; test_scheduler_model.py holds all of it against a naive model."""

import asyncio
import sys
from collections.abc import Callable
from operator import attrgetter

import pytest
import uvloop

from reference_server.clock import LoopClock, Timer, VirtualClock
from reference_server.scheduler import FEW, RUN, Bucket, Scheduler

MS = 1_000_000
SECOND = 1000 * MS
HOUR = 3600 * SECOND
TICK = 10 * MS


class Record:
    """What a store keeps, as far as the scheduler is concerned."""

    __slots__ = ("bucket", "due", "name")

    def __init__(self, name: object = None) -> None:
        self.bucket: Bucket | None = None
        self.name, self.due = name, 0


class CountingClock(VirtualClock):
    """A virtual clock that knows how many timers are pending and how many were ever asked for."""

    asked = 0

    def call_at(self, when_ns: int, callback: Callable[[], object]) -> Timer:
        self.asked += 1
        return super().call_at(when_ns, callback)

    @property
    def pending(self) -> int:
        return sum(timer.callback is not None for _, _, timer in self._timers)


class Due(list[tuple[object, int]]):
    """An `on_due` that notes (name, instant of delivery)."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__()
        self.clock = clock

    def __call__(self, item: Record) -> None:
        self.append((item.name, self.clock.monotonic_ns()))

    @property
    def names(self) -> list[object]:
        return [name for name, _ in self]


@pytest.fixture
def clock() -> CountingClock:
    return CountingClock(start_monotonic_ns=123_456_789)


@pytest.fixture
def due(clock: CountingClock) -> Due:
    return Due(clock)


@pytest.mark.parametrize("delay", [1, TICK - 1, TICK, SECOND, 10 * SECOND, 24 * HOUR, 2**64 * HOUR])
def test_never_early_and_late_by_at_most_a_tick(clock: CountingClock, due: Due, delay: int) -> None:
    when = clock.monotonic_ns() + delay
    Scheduler(clock, due, tick_ns=TICK).schedule(Record("a"), when)

    clock.advance_to(when - 1)
    before = due.names
    clock.advance(1 + TICK)

    assert before == []
    assert [0 <= at - when <= TICK for _, at in due] == [True]


@pytest.mark.parametrize("delay", [0, 1, 1023, 1024, SECOND, 2**64 * HOUR])
def test_a_tick_of_one_nanosecond_is_exact(clock: CountingClock, due: Due, delay: int) -> None:
    when = clock.monotonic_ns() + delay
    clock.advance(1)
    Scheduler(clock, due, tick_ns=1).schedule(Record("a"), when + 1)

    clock.advance_to(when + 2)

    assert [at - when for _, at in due] == [2 if delay == 0 else 1]


def test_due_records_come_by_instant_and_ties_by_their_latest_schedule(clock: CountingClock, due: Due) -> None:
    scheduler, (a, b, c, d) = Scheduler(clock, due), map(Record, "abcd")
    for item, when in [(a, 5), (b, 7), (c, 5), (d, 4), (a, 9), (a, 5)]:
        scheduler.schedule(item, HOUR + when)

    clock.advance(2 * HOUR)

    assert due.names == ["d", "c", "a", "b"]


def test_an_instant_already_past_goes_with_the_next_tick(clock: CountingClock, due: Due) -> None:
    scheduler = Scheduler(clock, due, tick_ns=TICK)
    scheduler.schedule(Record("past"), -(2**90))
    at_once = due.names

    clock.advance(TICK)

    assert (at_once, due.names) == ([], ["past"])


def test_a_moved_record_comes_once_at_its_new_instant(clock: CountingClock, due: Due) -> None:
    scheduler, item, start = Scheduler(clock, due, tick_ns=1), Record("a"), clock.monotonic_ns()
    for delay in (HOUR, SECOND, 5, 2 * HOUR, HOUR):
        scheduler.reschedule(item, start + delay)

    clock.advance(3 * HOUR)

    assert due == [("a", start + HOUR)]


def test_a_cancelled_record_never_comes_and_cancelling_twice_is_harmless(clock: CountingClock, due: Due) -> None:
    scheduler, item = Scheduler(clock, due), Record("a")
    scheduler.schedule(item, HOUR)
    scheduler.cancel(item)
    scheduler.cancel(item)

    clock.advance(2 * HOUR)

    assert due == []
    assert item.bucket is None


def test_on_due_may_schedule_and_cancel(clock: CountingClock) -> None:
    seen: list[str] = []
    first, victim, moved, again = map(Record, ["first", "victim", "moved", "again"])

    def on_due(item: Record) -> None:
        seen.append(item.name)
        if item is first:
            scheduler.cancel(victim)
            scheduler.schedule(moved, HOUR)
            scheduler.schedule(again, 0)

    scheduler = Scheduler(clock, on_due)
    for item in (first, victim, moved):
        scheduler.schedule(item, SECOND)
    clock.advance(2 * SECOND)

    assert seen == ["first", "again"]
    clock.advance(HOUR)
    assert seen == ["first", "again", "moved"]


def test_scheduling_inside_on_due_asks_the_clock_once_a_slice(clock: CountingClock) -> None:
    def on_due(item: Record) -> None:
        for n in range(100, 0, -1):
            scheduler.schedule(Record(), clock.monotonic_ns() + n * HOUR)

    scheduler = Scheduler(clock, on_due)
    scheduler.schedule(Record(), clock.monotonic_ns())
    before = clock.asked
    clock.advance(TICK)

    assert clock.asked == before + 1


def test_a_callback_that_raises_loses_no_other(clock: CountingClock, caplog: pytest.LogCaptureFixture) -> None:
    seen: list[int] = []

    def on_due(item: Record) -> None:
        seen.append(item.name)
        if item.name % 2:
            raise RuntimeError(item.name)

    scheduler = Scheduler(clock, on_due)
    for n in range(20):
        scheduler.schedule(Record(n), SECOND)
    clock.advance(2 * SECOND)

    assert seen == list(range(20))
    assert len(caplog.records) == 10


def test_an_interrupt_in_a_callback_leaves_the_others_scheduled(clock: CountingClock) -> None:
    seen: list[int] = []

    def on_due(item: Record) -> None:
        seen.append(item.name)
        if item.name == 3:
            raise KeyboardInterrupt

    scheduler = Scheduler(clock, on_due)
    for n in range(20):
        scheduler.schedule(Record(n), SECOND)
    with pytest.raises(KeyboardInterrupt):
        clock.advance(2 * SECOND)
    clock.advance(SECOND)

    assert seen == list(range(20))


def test_one_timer_is_armed_whatever_is_scheduled(clock: CountingClock, due: Due) -> None:
    scheduler = Scheduler(clock, due)
    pending = set()
    for n in range(500):
        scheduler.schedule(Record(n), clock.monotonic_ns() + (n * 7919 % 500) * SECOND)
        pending.add(clock.pending)
    while len(due) < 499:
        clock.advance(SECOND // 2)
        pending.add(clock.pending)
    clock.advance(2 * SECOND)

    assert pending == {1}
    assert (len(due), clock.pending) == (500, 0)


def test_nothing_is_armed_before_the_first_record_nor_after_close(clock: CountingClock, due: Due) -> None:
    scheduler, near, far = Scheduler(clock, due), Record(), Record()
    before = clock.pending
    scheduler.schedule(near, clock.monotonic_ns() + MS)
    scheduler.schedule(far, HOUR)
    scheduler.close()

    clock.advance(2 * HOUR)

    assert (before, clock.pending, due, near.bucket, far.bucket) == (0, 0, [], None, None)


def test_close_inside_on_due_delivers_nothing_more(clock: CountingClock) -> None:
    seen: list[Record] = []
    scheduler = Scheduler(clock, lambda item: (seen.append(item), scheduler.close()))
    for _ in range(20):
        scheduler.schedule(Record(), SECOND)

    clock.advance(2 * SECOND)

    assert (len(seen), clock.pending) == (1, 0)


@pytest.mark.parametrize("limit", ["tick_ns", "slice_ns", "slice_items"])
def test_limits_start_at_one(clock: CountingClock, limit: str) -> None:
    with pytest.raises(ValueError, match="limits start at 1"):
        Scheduler(clock, print, **{limit: 0})


@pytest.mark.parametrize("same_instant", [True, False])
def test_a_burst_of_100_000_is_sliced_and_all_of_it_comes_in_order(same_instant: bool) -> None:
    clock, slices, got = CountingClock(), [], []
    scheduler = Scheduler(clock, lambda item: (got.append(item), slices.append(clock.asked)), slice_items=1000)
    items = [Record(n) for n in range(100_000)]
    for n, item in enumerate(items):
        scheduler.schedule(item, HOUR + (0 if same_instant else n * 7919 % 1000))
    clock.advance(2 * HOUR)

    assert got == sorted(items, key=attrgetter("due"))
    assert max(map(slices.count, set(slices))) <= 1000


def test_others_get_their_turn_between_slices_and_may_cancel_what_is_left(clock: CountingClock) -> None:
    got: list[Record] = []
    items = [Record() for _ in range(5 * RUN)]

    def cancel_the_rest() -> None:
        for item in items[2 * RUN :]:
            scheduler.cancel(item)

    def on_due(item: Record) -> None:
        got.append(item)
        if len(got) == 1:
            clock.call_at(0, cancel_the_rest)

    scheduler = Scheduler(clock, on_due, slice_items=RUN)
    for item in items:
        scheduler.schedule(item, SECOND)
    clock.advance(2 * SECOND)

    assert got == items[: 2 * RUN]


def test_a_span_reached_late_is_split_before_any_of_it_is_delivered(clock: CountingClock, due: Due) -> None:
    scheduler = Scheduler(clock, due, tick_ns=1, slice_items=1)
    clock.advance(HOUR)
    for n in range(200):
        scheduler.schedule(Record(n), clock.monotonic_ns() - n)

    clock.advance(1)

    assert due.names == list(range(199, -1, -1))


def test_records_scheduled_while_their_span_is_split_keep_their_place(
    clock: CountingClock, due: Due, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reference_server.scheduler.CHUNK", 1)
    scheduler, names = Scheduler(clock, due, tick_ns=1, slice_items=1), iter(range(40))
    clock.advance(HOUR)
    instant = clock.monotonic_ns()

    def one_more() -> None:
        name = next(names, None)
        if name is not None:
            scheduler.schedule(Record(name), instant)
            clock.call_at(0, one_more)

    for _ in range(10):
        scheduler.schedule(Record(next(names)), instant)
    clock.call_at(0, one_more)
    clock.call_at(0, lambda: scheduler.schedule(Record("before"), instant - 1))
    clock.advance(1)

    assert due.names == ["before", *range(40)]


class TiringClock(CountingClock):
    """A virtual clock on which work takes time."""

    spent = 0

    def monotonic_ns(self) -> int:
        return super().monotonic_ns() + self.spent


def test_a_slice_ends_when_its_time_is_spent() -> None:
    clock, slices = TiringClock(), []

    def slow(item: Record) -> None:
        clock.spent += MS
        slices.append(clock.asked)

    scheduler = Scheduler(clock, slow, slice_ns=5 * MS)
    for n in range(80):
        scheduler.schedule(Record(n), SECOND)
    clock.advance(3 * SECOND)

    assert len(slices) == 80
    assert max(map(slices.count, slices)) <= FEW


def tables(scheduler: Scheduler[Record]) -> int:
    """Bytes of everything the scheduler holds, records apart."""
    held = [scheduler._near, scheduler._far, scheduler._ticks, scheduler._spans]
    held += [*scheduler._near.values(), *scheduler._far.values()]
    return sum(map(sys.getsizeof, held))


@pytest.mark.parametrize("step", [0, MS, SECOND, HOUR])
def test_moving_one_record_for_ever_keeps_memory_bounded(clock: CountingClock, due: Due, step: int) -> None:
    scheduler, item, most = Scheduler(clock, due), Record(), 0
    for n in range(50_000):
        scheduler.schedule(item, clock.monotonic_ns() + n % 5000 * step)
        if not n % 500:
            most = max(most, tables(scheduler))

    assert most < 700_000


def test_memory_follows_the_live_records_down(clock: CountingClock, due: Due) -> None:
    scheduler, items = Scheduler(clock, due), [Record() for _ in range(100_000)]
    for n, item in enumerate(items):
        scheduler.schedule(item, (1 + n % 2 * n) * HOUR)
    full = tables(scheduler)
    for item in items[10:]:
        scheduler.cancel(item)

    assert tables(scheduler) < 20_000 < full


def test_a_delivered_record_is_held_by_nobody(clock: CountingClock) -> None:
    scheduler, item = Scheduler(clock, lambda item: None), Record()
    before = sys.getrefcount(item)
    scheduler.schedule(item, SECOND)
    clock.advance(2 * SECOND)

    assert sys.getrefcount(item) == before


@pytest.mark.parametrize("factory", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def test_on_a_real_loop_all_come_and_none_early(factory: Callable[[], asyncio.AbstractEventLoop]) -> None:
    async def main() -> list[int]:
        clock, done, early = LoopClock(asyncio.get_running_loop()), asyncio.Event(), []

        def on_due(item: Record) -> None:
            early.append(clock.monotonic_ns() - item.due)
            if len(early) == 3000:
                done.set()

        scheduler = Scheduler(clock, on_due)
        start = clock.monotonic_ns()
        for n in range(3000):
            scheduler.schedule(Record(n), start + n * 7919 % 100 * MS)
        await asyncio.wait_for(done.wait(), 20)
        return early

    with asyncio.Runner(loop_factory=factory) as runner:
        assert min(runner.run(main())) >= 0
