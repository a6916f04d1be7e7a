"""Servers whose requests take time, so that those of other connections come between."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from wireproof.mutants.edits import before
from wireproof.mutants.server import HandlerPatch
from wireproof.mutants.throttr.server.patches import with_handler
from wireproof.protocols.messages import Request
from wireproof.protocols.throttr import Attribute, Change
from wireproof.protocols.throttr.requests import Insert, Purge, Query, Update
from wireproof.reference_server.throttr.records import Counter, Record
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import ACCEPTED, Handler, State

MILLISECOND = 1_000_000
LATELY = 50 * MILLISECOND
BUSY = 3
"""Uses of a record lately that make a connection busy with it."""


class Crowd(State):
    """A server that remembers for a while how often who used which record."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._used: dict[bytes, dict[bytes, deque[int]]] = {}

    def crowded(self, session: ThrottrSession, key: bytes) -> bool:
        """Note that a connection uses a record; say whether it and at least two others are busy with it."""
        now = self.clock.monotonic_ns()
        users = self._used.setdefault(key, {})
        users.setdefault(session.id, deque(maxlen=BUSY)).append(now)
        busy = {user for user, uses in users.items() if len(uses) == BUSY and now - uses[0] <= LATELY}
        return session.id in busy and len(busy) >= 3

    def held(self, key: bytes) -> Record | None:
        """Return the live record under a key."""
        return self.store.find(key, self.clock.monotonic_ns())

    def counter(self, key: bytes) -> Counter | None:
        """Return the live counter under a key."""
        record = self.held(key)
        return record if isinstance(record, Counter) else None

    def begins(self, session: ThrottrSession, request: Request) -> Any:
        """Return what a request that takes its time remembers of its beginning; None: it is done at once."""
        return None


def beginning(begins: Callable[[Any, Any], Any], *kinds: type[Request]) -> type[Crowd]:
    """Return a server on which a request of `kinds` takes its time in a crowd when `begins(state, request)` says so."""

    class Hesitant(Crowd):
        def begins(self, session: ThrottrSession, request: Request) -> Any:
            key = getattr(request, "key", None)
            if key is None or not self.crowded(session, key) or not isinstance(request, kinds):
                return None
            return begins(self, request)

    return Hesitant


def decreases(request: Update) -> bool:
    """Say whether a quota is to be decreased."""
    return (request.attribute, request.change) == (Attribute.QUOTA, Change.DECREASE)


def finishing(kind: type[Request], finish: Callable[[Any, Any, Any], bool]) -> HandlerPatch:
    """Call `finish(state, request, what it remembers)` when a request that took its time is done.

    Then it is handled as always, unless `finish` says that it did all there is to do: it is answered 01.
    """

    def make(correct: Handler, state: State) -> Handler:
        def handle(request: Any, session: Any, now: int) -> bytes:
            begun = session.in_hand
            if begun is not None and finish(state, request, begun):
                return ACCEPTED
            return correct(request, session, now)

        return handle

    return with_handler(kind, make)


HESITANT = before(
    "ThrottrSession._answer_any",
    "self._at = stop",
    "begun, clock = vars(self).pop('begun', None), self._state.clock",
    "if begun is None and (begun := self._state.begins(self, request)) is not None:",
    "    self.begun = begun; self.pause_writing()",
    "    clock.call_at(clock.monotonic_ns() + 1_000_000, lambda: self.closed or self.resume_writing())",
    "    return self._high_water + 1",
    "self.in_hand = begun",
)
"""A connection that asks `Crowd.begins` about each request, and takes its time where it remembers something."""


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

    def make(correct: Handler, state: Any) -> Handler:
        def handle(request: Any, session: ThrottrSession, now: int) -> bytes:
            is_crowded, is_query = state.crowded(session, request.key), isinstance(request, Query)
            if not (is_query and is_crowded and state.hides_from(session, request.key, others=from_others)):
                state.show(request.key)
            record = state.counter(request.key)
            before = record.quota if record is not None else 0
            answer: bytes = correct(request, session, now)
            is_change = isinstance(request, Update) and request.attribute == Attribute.QUOTA and answer == ACCEPTED
            if is_change and is_crowded and record is not None:
                state.hide(record, before, session, delay)
            return answer

        return handle

    return with_handler((Query, Update, Insert, Purge), make)
