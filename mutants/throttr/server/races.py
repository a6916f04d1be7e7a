"""Servers whose requests take time, so that those of other connections come between."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from wireproof.mutants.server import HandlerPatch
from wireproof.mutants.throttr.server.patches import both, with_handler
from wireproof.protocols.errors import MalformedFrameError
from wireproof.protocols.frames import FrameContext
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


def changes(request: object, change: Change) -> bool:
    """Say whether a request changes a quota in this way."""
    return isinstance(request, Update) and (request.attribute, request.change) == (Attribute.QUOTA, change)


def finishing(kind: type[Request], finish: Callable[[Any, Any, Any], bool]) -> HandlerPatch:
    """Call `finish(state, request, what it remembers)` when a request that took its time is done.

    Then it is handled as always, unless `finish` says that it did all there is to do: it is answered 01.
    """

    def make(correct: Handler, state: State) -> Handler:
        def handle(request: Any, session: Any, now: int) -> bytes:
            begun, session.begun = session.begun, None
            if begun is not None and finish(state, request, begun):
                return ACCEPTED
            return correct(request, session, now)

        return handle

    return with_handler(kind, make)


class HesitantSession(ThrottrSession):
    """A connection that asks `Crowd.begins` about each request, and takes its time where it remembers something."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.begun: Any = None
        """What the request in hand remembers of its beginning."""
        self._waiting = bytearray()
        self._hesitates = self._half_closed = self._unframed = False

    def data_received(self, data: bytes) -> None:
        """See `Session`."""
        self._waiting += data
        self._go_on()

    def eof_received(self) -> None:
        """See `Session`."""
        self._half_closed = True
        self._go_on()

    def _go_on(self) -> None:
        while self._waiting and not (self._hesitates or self.closed):
            frame, request = self._next()
            if not frame:
                break
            begun = self._crowd.begins(self, request) if request is not None else None
            if begun is None:
                super().data_received(frame)
            else:
                self._hesitate(frame, begun)
        if self._half_closed and not (self._hesitates or self.closed):
            super().eof_received()

    @property
    def _crowd(self) -> Crowd:
        assert isinstance(self._state, Crowd)
        return self._state

    def _next(self) -> tuple[bytes, Request | None]:
        """Take the next request, or all that waits where it is none; nothing when it is not whole."""
        data, request, stop = bytes(self._waiting), None, len(self._waiting)
        if not self._unframed:
            try:
                request, stop = self._dispatch.decode(data, 0, len(data), FrameContext(self._max_frame))
            except MalformedFrameError:
                self._unframed = True
            else:
                stop = stop if request is not None else 0
        del self._waiting[:stop]
        return data[:stop], request

    def _hesitate(self, frame: bytes, begun: Any) -> None:
        self._hesitates = True
        clock = self._crowd.clock
        clock.call_at(clock.monotonic_ns() + MILLISECOND, lambda: self._do(frame, begun))

    def _do(self, frame: bytes, begun: Any) -> None:
        self._hesitates = False
        if not self.closed:
            self.begun = begun
            super().data_received(frame)
            self._go_on()


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
