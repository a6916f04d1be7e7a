"""A deadline that is moved often and cheaply: one timer, which checks the deadline when it wakes."""

from __future__ import annotations

from collections.abc import Callable

from wireproof.reference_server.clock import Clock, Timer

__all__ = ["Deadline"]

BUSY_NS = 50_000_000
"""A timer that is later than this shows that the loop was busy: pending input is read before a connection ends."""
TURN_NS = 1_000_000


class Deadline:
    """Calls `missed` once the deadline has passed without being moved."""

    __slots__ = ("_clock", "_is_put_off", "_missed", "_timer", "_wakes_at", "_when")

    def __init__(self, clock: Clock, missed: Callable[[], object]) -> None:
        self._clock, self._missed = clock, missed
        self._timer: Timer | None = None
        self._when: int | None = None
        self._wakes_at = 0
        self._is_put_off = False

    def set(self, when_ns: int) -> None:
        """Move the deadline to `when_ns` (monotonic ns)."""
        self._when = when_ns
        self._is_put_off = False
        if self._timer is None:
            self._arm(when_ns)
        elif when_ns < self._wakes_at:
            self._timer.cancel()
            self._arm(when_ns)

    def clear(self) -> None:
        """Remove the deadline."""
        self._when = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _arm(self, when_ns: int) -> None:
        self._wakes_at = when_ns
        self._timer = self._clock.call_at(when_ns, self._wake)

    def _wake(self) -> None:
        self._timer = None
        if self._when is None:
            return
        now = self._clock.monotonic_ns()
        if now < self._when:
            self._arm(self._when)
        elif now - self._wakes_at > BUSY_NS and not self._is_put_off:
            self._is_put_off = True
            self._arm(now + TURN_NS)
        else:
            self._when = None
            self._missed()
