"""Mutants that need a process of their own behind real sockets: it ends, or meets who does not read."""

from __future__ import annotations

from wireproof.mutants.edits import edit, first
from wireproof.mutants.psrt.server.mutant import ServerMutant, mutant

__all__ = ["MUTANTS"]

MUTANTS: tuple[ServerMutant, ...] = (
    mutant("process-ends-at-nonsense", "The process ends when bytes cannot be framed.",
           "ROBUSTNESS-1 ROBUSTNESS-2 ROBUSTNESS-8 FRAMING-5", first("PsrtSession.refuse", "import os; os._exit(70)"),
           live=True),
    mutant("slow-reader-ends-its-session", "Who reads too slowly loses its control socket, too.",
           "MESSAGE-14 MESSAGE-15",
           edit("PsrtSession.too_slow", "self.end()",
                "client = self.client; self.end(); [one.end() for one in list(self.state.sessions) if one.client is "
                "client]"), live=True),
    mutant("slow-reader-burns-its-token", "Who read too slowly gets no other data socket.", "MESSAGE-15",
           edit("PsrtSession.too_slow", "self.end()", "client = self.client; self.end(); client.is_spent = True"),
           profiles=("1",), live=True),
)  # fmt: skip
