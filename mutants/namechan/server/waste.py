"""Mutants that answer everything right and take too much for it: memory, descriptors, CPU, the time of others."""

from __future__ import annotations

from wireproof.mutants.edits import first
from wireproof.mutants.namechan.server.mutant import ServerMutant, mutant
from wireproof.mutants.waste import keeps_others_waiting, wasteful

__all__ = ["MUTANTS"]

MUTANTS: tuple[ServerMutant, ...] = (
    *wasteful(mutant, "NamechanSession"),
    mutant("subscriptions-stay-in-memory", "A subscription that ended stays in memory.", "BUDGET-3",
           first("LineHandlers.unsubscribe", r"vars(self).setdefault('kept', []).append(bytearray(b'\1') * 800)"), live=True),
    keeps_others_waiting(mutant, "NamechanSession"),
)  # fmt: skip
