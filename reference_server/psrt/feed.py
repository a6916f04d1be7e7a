"""An attached data socket: messages in order, beacons in silence, and a limit for slow readers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from wireproof.protocols.psrt.replies import Beacon
from wireproof.reference_server.clock import Timer

if TYPE_CHECKING:
    from wireproof.reference_server.psrt.state import State

__all__ = ["Feed"]

HALF_SECOND_NS = 500_000_000


class Feed:
    """What is sent on a data socket after its token was accepted."""

    def __init__(
        self, state: State, timeout_s: int, write: Callable[[bytes], None], too_slow: Callable[[], None]
    ) -> None:
        """`timeout_s` is the client's timeout; half of it, at least half a second, is between beacons (P18)."""
        self._state, self._write, self._too_slow = state, write, too_slow
        self._most: int = state.options["data_queue"]
        self._most_bytes = state.limits.push_limit
        self._high_water = state.limits.high_water
        self._beacon = state.codec.encode(Beacon())
        self.interval_ns = self.interval(timeout_s)
        self._waiting: list[bytes] = []
        self._size = 0
        self._is_held = self._is_over = False
        self._last = self._tick = state.clock.monotonic_ns()
        self._due = self._last + self.interval_ns
        self._timer: Timer = state.clock.call_at(self._due, self.wake)

    def interval(self, timeout_s: int) -> int:
        """Return the nanoseconds of silence after which a beacon is due."""
        return max(timeout_s, 1) * HALF_SECOND_NS

    def push(self, frame: bytes) -> None:
        """Queue a message; it is written once the current request is answered.

        A reader after which too many messages or bytes wait is closed; a single message may have any size.
        """
        if self._is_over:
            return
        if len(self._waiting) >= self._most or (self._waiting and self._size + len(frame) > self._most_bytes):
            self.flush()
            if self._waiting:
                self._too_slow()
                return
        if not self._waiting:
            self._state.touched.append(self)
        self._waiting.append(frame)
        self._size += len(frame)
        if self._size > self._high_water:
            self.flush()

    def flush(self) -> None:
        """Write the queued messages, unless the write buffer is full."""
        if self._waiting and not (self._is_held or self._is_over):
            data = b"".join(self._waiting)
            self._waiting.clear()
            self._size = 0
            self._last = self._state.clock.monotonic_ns()
            self._write(data)

    def pause(self) -> None:
        """Hold messages: the write buffer is full."""
        self._is_held = True

    def resume(self) -> None:
        """Write again: the write buffer has room."""
        self._is_held = False
        self.flush()

    def stop(self) -> None:
        """Send nothing more."""
        self._is_over = True
        self._waiting.clear()
        self._timer.cancel()

    def wake(self) -> None:
        """Send a beacon after enough silence, and set the timer again."""
        is_silent = self._due - self._last >= self.interval_ns
        if is_silent and not self._is_held:
            self._last = self._due  # not the present: a late timer must not delay the next beacon
            self._write(self._beacon)
        self._due = self.next_look(self._state.clock.monotonic_ns())
        self._timer = self._state.clock.call_at(self._due, self.wake)

    def next_look(self, now: int) -> int:
        """Return the instant, monotonic ns, at which a beacon may be due next (P17)."""
        if self._state.rules.beacon_by_silence:
            due, spoken = self._last + self.interval_ns, self._last != self._due
            # after a message it is due then, however late the timer is; beacons that were missed are not made up
            return due if due > now or (spoken and due > self._due) else now + self.interval_ns
        while self._tick <= now:
            self._tick += self.interval_ns
        return self._tick
