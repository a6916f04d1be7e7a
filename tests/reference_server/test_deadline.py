"""Deadlines: moved, cleared, missed, and not held against anybody while the server itself was busy."""

from __future__ import annotations

from wireproof.reference_server.clock import VirtualClock
from wireproof.reference_server.deadline import BUSY_NS, Deadline

SECOND = 1_000_000_000


class Busy(VirtualClock):
    """Time of a loop that was busy for `lag` when a timer runs."""

    lag = 0

    def monotonic_ns(self) -> int:
        return super().monotonic_ns() + self.lag


def test_it_is_missed_once_at_its_moment() -> None:
    clock, missed = VirtualClock(), []
    Deadline(clock, lambda: missed.append(clock.monotonic_ns())).set(SECOND)
    clock.advance(10 * SECOND)
    assert missed == [SECOND]


def test_it_can_be_moved_both_ways_and_costs_one_timer() -> None:
    clock, missed = VirtualClock(), []
    deadline = Deadline(clock, lambda: missed.append(clock.monotonic_ns()))
    for second in range(1, 1001):
        deadline.set(second * SECOND)
    assert len(clock._timers) == 1
    clock.advance(5 * SECOND)
    assert missed == []
    deadline.set(7 * SECOND)
    clock.advance(5 * SECOND)
    assert missed == [7 * SECOND]


def test_what_is_cleared_is_not_missed() -> None:
    clock, missed = VirtualClock(), []
    deadline = Deadline(clock, lambda: missed.append(1))
    deadline.set(SECOND)
    deadline.clear()
    clock.advance(2 * SECOND)
    assert missed == []
    assert clock.next_ns is None


def test_what_came_while_the_server_was_busy_is_read_first() -> None:
    clock, missed = Busy(), []
    deadline = Deadline(clock, lambda: missed.append(1))
    deadline.set(SECOND)
    clock.lag = 2 * BUSY_NS
    clock.advance(SECOND)
    assert missed == []
    deadline.set(3 * SECOND)
    clock.advance(SECOND)
    assert missed == []


def test_one_who_sent_nothing_while_the_server_was_busy_is_given_up_a_turn_later() -> None:
    clock, missed = Busy(), []
    deadline = Deadline(clock, lambda: missed.append(1))
    deadline.set(SECOND)
    clock.lag = 2 * BUSY_NS
    clock.advance(SECOND)
    clock.advance(3 * BUSY_NS)
    assert missed == [1]
