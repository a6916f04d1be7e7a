"""Faults that need a process of their own behind real sockets: it ends, or meets who does not read."""

from __future__ import annotations

import os

from wireproof.mutants.psrt.server.mutant import ServerMutant, mutant
from wireproof.reference_server.psrt.session import PsrtSession

__all__ = ["MUTANTS"]


class _Fatal(PsrtSession):
    """Ends the process where bytes cannot be framed."""

    def refuse(self, why: str) -> None:
        """See `PsrtSession`."""
        os._exit(70)


class _EndsSession(PsrtSession):
    """Ends the session of who is too slow."""

    def too_slow(self) -> None:
        """See `PsrtSession`."""
        client = self.client
        super().too_slow()
        for one in list(self.state.sessions):
            if one.client is client:
                one.end()


class _Burns(PsrtSession):
    """Takes no other data socket of who was too slow."""

    def too_slow(self) -> None:
        """See `PsrtSession`."""
        client = self.client
        super().too_slow()
        if client is not None:
            client.is_spent = True


MUTANTS: tuple[ServerMutant, ...] = (
    mutant("process-ends-at-nonsense", "The process ends when bytes cannot be framed.", "ROBUSTNESS-1", "ROBUSTNESS-2",
          "ROBUSTNESS-8", "FRAMING-5", session=_Fatal, live=True),
    mutant("slow-reader-ends-its-session", "Who reads too slowly loses its control socket, too.", "MESSAGE-14",
          "MESSAGE-15", session=_EndsSession, live=True),
    mutant("slow-reader-burns-its-token", "Who read too slowly gets no other data socket.", "MESSAGE-15",
          profiles=("1",), session=_Burns, live=True),
)  # fmt: skip
