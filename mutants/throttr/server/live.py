"""Mutants that need a process of their own behind real sockets: it ends, or stands still."""

from __future__ import annotations

from wireproof.mutants.edits import around, first
from wireproof.mutants.throttr.server.mutant import ServerMutant, mutant

__all__ = ["MUTANTS"]

MUTANTS: tuple[ServerMutant, ...] = (
    mutant("process-ends-at-nonsense", "The process ends when bytes cannot be framed.",
           "ROBUSTNESS-1 ROBUSTNESS-2 ROBUSTNESS-12 ROBUSTNESS-13",
           first("ThrottrSession._break_off", "import os; os._exit(70)"), live=True),
    mutant("process-waits-for-the-rest", "The process stands still for 400 ms where a request is not whole.",
           "ROBUSTNESS-19 ROBUSTNESS-3",
           around("ThrottrSession.data_received", "self.correct_data_received(data)",
                  "import time",
                  "if self._tail: time.sleep(0.4)"), live=True),
)  # fmt: skip
