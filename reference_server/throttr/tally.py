"""INFO's counts: requests by type and bytes, in total and in the last full minute.

Each connection has its own counts; `State.settle` adds them here before they are read.
"""

from __future__ import annotations

from wireproof.protocols.throttr import RequestType
from wireproof.reference_server.throttr.minutes import Minutes

__all__ = ["Tally", "no_requests"]


def no_requests() -> list[int]:
    """Return a count of 0 for each request type, by its byte."""
    return [0] * (max(RequestType) + 1)


class Tally:
    """Counts by request type byte, and bytes."""

    __slots__ = (
        "_before", "_minute", "_minutes", "closed_read", "closed_written", "last", "last_read", "last_written", "read",
        "totals", "written",
    )  # fmt: skip

    def __init__(self, minutes: Minutes) -> None:
        self.totals = no_requests()
        """Requests since the server started."""
        self.read, self.written = 0, 0
        """Bytes since the server started."""
        self.closed_read, self.closed_written = 0, 0
        """The part of them from closed connections."""
        self.last = no_requests()
        """Requests of the last full minute."""
        self.last_read, self.last_written = 0, 0
        """Bytes of the last full minute."""
        self._minutes = minutes
        self._minute = minutes.index
        self._before = (no_requests(), 0, 0)

    def roll(self) -> None:
        """End the counted minute; called once `Minutes.index` has changed and before anything is counted."""
        if self._minutes.index == self._minute + 1:
            totals, read, written = self._before
            self.last = [now - before for now, before in zip(self.totals, totals, strict=True)]
            self.last_read, self.last_written = self.read - read, self.written - written
        else:
            self.last, self.last_read, self.last_written = no_requests(), 0, 0
        self._before = (self.totals.copy(), self.read, self.written)
        self._minute = self._minutes.index
