"""A moment by which something must have happened, moved often and cheaply: one timer, looked at when it wakes."""

from __future__ import annotations

from collections.abc import Callable

from reference_server.clock import Clock, Timer

__all__ = ["Deadline"]


class Deadline:
    """Calls `missed` once its moment is there and was not moved."""

    __slots__ = ("_clock", "_missed", "_timer", "_wakes_at", "_when")

    def __init__(self, clock: Clock, missed: Callable[[], object]) -> None:
        self._clock, self._missed = clock, missed
        self._timer: Timer | None = None
        self._when: int | None = None
        self._wakes_at = 0

    def set(self, when_ns: int) -> None:
        """Move the moment, monotonic ns."""
        self._when = when_ns
        if self._timer is None:
            self._arm(when_ns)
        elif when_ns < self._wakes_at:
            self._timer.cancel()
            self._arm(when_ns)

    def clear(self) -> None:
        """Expect nothing any more."""
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
        if self._clock.monotonic_ns() < self._when:
            self._arm(self._when)
        else:
            self._when = None
            self._missed()
