"""Mutants that answer everything right and take too much for it: memory, descriptors, CPU, the time of others."""

from __future__ import annotations

from wireproof.mutants.edits import first
from wireproof.mutants.psrt.server.mutant import ServerMutant, mutant
from wireproof.mutants.waste import keeps_others_waiting, wasteful

__all__ = ["MUTANTS"]

MUTANTS: tuple[ServerMutant, ...] = (
    *wasteful(mutant, "PsrtSession"),
    mutant("topics-stay-in-memory", "What was unsubscribed stays in memory.", "BUDGET-3",
           first("Subscriptions.remove", r"vars(self).setdefault('kept', []).append(bytearray(b'\1') * 400)"), live=True),
    keeps_others_waiting(mutant, "PsrtSession"),
)  # fmt: skip
