"""What a server remembers that a right one need not: who stored a record, what was asked in vain, what came before."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wireproof.mutants.throttr.server.mutant import HandlerPatch
from wireproof.mutants.throttr.server.patches import with_handler
from wireproof.protocols.messages import Request
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import Handler, State

__all__ = ["Remembering", "eating_again", "keeping", "own"]


class Remembering(State):
    """Notes by key: the id of the connection that asked."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.owners: dict[bytes, bytes] = {}
        self.asked: dict[bytes, bytes] = {}
        self.gone: dict[bytes, bytes] = {}


def keeping(notes: str, kinds: Iterable[type[Request]], if_answered: bytes) -> HandlerPatch:
    """Note the key of each request of `kinds` that is answered so."""

    def make(correct: Handler, state: State) -> Handler:
        def handle(request: Any, session: ThrottrSession, now: int) -> bytes:
            answer = correct(request, session, now)
            if answer == if_answered:
                getattr(state, notes)[request.key] = session.id
            return answer

        return handle

    return with_handler(tuple(kinds), make)


def own(key: bytes, session: ThrottrSession, state: State) -> bool:
    """Say whether this connection stored the record."""
    assert isinstance(state, Remembering)
    return state.owners.get(key) == session.id


def eating_again(kind: type[Request]) -> HandlerPatch:
    """Take the byte behind a request for its own when one of its kind came before it in the same segment."""

    def make(correct: Handler, state: State) -> Handler:
        last: dict[ThrottrSession, bytes] = {}

        def handle(request: Any, session: ThrottrSession, now: int) -> bytes:
            again, last[session] = last.get(session) is session._data, session._data
            answer = correct(request, session, now)
            session._at += again
            return answer

        return handle

    return with_handler(kind, make)
