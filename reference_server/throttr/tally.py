"""INFO's counts: requests by type and bytes, in total and in the last full minute."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from protocols.messages import Request
from reference_server.throttr.minutes import Minutes

__all__ = ["READ", "WRITTEN", "Tally"]

READ: Literal["read"] = "read"
WRITTEN: Literal["written"] = "written"
Counted = type[Request] | Literal["read", "written"]

FEW = 12
"""Up to here a loop is faster than `Counter.update`."""


def count(counts: Counter[Counted], requests: Sequence[Request]) -> None:
    """Add `requests` to `counts`, by type."""
    if len(requests) <= FEW:
        for request in requests:
            counts[type(request)] += 1
    else:
        counts.update(map(type, requests))


class Tally:
    """Counts by request type and, under `READ` and `WRITTEN`, bytes."""

    __slots__ = ("_before", "_last", "_minute", "_minutes", "closed_read", "closed_written", "totals")

    def __init__(self, minutes: Minutes) -> None:
        self.totals: Counter[Counted] = Counter()
        """Everything since the server started."""
        self.closed_read, self.closed_written = 0, 0
        """The part of the bytes whose connections are gone."""
        self._minutes = minutes
        self._minute = minutes.index
        self._before: Counter[Counted] = Counter()
        self._last: Counter[Counted] = Counter()

    def roll(self) -> None:
        """Close the minute counted in: whoever counts calls this once `Minutes.index` has moved, before counting."""
        follows = self._minutes.index == self._minute + 1
        self._last = self.totals - self._before if follows else Counter()
        self._before = self.totals.copy()
        self._minute = self._minutes.index

    def requests(self) -> int:
        """All requests since the server started."""
        return sum(self.totals.values()) - self.totals[READ] - self.totals[WRITTEN]

    def requests_last_minute(self) -> int:
        """All requests of the last full minute."""
        return sum(self._last.values()) - self._last[READ] - self._last[WRITTEN]

    def last_minute(self, kind: Counted) -> int:
        """What was counted of `kind` in the last full minute."""
        return self._last[kind]
