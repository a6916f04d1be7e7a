"""Mutants that need a process of their own behind real sockets: it ends."""

from __future__ import annotations

from wireproof.mutants.edits import first
from wireproof.mutants.psrt.server.mutant import ServerMutant, mutant

__all__ = ["MUTANTS"]

MUTANTS: tuple[ServerMutant, ...] = (
    mutant("process-ends-at-nonsense", "The process ends when bytes cannot be framed.",
           "ROBUSTNESS-1 ROBUSTNESS-2 ROBUSTNESS-8 FRAMING-5", first("PsrtSession.refuse", "import os; os._exit(70)"),
           live=True),
)  # fmt: skip
