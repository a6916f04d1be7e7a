"""Faults in WHOAMI: how it is asked and answered, and what it tells."""

from __future__ import annotations

from collections.abc import Callable

from wireproof.mutants.throttr.server.mutant import HandlerPatch, mutant
from wireproof.mutants.throttr.server.patches import Ask, changed, with_reply
from wireproof.protocols.throttr.requests import Whoami
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import ACCEPTED, State

__all__ = ["MUTANTS"]


class _Counts(State):
    """Counts those who are gone."""

    gone = 0

    def forget(self, session: ThrottrSession) -> None:
        """See `State`."""
        self.gone += 1
        super().forget(session)


def _gone(ask: Ask) -> int:
    return ask.state.gone if isinstance(ask.state, _Counts) else 0


def _told(change: Callable[[bytes, Ask], bytes]) -> HandlerPatch:
    """Let WHOAMI answer `change(id, ask)`."""
    return with_reply(Whoami, lambda reply, ask: changed(reply, id=change(reply.id, ask)))


def _plus(one: bytes, number: int) -> bytes:
    return one[:-1] + bytes([(one[-1] + number) % 256])


# fmt: off
MUTANTS = (
    mutant("whoami-as-text", "WHOAMI answers the id as 32 hexadecimal characters.", "WHOAMI-2",
           handlers=with_reply(Whoami, lambda reply, ask: reply.id.hex().encode())),
    mutant("whoami-as-text-behind-status", "WHOAMI answers the id as 32 hexadecimal characters.", "WHOAMI-3",
           handlers=with_reply(Whoami, lambda reply, ask: ACCEPTED + reply.id.hex().encode())),
    mutant("whoami-new-after-others-went", "WHOAMI answers another id once a connection has gone.", "WHOAMI-4", "WHOAMI-6", "CONNECTIONS-6",
           state=_Counts, handlers=_told(lambda one, ask: _plus(one, _gone(ask)))),
    mutant("whoami-of-the-oldest", "WHOAMI answers the id of the oldest connection.", "WHOAMI-5", "CONNECTIONS-6", "CONNECTION-11",
           handlers=_told(lambda one, ask: next(iter(ask.state.sessions)))),
)  # fmt: skip
# fmt: on
