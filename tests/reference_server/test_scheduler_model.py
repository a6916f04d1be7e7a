"""The scheduler against a dict of instants: never early, never lost, never twice, in order, late by at most a tick."""

from operator import itemgetter

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from reference_server import buckets, scheduler
from reference_server.clock import VirtualClock
from reference_server.scheduler import Bucket, Scheduler

SIZES = scheduler.CHUNK, scheduler.FEW, buckets.RUN
DELAYS = st.one_of(
    st.integers(-5, 40),
    st.integers(-(10**7), 5000),
    st.integers(0, 2**26),
    st.sampled_from([0, 1, 1023, 1024, 2048, 2**64 * 3600 * 10**9]),
)


class Record:
    """Twelve of these are scheduled, moved and cancelled."""

    __slots__ = ("bucket", "due", "name")

    def __init__(self, name: int) -> None:
        self.bucket: Bucket | None = None
        self.name, self.due = name, 0

    def __repr__(self) -> str:
        return f"r{self.name}"


class Machine(RuleBasedStateMachine):
    """Any sequence of schedule, cancel, advance, with operations landing between slices and inside `on_due`.

    Work is cut as small as it can be, so that a dozen records meet every seam a million would.
    """

    @initialize(tick=st.sampled_from([1, 2, 5, 16, 1000]), items=st.integers(1, 9), start=st.integers(0, 3000))
    def begin(self, tick: int, items: int, start: int) -> None:
        self.clock, self.tick = VirtualClock(start_monotonic_ns=start), tick
        scheduler.CHUNK, scheduler.FEW, buckets.RUN = 1, 1, 3
        self.scheduler = Scheduler(self.clock, self.on_due, tick_ns=tick, slice_items=items)
        self.records = [Record(n) for n in range(12)]
        self.model: dict[Record, tuple[int, int | None, int]] = {}
        """Record -> its instant, its place among ties (None once it was moved later), when that was asked for."""
        self.told: list[tuple[int, int | None]] = []
        self.inside: dict[Record, tuple[Record, int | None]] = {}
        self.count, self.disturbed = 0, False

    def teardown(self) -> None:
        scheduler.CHUNK, scheduler.FEW, buckets.RUN = SIZES

    def on_due(self, item: Record) -> None:
        due, order, _ = self.model.pop(item)  # KeyError: cancelled, moved or delivered before
        assert self.clock.monotonic_ns() >= due, "early"
        self.told.append((due, order))
        if item in self.inside:
            self.apply(*self.inside.pop(item))

    def apply(self, item: Record, delay: int | None) -> None:
        self.count += 1
        self.disturbed = True
        if delay is None:
            self.scheduler.cancel(item)
            self.model.pop(item, None)
        else:
            now = self.clock.monotonic_ns()
            if item not in self.model or now + delay < item.due:
                self.scheduler.schedule(item, now + delay)
                self.model[item] = (now + delay, self.count, now)
            else:
                self.move_later(item, now + delay)
                self.model[item] = (now + delay, None, now)

    def move_later(self, item: Record, when_ns: int) -> None:
        """The two ways there are."""
        if self.count % 2:
            self.scheduler.schedule(item, when_ns)
        else:
            item.due = when_ns

    @rule(which=st.integers(0, 11), delay=DELAYS)
    def schedule(self, which: int, delay: int) -> None:
        self.apply(self.records[which], delay)

    @rule(which=st.integers(0, 11))
    def cancel(self, which: int) -> None:
        self.apply(self.records[which], None)

    @rule(which=st.integers(0, 11), other=st.integers(0, 11), delay=st.none() | DELAYS)
    def when_due(self, which: int, other: int, delay: int | None) -> None:
        self.inside[self.records[which]] = (self.records[other], delay)

    @rule(which=st.integers(0, 11), delay=st.none() | DELAYS, at=DELAYS, hops=st.integers(0, 6))
    def between_slices(self, which: int, delay: int | None, at: int, hops: int) -> None:
        def hop(left: int) -> None:
            if left:
                self.clock.call_at(0, lambda: hop(left - 1))
            else:
                self.apply(self.records[which], delay)

        self.clock.call_at(self.clock.monotonic_ns() + at, lambda: hop(hops))

    @rule(ns=DELAYS.filter(lambda ns: ns >= 0))
    def advance(self, ns: int) -> None:
        self.told, self.disturbed = [], False
        self.clock.advance(ns)
        now = self.clock.monotonic_ns()

        filed = [(due, order) for due, order in self.told if order is not None]
        assert self.disturbed or (filed == sorted(filed) and self.told == sorted(self.told, key=itemgetter(0)))
        assert [r for r, (due, _, asked) in self.model.items() if max(due, asked) + self.tick <= now] == []

    @invariant()
    def what_is_overdue_is_told_exactly(self) -> None:
        if hasattr(self, "model"):
            now = self.clock.monotonic_ns()
            overdue = {r for r, (due, _, _) in self.model.items() if due <= now}
            assert sorted(r.name for r in self.scheduler.overdue(now)) == sorted(r.name for r in overdue)

    @invariant()
    def the_records_scheduled_are_those_of_the_model(self) -> None:
        if hasattr(self, "model"):
            assert {r for r in self.records if r.bucket is not None} == set(self.model)


TestAgainstNaiveModel = Machine.TestCase
TestAgainstNaiveModel.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
