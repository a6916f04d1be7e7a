"""Mutants that answer everything right and take too much for it: memory, descriptors, CPU, the time of others."""

from __future__ import annotations

from wireproof.mutants.edits import first
from wireproof.mutants.namechan.server.mutant import ServerMutant, mutant
from wireproof.mutants.waste import wasteful

__all__ = ["MUTANTS"]

MUTANTS: tuple[ServerMutant, ...] = (
    *wasteful(mutant, "NamechanSession"),
    mutant("subscriptions-stay-in-memory", "A subscription that ended stays in memory.", "BUDGET-3",
           first("LineHandlers.unsubscribe", r"vars(self).setdefault('kept', []).append(bytearray(b'\1') * 800)"), live=True),
    mutant("waits-for-slow-senders", "Who sends a request in small pieces keeps the others waiting.", "BUDGET-4",
           first("NamechanSession.data_received", "import time", "if not data.strip(b'at'): time.sleep(0.1)"), live=True),
)  # fmt: skip
