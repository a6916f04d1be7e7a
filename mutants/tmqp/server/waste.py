"""Mutants that answer everything right and take too much for it: memory, descriptors, CPU, the time of others."""

from __future__ import annotations

from wireproof.mutants.edits import first
from wireproof.mutants.tmqp.server.mutant import ServerMutant, mutant
from wireproof.mutants.waste import wasteful

__all__ = ["MUTANTS"]

MUTANTS: tuple[ServerMutant, ...] = (
    *wasteful(mutant, "TmqpSession"),
    mutant("channels-stay-in-memory", "A channel that was deleted stays in memory.", "BUDGET-3",
           first("Channels.remove", r"vars(self).setdefault('kept', []).append(bytearray(b'\1') * 1600)"), live=True),
    mutant("messages-stay-in-memory", "A message that was delivered stays in memory.", "BUDGET-3",
           first("Pushing.push", r"vars(self).setdefault('kept', []).append(bytearray(b'\1') * 400)"), live=True),
    mutant("waits-for-slow-senders", "Who sends a request in small pieces keeps the others waiting.", "BUDGET-4",
           first("TmqpSession.data_received", "import time", "if not data.strip(b'at'): time.sleep(0.1)"), live=True),
)  # fmt: skip
