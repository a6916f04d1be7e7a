"""Mutants that answer everything right and take too much for it: memory, descriptors, CPU, the time of others."""

from __future__ import annotations

from wireproof.mutants.edits import around, first
from wireproof.mutants.throttr.server.mutant import ServerMutant, mutant
from wireproof.mutants.throttr.server.patches import WIDE
from wireproof.mutants.waste import keeps_others_waiting, wasteful

__all__ = ["MUTANTS"]

OWN_TURN = "next(iter(self._state.sessions.values()), self) is self"

MUTANTS: tuple[ServerMutant, ...] = (
    *wasteful(mutant, "ThrottrSession", "self._state"),
    keeps_others_waiting(mutant, "ThrottrSession"),
    mutant("memory-of-announced-length", "The memory of a request is taken when its length is known, before it came.",
           "ROBUSTNESS-3",
           around("ThrottrSession.data_received", "self.correct_data_received(data)",
                  r"self.room = b'\1' * min(self._need, self._max_frame) if self._tail else b''"), variants=WIDE,
           live=True),
    mutant("expired-stays-in-memory", "Expired records are gone from every answer and stay in memory.", "BUDGET-3",
           first("Store.remove", "vars(self).setdefault('kept', []).append(record)"), live=True),
    mutant("one-client-at-a-time", "Only the oldest open connection is heard; the others wait for it to end.",
           "BUDGET-4 ROBUSTNESS-19",
           around("ThrottrSession.data_received", f"if {OWN_TURN}: self.correct_data_received(data)",
                  "else: vars(self).setdefault('unheard', []).append(data)"),
           around("ThrottrSession.eof_received", f"if {OWN_TURN}: self.correct_eof_received()",
                  "else: self.is_half = True"),
           around("ThrottrSession.connection_lost", f"had_it = not self.closed and {OWN_TURN}",
                  "self.correct_connection_lost()",
                  "one = next(iter(self._state.sessions.values()), None) if had_it else None",
                  "for data in vars(one).pop('unheard', ()) if one else (): one.closed or one.correct_data_received(data)",
                  "if one and not one.closed and 'is_half' in vars(one): one.correct_eof_received()"), live=True),
)  # fmt: skip
