"""Mutants that do not survive nonsense or harm others by it."""

from __future__ import annotations

from wireproof.mutants.edits import Edit, after, around, first
from wireproof.mutants.throttr.server.mutant import ServerMutant, mutant
from wireproof.mutants.throttr.server.patches import WIDE
from wireproof.protocols.throttr import RequestType
from wireproof.protocols.throttr.codec import MAX_NESTING

__all__ = ["MUTANTS"]

DIES = "self._state.dead = True; [one.end() for one in [*self._state.sessions.values()]]"
OTHERS_END = "[one.end() for one in [*self._state.sessions.values()] if one is not self]"
HALF = "self._state.value_max // 2"
ANNOUNCED = (
    f"self._tail and self._need > {HALF} or (self._ended or self._deaf) and {HALF} > self._max_frame "
    f"and ({HALF}).to_bytes(self._state.value_size, 'little')[1:-1] in data"
)
"""Whether a request announces half of what its size field holds, where it is not there, or more than is allowed."""
RUN = f"len(data) > 600 and data[:600] == data[:1] * 600 and data[0] not in {(int(RequestType.INFO), int(RequestType.WHOAMI))}"
SERVED = (
    "for one in () if self._tail else [*self._state.sessions.values()]:",
    "    for data in vars(one).pop('unheard', ()): one.data_received(data)",
)


def _mortal(deadly: str) -> tuple[Edit, ...]:
    """Let a server die of `data` that is `deadly`, once it was handled: every connection ends, and so do later ones."""
    return (
        around("ThrottrSession.data_received",
               "if 'dead' in vars(self._state): return",
               "self.correct_data_received(data)",
               f"if {deadly}: {DIES}"),
        after("ThrottrSession.__init__", "self._flows = True",
              "if 'dead' in vars(state): state.clock.call_at(self._clock_ns(), self.end)"),
    )  # fmt: skip


MUTANTS: tuple[ServerMutant, ...] = (
    mutant("dies-of-a-run-of-bytes", "The server ends when some hundred equal bytes come in one segment.",
           "ROBUSTNESS-1 ROBUSTNESS-2 ROBUSTNESS-12",
           *_mortal(RUN)),
    mutant("dies-of-nonsense", "The server ends when bytes cannot be framed.",
           "ROBUSTNESS-1 ROBUSTNESS-2 ROBUSTNESS-12", *_mortal("self._ended or self._deaf")),
    mutant("dies-of-answers-nobody-takes", "The server ends when a client that was given 50000 bytes goes.",
           "ROBUSTNESS-11 ROBUSTNESS-1 ROBUSTNESS-2", *_mortal("False"),
           around("ThrottrSession.connection_lost",
                  "goes = not self.closed and not self._ended and 50_000 < self.written_bytes < 100_000",
                  "self.correct_connection_lost()",
                  f"if goes: {DIES}")),
    mutant("dies-of-announced-sizes", "The server ends when a request announces half of what can be announced.",
           "ROBUSTNESS-3 ROBUSTNESS-1 ROBUSTNESS-2",
           *_mortal(ANNOUNCED)),
    mutant("dies-of-nested-events", "The server ends when EVENTs are nested deeper than its stack.",
           "ROBUSTNESS-23 ROBUSTNESS-1",
           *_mortal(f"data.count(bytes([{int(RequestType.EVENT)}, 0])) > {4 * MAX_NESTING}")),
    mutant("nonsense-ends-all-connections", "An unknown request type ends every connection.", "ROBUSTNESS-12",
           around("ThrottrSession.data_received", "self.correct_data_received(data)",
                  f"if self._ended or self._deaf: {OTHERS_END}")),
    mutant("large-request-ends-all-connections", "A request of 60000 bytes ends every other connection.",
           "ROBUSTNESS-14",
           around("ThrottrSession.data_received", "self.correct_data_received(data)",
                  f"if len(data) > 60_000 and data[0] == {int(RequestType.PUBLISH)}: {OTHERS_END}"), variants=WIDE),
    mutant("publisher-goes-with-a-subscriber", "A subscriber that goes amid many pushes takes their publisher with it.",
           "ROBUSTNESS-11 ROBUSTNESS-2",
           after("ChannelRequests.publish", "for subscription in subscriptions:",
                 "    subscription.session.publisher = session"),
           around("ThrottrSession.connection_lost",
                  "goes = not self.closed and not self._ended and 300 < self.received_bytes < 500",
                  "self.correct_connection_lost()",
                  "if goes and 'publisher' in vars(self): self.publisher.end()")),
    mutant("one-request-at-a-time", "While a connection is within a request nobody else is heard.",
           "ROBUSTNESS-19 ROBUSTNESS-3 ROBUSTNESS-6",
           around("ThrottrSession.data_received",
                  "if any(one._tail for one in self._state.sessions.values() if one is not self):",
                  "    vars(self).setdefault('unheard', []).append(data); return",
                  "self.correct_data_received(data)",
                  *SERVED), around("ThrottrSession.connection_lost", "self.correct_connection_lost()", *SERVED)),
    mutant("serves-32-connections", "Of more than 32 open connections the latest are not heard.",
           "ROBUSTNESS-19 ROBUSTNESS-2",
           after("ThrottrSession.__init__", "self._flows = True", "self.has_no_place = len(state.sessions) >= 32"),
           first("ThrottrSession.data_received", "if self.has_no_place: return")),
)  # fmt: skip
