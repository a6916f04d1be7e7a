"""Faults of effects that others see later than their answers, and of answers older than what was told already."""

from __future__ import annotations

from typing import Any

from wireproof.mutants.throttr.server.mutant import HandlerPatch
from wireproof.mutants.throttr.server.patches import both, with_handler
from wireproof.mutants.throttr.server.races import Crowd
from wireproof.protocols.throttr import Attribute
from wireproof.protocols.throttr.requests import Insert, Purge, Query, Update
from wireproof.reference_server.throttr.records import Counter
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import ACCEPTED, Handler

__all__ = [
    "Hiding",
    "hidden_updates",
]


class Hiding(Crowd):
    """A server that keeps changes of quotas back."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._hidden: dict[bytes, tuple[Counter, int, ThrottrSession]] = {}

    def hide(self, record: Counter, before: int, session: ThrottrSession, delay: int) -> None:
        """Let a counter show what it was before, at most for `delay` ns."""
        self._hidden[record.key] = record, record.quota, session
        record.quota = before
        record.forget_answer()
        self.clock.call_at(self.clock.monotonic_ns() + delay, lambda: self.show(record.key))

    def hides_from(self, session: ThrottrSession, key: bytes, *, others: bool) -> bool:
        """Say whether a change is kept back from this connection: from all but its author, or only from him."""
        return key in self._hidden and (self._hidden[key][2] is not session) == others

    def show(self, key: bytes) -> None:
        """Let a change be seen, if one is kept back."""
        if key in self._hidden:
            record, quota, _ = self._hidden.pop(key)
            record.quota = quota
            record.forget_answer()


def hidden_updates(*, from_others: bool, delay: int) -> HandlerPatch:
    """Keep a change of a quota in a crowd back from QUERYs of others, or of its author, until anybody changes more."""

    def reading(query: Handler, state: Any) -> Handler:
        def handle(request: Query, session: ThrottrSession, now: int) -> bytes:
            crowded = state.crowded(session, request.key)
            if not (crowded and state.hides_from(session, request.key, others=from_others)):
                state.show(request.key)
            return query(request, session, now)

        return handle

    def changing(update: Handler, state: Any) -> Handler:
        def handle(request: Update, session: ThrottrSession, now: int) -> bytes:
            state.show(request.key)
            record = state.counter(request.key)
            before = record.quota if record is not None else 0
            answer = update(request, session, now)
            is_hidden = request.attribute == Attribute.QUOTA and answer == ACCEPTED and record is not None
            if state.crowded(session, request.key) and is_hidden:
                state.hide(record, before, session, delay)
            return answer

        return handle

    def ending(handler: Handler, state: Any) -> Handler:
        def handle(request: Any, session: ThrottrSession, now: int) -> bytes:
            state.crowded(session, request.key)
            state.show(request.key)
            return handler(request, session, now)

        return handle

    return both(with_handler(Query, reading), with_handler(Update, changing), with_handler((Insert, Purge), ending))
