"""Waits that take no time, for tests whose servers are in the loop of their clients.

`time.monotonic` and the loops made meanwhile share a clock that jumps to the next timer as soon as nothing is left to
read or write. All that happens, happens in the order and at the times of an idle machine. No thread or process may be
waited for: the clock does not know of their work.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from wireproof.reference_server.clock import LoopClock

STILL = 0.002
"""Real seconds without anything to read or write after which nothing is on the way on loopback."""
WORK = 0.00001
"""Seconds that each round of a loop takes, so that what asks again until a time is over comes to its end."""


class Clock:
    """Seconds as `time.monotonic` gives them."""

    def __init__(self) -> None:
        self.now = time.monotonic()

    def __call__(self) -> float:
        return self.now

    def nanoseconds(self) -> int:
        return round(self.now * 1e9)


class JumpingSelector(selectors.DefaultSelector):
    """Where it would wait, time passes."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self._clock.now += WORK
        if timeout is None or timeout <= 0:
            return super().select(timeout)
        is_connected = len(self.get_map()) > 1  # more than what wakes the loop itself
        ready = super().select(min(timeout, STILL) if is_connected else 0)
        if not ready:
            self._clock.now += timeout
        return ready


@contextmanager
def virtual_time(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    """Let no loop that begins inside wait; yield the clock."""
    clock = Clock()
    began = time.time_ns() - clock.nanoseconds()
    with monkeypatch.context() as patched:
        patched.setattr(time, "monotonic", clock)
        patched.setattr(time, "monotonic_ns", clock.nanoseconds)
        patched.setattr(LoopClock, "monotonic_ns", staticmethod(clock.nanoseconds))
        patched.setattr(LoopClock, "wall_ns", staticmethod(lambda: began + clock.nanoseconds()))
        patched.setattr(asyncio.events, "new_event_loop", lambda: asyncio.SelectorEventLoop(JumpingSelector(clock)))
        yield clock
