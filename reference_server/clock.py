"""Injected time: the only module of the reference servers that reads a clock.

`LoopClock` is real time on an asyncio or uvloop loop; `VirtualClock` moves only by `advance`. For both, a callback
never runs before its instant, and never inside the `call_at` that registered it. Instants given to `call_at` are on the
`monotonic_ns` scale; `wall_ns` is only for times that a peer sees. Importing creates nothing.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from heapq import heappop, heappush
from typing import Protocol

__all__ = ["Clock", "LoopClock", "Timer", "VirtualClock"]

NS_PER_MS = 1_000_000
LONGEST_SLEEP_NS = 3_600_000 * NS_PER_MS
"""Loops reject or clip very long delays, so a longer timer is armed several times."""

LATER = 5
"""How much nicer than the loop the threads of slow work are: on busy cores the loop ran behind them."""

Callback = Callable[[], object]


class Timer(Protocol):
    """A registered callback, as `call_at` returns it."""

    def cancel(self) -> None:
        """Cancel the callback; does nothing if it has already run."""


class Clock(Protocol):
    """Two time scales in integer nanoseconds, and timers."""

    def monotonic_ns(self) -> int:
        """Return nanoseconds since an arbitrary start; never decreases."""

    def wall_ns(self) -> int:
        """Return nanoseconds since the Unix epoch; may jump."""

    def call_at(self, when_ns: int, callback: Callback) -> Timer:
        """Run `callback` once `monotonic_ns() >= when_ns`; if that is past, in the next iteration of the loop."""

    def call_after(self, work: Callback, callback: Callback) -> None:
        """Run slow `work` in a thread where time is real, and `callback` after it, where `call_at` runs callbacks."""


class LoopClock:
    """Real time on `loop`. Callbacks run up to about 1 ms late, never early."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Neither arm a timer nor start the loop."""
        self._loop = loop
        self._workers: ThreadPoolExecutor | None = None

    monotonic_ns = staticmethod(time.monotonic_ns)
    wall_ns = staticmethod(time.time_ns)

    def call_at(self, when_ns: int, callback: Callback) -> Timer:
        """Run `callback` at `when_ns`, any int; see `Clock.call_at`."""
        return _LoopTimer(self._loop, when_ns, callback)

    def call_after(self, work: Callback, callback: Callback) -> None:
        """Run `work` in one of few threads, so that a core is left for the loop; see `Clock.call_after`."""
        if self._workers is None:
            most = max(1, (os.cpu_count() or 2) - 1)
            self._workers = ThreadPoolExecutor(most, "slow-work", initializer=_run_later)
        done = self._loop.run_in_executor(self._workers, work)
        done.add_done_callback(lambda finished: finished.cancelled() or (finished.result(), callback()))

    def close(self) -> None:
        """Begin no more of the work that waits."""
        if self._workers is not None:
            self._workers.shutdown(wait=False, cancel_futures=True)


def _run_later() -> None:
    """Make this thread nicer where a thread has a niceness of its own."""
    if sys.platform == "linux":
        this = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, this, os.getpriority(os.PRIO_PROCESS, this) + LATER)


class _LoopTimer:
    """Loop timers are floats, on uvloop whole milliseconds: round up, check the time on waking, re-arm when early."""

    __slots__ = ("_callback", "_handle", "_loop", "_when_ns")

    def __init__(self, loop: asyncio.AbstractEventLoop, when_ns: int, callback: Callback) -> None:
        self._loop, self._when_ns, self._callback = loop, when_ns, callback
        self._arm(when_ns - time.monotonic_ns())

    def _arm(self, remaining_ns: int) -> None:
        if remaining_ns <= 0:
            self._handle: asyncio.Handle = self._loop.call_soon(self._wake)
        else:
            delay_ms = -(-min(remaining_ns, LONGEST_SLEEP_NS) // NS_PER_MS)
            self._handle = self._loop.call_later(delay_ms / 1000, self._wake)

    def _wake(self) -> None:
        remaining_ns = self._when_ns - time.monotonic_ns()
        if remaining_ns > 0:
            self._arm(remaining_ns)
        else:
            self._callback()

    def cancel(self) -> None:
        self._handle.cancel()


class VirtualClock:
    """Time that moves only by `advance`: the same calls give the same callbacks in the same order, without sleeping."""

    def __init__(self, start_wall_ns: int = 1_750_000_000 * 1_000_000_000, start_monotonic_ns: int = 0) -> None:
        """Start both scales, in ns; the defaults are fixed so that runs can be compared byte for byte."""
        self._now_ns = start_monotonic_ns
        self._wall_offset_ns = start_wall_ns - start_monotonic_ns
        self._timers: list[tuple[int, int, _VirtualTimer]] = []
        self._registered = 0

    def monotonic_ns(self) -> int:
        """Return the present instant in ns; inside a callback, the instant at which it was due."""
        return self._now_ns

    def wall_ns(self) -> int:
        """Return ns since the Unix epoch; advances with `monotonic_ns`."""
        return self._now_ns + self._wall_offset_ns

    def call_at(self, when_ns: int, callback: Callback) -> Timer:
        """Run `callback` at `when_ns`; if that is past, in the next `advance`, or in the current one."""
        timer = _VirtualTimer(callback)
        self._registered += 1
        heappush(self._timers, (max(when_ns, self._now_ns), self._registered, timer))
        return timer

    def call_after(self, work: Callback, callback: Callback) -> None:
        """Do both at once: here work takes no time."""
        work()
        callback()

    def advance(self, ns: int) -> None:
        """Advance by `ns` (see `advance_to`); 0 runs what is due now. Raises ValueError if `ns` is negative."""
        self.advance_to(self._now_ns + ns)

    def advance_to(self, when_ns: int) -> None:
        """Run everything due up to and including `when_ns`, by instant and then by order of registration.

        Raises ValueError if `when_ns` is past. If a callback raises, so does this, and time stops at that callback.
        """
        if when_ns < self._now_ns:
            raise ValueError(f"time does not go back: cannot advance from {self._now_ns} ns to {when_ns} ns")
        while self._timers and self._timers[0][0] <= when_ns:
            due_ns, _, timer = heappop(self._timers)
            if timer.callback is not None:
                self._now_ns = due_ns
                timer.callback()
        self._now_ns = when_ns

    @property
    def next_ns(self) -> int | None:
        """The instant of the earliest pending callback, or None when nothing is pending."""
        while self._timers and self._timers[0][2].callback is None:
            heappop(self._timers)
        return self._timers[0][0] if self._timers else None


class _VirtualTimer:
    """A pending callback; None once cancelled."""

    __slots__ = ("callback",)

    def __init__(self, callback: Callback) -> None:
        self.callback: Callback | None = callback

    def cancel(self) -> None:
        self.callback = None
