"""When a beacon is due, on a machine on which timers run late."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from wireproof.protocols import protocol
from wireproof.reference_server.psrt.feed import Feed
from wireproof.reference_server.psrt.rules import Rules

SECOND = 1_000_000_000
MS = SECOND // 1000


class LateClock:
    """A clock that a test sets, which runs no timer by itself."""

    def __init__(self) -> None:
        self.now = 0
        self.due = 0

    def monotonic_ns(self) -> int:
        return self.now

    def call_at(self, when_ns: int, callback: Any) -> Any:
        self.due = when_ns
        return SimpleNamespace(cancel=lambda: None)


def feed(clock: LateClock, written: list[bytes]) -> Feed:
    psrt = protocol("psrt")
    state: Any = SimpleNamespace(
        clock=clock,
        codec=psrt.codec(psrt.profiles["1"], "standard"),
        options={"data_queue": 10},
        limits=SimpleNamespace(push_limit=1000, high_water=100),
        rules=Rules(),
        touched=[],
    )
    return Feed(state, 2, written.append, lambda: None)


def woken(one: Feed, clock: LateClock, at: int) -> int:
    """Wake it; return when it wants to be woken next."""
    clock.now = at
    one.wake()
    return clock.due


def test_a_late_timer_does_not_delay_the_beacon_after_a_message_by_a_whole_interval() -> None:
    clock, written = LateClock(), list[bytes]()
    one = feed(clock, written)
    clock.now = 1 * MS
    one.push(b"message")
    one.flush()

    assert woken(one, clock, SECOND + 2 * MS) == SECOND + 1 * MS
    woken(one, clock, SECOND + 3 * MS)
    assert written == [b"message", b"\0"]


def test_beacons_that_a_stalled_server_missed_are_not_made_up() -> None:
    clock, written = LateClock(), list[bytes]()
    one = feed(clock, written)

    assert woken(one, clock, 5 * SECOND) == 6 * SECOND
    assert written == [b"\0"]


def test_beacons_follow_each_other_by_the_interval_though_timers_are_late() -> None:
    clock, written = LateClock(), list[bytes]()
    one = feed(clock, written)

    assert woken(one, clock, SECOND + 5 * MS) == 2 * SECOND
    assert woken(one, clock, 2 * SECOND + 5 * MS) == 3 * SECOND
    assert len(written) == 2


def test_a_reader_that_is_held_is_looked_at_again_after_an_interval() -> None:
    clock, written = LateClock(), list[bytes]()
    one = feed(clock, written)
    one.pause()

    assert woken(one, clock, SECOND) == 2 * SECOND
    assert written == []
