"""Faults that need a process of their own behind real sockets: it ends, stands still, or meets who does not read."""

from __future__ import annotations

import os
import time

from reference_server.psrt.faults.fault import Fault, fault
from reference_server.psrt.faults.messages import fed_by
from reference_server.psrt.feed import Feed
from reference_server.psrt.session import PsrtSession

__all__ = ["FAULTS"]

STANDSTILL = 0.4
"""Seconds."""


class _Fatal(PsrtSession):
    """Ends the process where bytes cannot be framed."""

    def refuse(self, why: str) -> None:
        """See `PsrtSession`."""
        os._exit(70)


class _Blocking(PsrtSession):
    """Waits for the rest of a request and lets nobody else be served meanwhile."""

    def data_received(self, data: bytes) -> None:
        """See `PsrtSession`."""
        super().data_received(data)
        if self.connection is not None and self.connection.buffered:
            time.sleep(STANDSTILL)


class _Skipping(Feed):
    """Leaves messages out for who is too slow."""

    def push(self, frame: bytes) -> None:
        """See `Feed`."""
        if not self._is_held or len(self._waiting) < self._most:
            super().push(frame)


class _Stalling(Feed):
    """Stands still until who is too slow has read something."""

    def push(self, frame: bytes) -> None:
        """See `Feed`."""
        if self._is_held:
            time.sleep(STANDSTILL)
        super().push(frame)


class _EndsSession(PsrtSession):
    """Ends the session of who is too slow."""

    def too_slow(self) -> None:
        """See `PsrtSession`."""
        client = self.client
        super().too_slow()
        for one in list(self.state.sessions):
            if one.client is client:
                one.end()


class _Burns(PsrtSession):
    """Takes no other data socket of who was too slow."""

    def too_slow(self) -> None:
        """See `PsrtSession`."""
        client = self.client
        super().too_slow()
        if client is not None:
            client.is_spent = True


FAULTS: tuple[Fault, ...] = (
    fault("process-ends-at-nonsense", "The process ends when bytes cannot be framed.", "ROBUSTNESS-1", "ROBUSTNESS-2",
          "ROBUSTNESS-8", "FRAMING-5", "FRAMING-9", session=_Fatal, live=True),
    fault("process-waits-for-the-rest", "The process stands still for 400 ms where a request is not whole.",
          "ROBUSTNESS-9", "ROBUSTNESS-4", session=_Blocking, live=True),
    fault("slow-reader-left-out", "Who reads too slowly misses messages.", "MESSAGE-13", session=fed_by(_Skipping),
          live=True),
    fault("slow-reader-ends-its-session", "Who reads too slowly loses its control socket, too.", "MESSAGE-14",
          "MESSAGE-15", session=_EndsSession, live=True),
    fault("slow-reader-burns-its-token", "Who read too slowly gets no other data socket.", "MESSAGE-15",
          profiles=("1",), session=_Burns, live=True),
    fault("slow-reader-stalls-everybody", "Who does not read makes everybody wait.", "MESSAGE-16", "MESSAGE-14",
          session=fed_by(_Stalling), live=True),
)  # fmt: skip
