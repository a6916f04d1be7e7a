"""Per-minute metrics: counts of the last full minute since the server started (T34).

No timer runs when a minute ends. Each counter compares the minute of its last count with `Minutes.index` and rolls.
"""

from __future__ import annotations

from typing import Final

__all__ = ["MINUTE_NS", "Minutes"]

MINUTE_NS: Final = 60_000_000_000


class Minutes:
    """Numbers the minutes since the server started, from 0."""

    __slots__ = ("_start_ns", "index", "next_ns")

    def __init__(self, start_ns: int) -> None:
        self._start_ns = start_ns
        self.index = 0
        self.next_ns = start_ns + MINUTE_NS
        """The end of the present minute, monotonic ns."""

    def reach(self, now_ns: int) -> None:
        """Set `index` to the minute of `now_ns`; called once `now_ns` has reached `next_ns`."""
        self.index = (now_ns - self._start_ns) // MINUTE_NS
        self.next_ns = self._start_ns + (self.index + 1) * MINUTE_NS
