"""The scheduler's contract, sentence by sentence: instants, order, moves, callbacks, the one timer, the real loop.

What it costs is in test_scheduler_bounds.py; test_scheduler_model.py holds it all against a naive model.
"""

import asyncio
from collections.abc import Callable

import pytest
import uvloop

from tests.reference_server.scheduling import HOUR, MS, SECOND, TICK, CountingClock, Due, Record
from wireproof.reference_server.clock import LoopClock
from wireproof.reference_server.scheduler import Scheduler


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


def test_due_records_come_by_instant_and_ties_by_when_they_were_filed(clock: CountingClock, due: Due) -> None:
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


@pytest.mark.parametrize("later", [1, TICK, SECOND, HOUR, 2**64 * HOUR])
@pytest.mark.parametrize("first", [TICK, 30 * SECOND])
def test_raising_due_moves_a_record_later(clock: CountingClock, due: Due, first: int, later: int) -> None:
    scheduler, item, start = Scheduler(clock, due, tick_ns=1), Record("raised"), clock.monotonic_ns()
    scheduler.schedule(Record("before"), start + first + later - 1)
    scheduler.schedule(item, start + first)
    item.due = start + first + later
    scheduler.schedule(Record("behind"), start + first + later + 1)

    clock.advance(first + later - 1)
    not_yet = due.names
    clock.advance(2)

    assert (not_yet, due.names) == (["before"], ["before", "raised", "behind"])


def test_a_record_moved_later_may_be_moved_back_and_cancelled(clock: CountingClock, due: Due) -> None:
    scheduler, (a, b), start = Scheduler(clock, due, tick_ns=1), map(Record, "ab"), clock.monotonic_ns()
    for item in (a, b):
        scheduler.schedule(item, start + SECOND)
        scheduler.schedule(item, start + HOUR)
    scheduler.schedule(a, start + 2 * SECOND)
    scheduler.cancel(b)

    clock.advance(2 * HOUR)

    assert due == [("a", start + 2 * SECOND)]
    assert b.bucket is None


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


def test_close_while_a_span_is_split_forgets_its_records(
    clock: CountingClock, due: Due, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wireproof.reference_server.scheduler.CHUNK", 1)
    scheduler, items = Scheduler(clock, due, tick_ns=1, slice_items=1), [Record(n) for n in range(10)]
    clock.advance(HOUR)
    for item in items:
        scheduler.schedule(item, clock.monotonic_ns())
    clock.call_at(0, scheduler.close)
    clock.advance(1)

    assert (due, [item.bucket for item in items]) == ([], [None] * 10)


@pytest.mark.parametrize("limit", ["tick_ns", "slice_ns", "slice_items"])
def test_limits_start_at_one(clock: CountingClock, limit: str) -> None:
    with pytest.raises(ValueError, match="limits start at 1"):
        Scheduler(clock, print, **{limit: 0})


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
    monkeypatch.setattr("wireproof.reference_server.scheduler.CHUNK", 1)
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


def test_what_is_overdue_is_known_while_its_span_is_split(
    clock: CountingClock, due: Due, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wireproof.reference_server.scheduler.CHUNK", 1)
    scheduler, known = Scheduler(clock, due, tick_ns=1, slice_items=1), list[int]()

    def look() -> None:
        known.append(len(due) + len(scheduler.overdue(clock.monotonic_ns())))
        if len(due) < 10:
            clock.call_at(0, look)

    clock.advance(HOUR)
    for n in range(10):
        scheduler.schedule(Record(n), clock.monotonic_ns())
    clock.call_at(0, look)
    clock.advance(1)

    assert len(known) > 10
    assert set(known) == {10}


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
