"""Faults that need a process of their own behind real sockets: it ends, or stands still."""

from __future__ import annotations

import os
import time

from wireproof.mutants.throttr.server.mutant import mutant
from wireproof.protocols.errors import MalformedFrameError
from wireproof.reference_server.throttr.session import ThrottrSession

__all__ = ["MUTANTS"]

STANDSTILL = 0.4
"""Seconds."""


class _Fatal(ThrottrSession):
    """Ends the process where bytes cannot be framed."""

    def _break_off(self, error: MalformedFrameError) -> None:
        os._exit(70)


class _Blocking(ThrottrSession):
    """Waits for the rest of a request and lets nobody else be served meanwhile."""

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._tail:
            time.sleep(STANDSTILL)


# fmt: off
MUTANTS = (
    mutant("process-ends-at-nonsense", "The process ends when bytes cannot be framed.", "ROBUSTNESS-1", "ROBUSTNESS-2", "ROBUSTNESS-12",
           "ROBUSTNESS-13", session=_Fatal, live=True),
    mutant("process-waits-for-the-rest", "The process stands still for 400 ms where a request is not whole.", "ROBUSTNESS-19", "ROBUSTNESS-3",
           session=_Blocking, live=True),
)
# fmt: on
