"""Time, injected: the one place of the reference servers that asks what time it is.

`LoopClock` is real time on an asyncio or uvloop loop, `VirtualClock` is time that moves only when told to. The rule
both keep: a callback never runs before its instant, and never inside the `call_at` that asked for it. Instants given
to `call_at` are on the `monotonic_ns` scale; `wall_ns` is only for what a peer is shown. Importing creates nothing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Protocol

__all__ = ["Clock", "LoopClock", "Timer", "VirtualClock"]

NS_PER_MS = 1_000_000
LONGEST_SLEEP_NS = 3_600_000 * NS_PER_MS
"""Loops refuse or clip very long delays; a timer further away than this is armed again on the way."""

Callback = Callable[[], object]


class Timer(Protocol):
    """What `call_at` returns."""

    def cancel(self) -> None:
        """Forget the callback; harmless when it has run already."""


class Clock(Protocol):
    """Two scales in integer nanoseconds, and a way to be called back."""

    def monotonic_ns(self) -> int:
        """Nanoseconds since an arbitrary start; never goes back."""

    def wall_ns(self) -> int:
        """Nanoseconds since the Unix epoch; may be stepped."""

    def call_at(self, when_ns: int, callback: Callback) -> Timer:
        """Run `callback` once `monotonic_ns() >= when_ns`; if that is past, as soon as others had a turn."""


class LoopClock:
    """Real time on `loop`. Callbacks come up to about 1 ms late, never early; past instants in the next iteration."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Arms nothing and does not start the loop."""
        self._loop = loop

    monotonic_ns = staticmethod(time.monotonic_ns)
    wall_ns = staticmethod(time.time_ns)

    def call_at(self, when_ns: int, callback: Callback) -> Timer:
        """See `Clock.call_at`; any int will do, however far away."""
        return _LoopTimer(self._loop, when_ns, callback)


class _LoopTimer:
    """Loop timers are floats, and whole milliseconds on uvloop: round up, look again on waking, re-arm when early."""

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
    """Time that stands still until `advance`: same calls, same callbacks, same order, and nobody sleeps."""

    def __init__(self, start_wall_ns: int = 1_750_000_000 * 1_000_000_000, start_monotonic_ns: int = 0) -> None:
        """The two starts, ns; the defaults are fixed so that runs can be compared byte for byte."""
        self._now_ns = start_monotonic_ns
        self._wall_offset_ns = start_wall_ns - start_monotonic_ns
        self._timers: list[tuple[int, int, _VirtualTimer]] = []
        self._made = 0

    def monotonic_ns(self) -> int:
        """Now; inside a callback, the instant the callback was due."""
        return self._now_ns

    def wall_ns(self) -> int:
        """Now, since the Unix epoch; keeps step with `monotonic_ns`."""
        return self._now_ns + self._wall_offset_ns

    def call_at(self, when_ns: int, callback: Callback) -> Timer:
        """See `Clock.call_at`; a past instant runs in the next `advance`, or in this one if called from a callback."""
        timer = _VirtualTimer(callback)
        self._made += 1
        heappush(self._timers, (max(when_ns, self._now_ns), self._made, timer))
        return timer

    def advance(self, ns: int) -> None:
        """Let `ns` pass (see `advance_to`); 0 runs what is due now."""
        self.advance_to(self._now_ns + ns)

    def advance_to(self, when_ns: int) -> None:
        """Run everything due up to and including `when_ns`, by instant then by order of asking, and stop there.

        Raises ValueError when `when_ns` is past, and whatever a callback raises: time then stands at that callback.
        """
        if when_ns < self._now_ns:
            raise ValueError(f"time does not go back: asked for {when_ns} ns, it is {self._now_ns} ns")
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
