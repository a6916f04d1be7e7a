"""Mutants that answer everything right and take too much for it: memory, descriptors, CPU, the time of others."""

from __future__ import annotations

from wireproof.mutants.edits import first
from wireproof.mutants.tmqp.server.mutant import ServerMutant, mutant
from wireproof.mutants.waste import keeps_others_waiting, wasteful

__all__ = ["MUTANTS"]

MUTANTS: tuple[ServerMutant, ...] = (
    *wasteful(mutant, "TmqpSession"),
    mutant("channels-stay-in-memory", "A channel that was deleted stays in memory.", "BUDGET-3",
           first("Channels.remove", r"vars(self).setdefault('kept', []).append(bytearray(b'\1') * 1600)"), live=True),
    mutant("messages-stay-in-memory", "A message that was delivered stays in memory.", "BUDGET-3",
           first("Pushing.push", r"vars(self).setdefault('kept', []).append(bytearray(b'\1') * 400)"), live=True),
    keeps_others_waiting(mutant, "TmqpSession"),
)  # fmt: skip
