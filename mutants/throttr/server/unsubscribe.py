"""Faults in UNSUBSCRIBE: which subscriptions it ends, and whose."""

from __future__ import annotations

from typing import Any

from wireproof.mutants.throttr.server.mutant import mutant
from wireproof.mutants.throttr.server.patches import with_answer, with_handler
from wireproof.mutants.throttr.server.subscriptions import GONE, SESSION_ID, but_accepted, keeping
from wireproof.protocols.throttr.requests import Unsubscribe
from wireproof.reference_server.throttr.channels import Channels
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import ACCEPTED, DENIED, Handler, State

__all__ = ["MUTANTS"]


class _ForEverybody(Channels):
    """Ending a subscription ends those of all others to the channel."""

    def remove(self, name: bytes, session: ThrottrSession) -> bool:
        """See `Channels`."""
        if not super().remove(name, session):
            return False
        for other in self.of(name) if name != b"*" else ():
            super().remove(name, other.session)
        return True

    def leave(self, session: ThrottrSession) -> None:
        """See `Channels`."""
        for name in list(session.subscriptions):
            Channels.remove(self, name, session)


def _only_from_the_first(correct: Handler, state: State) -> Handler:
    def handle(request: Any, session: ThrottrSession, now: int) -> bytes:
        asked = [name for name in session.subscriptions if name != b"*" and len(name) != SESSION_ID]
        if request.channel in asked[1:]:
            return ACCEPTED
        return correct(request, session, now)

    return handle


def _for_another(correct: Handler, state: State) -> Handler:
    def handle(request: Any, session: ThrottrSession, now: int) -> bytes:
        answer = correct(request, session, now)
        if answer == DENIED:
            for held in state.channels.of(request.channel)[:1]:
                state.channels.remove(request.channel, held.session)
        return answer

    return handle


# fmt: off
MUTANTS = (
    mutant("unsubscribe-answers-twice", "UNSUBSCRIBE is answered with two bytes.", "UNSUBSCRIBE-4",
           handlers=with_answer(Unsubscribe, lambda answer, ask: answer * 2)),
    mutant("unsubscribe-status-inverted", "UNSUBSCRIBE is answered with 00 on success.", "UNSUBSCRIBE-4", "UNSUBSCRIBE-5", "FRAMING-5",
           handlers=with_answer(Unsubscribe, lambda answer, ask: bytes([1 - answer[0]]))),
    mutant("unsubscribe-without-effect", "UNSUBSCRIBE is answered with 01 and ends nothing.", "UNSUBSCRIBE-5", *GONE,
           handlers=with_handler(Unsubscribe, but_accepted)),
    mutant("unsubscribe-only-from-the-first", "UNSUBSCRIBE ends only the first subscription the connection made.", "UNSUBSCRIBE-5", *GONE,
           handlers=with_handler(Unsubscribe, _only_from_the_first)),
    mutant("unsubscribe-for-everybody", "UNSUBSCRIBE ends everybody's subscriptions to the channel.", "UNSUBSCRIBE-6", "PUSH-4",
           state=keeping(_ForEverybody)),
    mutant("unsubscribe-for-another", "UNSUBSCRIBE from a channel not held ends the oldest subscription to it.", "UNSUBSCRIBE-6", "PUSH-4",
           handlers=with_handler(Unsubscribe, _for_another)),
)  # fmt: skip
# fmt: on
