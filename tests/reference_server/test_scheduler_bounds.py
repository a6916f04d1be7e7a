"""What the scheduler may cost: work comes in slices, memory follows the live records."""

import sys
from operator import attrgetter

import pytest

from tests.reference_server.scheduling import HOUR, MS, SECOND, CountingClock, Due, Record, TiringClock
from wireproof.reference_server.buckets import RUN
from wireproof.reference_server.scheduler import FEW, Scheduler


@pytest.fixture
def clock() -> CountingClock:
    return CountingClock(start_monotonic_ns=123_456_789)


@pytest.fixture
def due(clock: CountingClock) -> Due:
    return Due(clock)


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


@pytest.mark.parametrize("delay", [SECOND, HOUR])
def test_a_record_moved_later_all_the_time_is_filed_anew_once_a_delay(
    clock: CountingClock, due: Due, delay: int
) -> None:
    scheduler, item, filed = Scheduler(clock, due), Record(), 0
    scheduler.schedule(item, clock.monotonic_ns() + delay)
    bucket = item.bucket
    for _ in range(1000):
        clock.advance(delay // 100)
        scheduler.schedule(item, clock.monotonic_ns() + delay)
        filed, bucket = filed + (item.bucket is not bucket), item.bucket

    assert due == []
    assert 5 <= filed <= 40
    assert tables(scheduler) < 100_000


def test_spans_that_records_left_are_forgotten(clock: CountingClock, due: Due) -> None:
    scheduler = Scheduler(clock, due)
    for n in range(10_000):
        item = Record()
        scheduler.schedule(item, (n + 1) * HOUR)
        item.due += HOUR
        scheduler.cancel(item)

    assert tables(scheduler) < 20_000


def test_a_span_whose_records_all_moved_later_leaves_nothing(clock: CountingClock, due: Due) -> None:
    scheduler, items = Scheduler(clock, due), [Record() for _ in range(2000)]
    for n, item in enumerate(items, 1):
        scheduler.schedule(item, clock.monotonic_ns() + 30 * SECOND)
        item.due += n * HOUR
    clock.advance(31 * SECOND)
    for item in items:
        scheduler.cancel(item)

    assert due == []
    assert tables(scheduler) < 20_000


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
