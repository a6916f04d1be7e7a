"""The scheduler against a dict of instants: never early, never lost, never twice, in order, late by at most a tick."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from wireproof.fuzz.invariants.scheduler_invariants import ScheduleCheck, small_steps

DELAYS = st.one_of(
    st.integers(-5, 40),
    st.integers(-(10**7), 5000),
    st.integers(0, 2**26),
    st.sampled_from([0, 1, 1023, 1024, 2048, 2**64 * 3600 * 10**9]),
)
WHICH = st.integers(0, 11)


class Machine(RuleBasedStateMachine):
    """Any sequence of schedule, cancel, advance, with operations landing between slices and inside `on_due`."""

    check: ScheduleCheck | None = None

    @initialize(tick=st.sampled_from([1, 2, 5, 16, 1000]), items=st.integers(1, 9), start=st.integers(0, 3000))
    def begin(self, tick: int, items: int, start: int) -> None:
        self.steps = small_steps()
        self.steps.__enter__()
        self.check = ScheduleCheck(tick=tick, items=items, start=start)

    def teardown(self) -> None:
        self.steps.__exit__(None, None, None)

    @rule(which=WHICH, delay=st.none() | DELAYS)
    def apply(self, which: int, delay: int | None) -> None:
        self.check.apply(which, delay)

    @rule(which=WHICH, other=WHICH, delay=st.none() | DELAYS)
    def when_due(self, which: int, other: int, delay: int | None) -> None:
        self.check.when_due(which, other, delay)

    @rule(which=WHICH, delay=st.none() | DELAYS, at=DELAYS, hops=st.integers(0, 6))
    def between_slices(self, which: int, delay: int | None, at: int, hops: int) -> None:
        self.check.between_slices(which, delay, at, hops)

    @rule(ns=DELAYS.filter(lambda ns: ns >= 0))
    def advance(self, ns: int) -> None:
        self.check.advance(ns)

    @invariant()
    def both_hold_the_same(self) -> None:
        if self.check is not None:
            self.check.compare()


TestAgainstNaiveModel = Machine.TestCase
TestAgainstNaiveModel.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
