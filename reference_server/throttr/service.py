"""A Throttr server: connects state, handlers and sessions; made by `wireproof.reference_server.registry`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from wireproof.protocols.frames import FrameContext
from wireproof.protocols.messages import Request
from wireproof.protocols.throttr import Codec
from wireproof.protocols.throttr.requests import Event, Publish
from wireproof.reference_server.patch import HandlerPatch, Patch
from wireproof.reference_server.service import Close, Peer, Service, Trace, Write
from wireproof.reference_server.throttr.channel_requests import ChannelRequests
from wireproof.reference_server.throttr.dispatch import Dispatch
from wireproof.reference_server.throttr.listings import Listings
from wireproof.reference_server.throttr.options import OPTIONS
from wireproof.reference_server.throttr.record_requests import RecordRequests
from wireproof.reference_server.throttr.rules import RULES
from wireproof.reference_server.throttr.server_requests import ServerRequests
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import Handler, Handlers, State
from wireproof.reference_server.tracing import traced

__all__ = ["ThrottrService"]


class ThrottrService(Service):
    """One server under one profile and width."""

    state_class = State
    rules = RULES
    options = OPTIONS

    def __init__(self, state: State, trace: Trace | None = None, patch: Patch | None = None) -> None:
        self.state = state
        self._session: Callable[..., ThrottrSession] = patch.session if patch and patch.session else ThrottrSession
        handlers, touched = _all_handlers(state, None if patch is None else patch.handlers)
        if patch is not None and patch.is_of_handlers:
            self.touched = touched
        calls = RecordRequests(state).calls()
        if patch is not None or trace is not None:
            calls = {}
        if trace is not None:
            handlers = traced(handlers, trace, name=_name, decoded=partial(_decoded, state.codec))
        self._dispatch = Dispatch(state.codec, handlers, calls)

    def connect(self, peer: Peer, write: Write, close: Close) -> ThrottrSession:
        """Return the session of a new connection, listed and, if the profile does so, subscribed (T35)."""
        session = self._session(self.state, self._dispatch, peer, write, close)
        self.state.sessions[session.id] = session
        if self.state.rules.auto_subscribe:
            for name in (b"*", session.id.hex().encode()):
                self.state.channels.add(name, session, session.connected_at)
        return session

    def miscounted(self) -> str:
        """See `Service.miscounted`: records, bytes of buffers, subscriptions, bytes of open connections."""
        state = self.state
        return state.store.miscounted() or state.channels.miscounted() or state.miscounted()

    def close(self) -> None:
        """End every session and drop the state."""
        for session in list(self.state.sessions.values()):
            session.connection_lost()
        self.state.store.close()


def _all_handlers(state: State, patch: HandlerPatch | None) -> tuple[Handlers, frozenset[str]]:
    """Return the handlers of every request of the profile, and the names of those that `patch` changes.

    EVENT is always among these: it carries any request.
    """
    inner: Handlers = {
        **RecordRequests(state).handlers(),
        **Listings(state).handlers(),
        **ChannelRequests(state).handlers(),
    }
    inner |= ServerRequests(state, inner).handlers()
    correct = inner.copy()
    if patch is not None:
        inner |= patch(correct.copy(), state)
    touched = {kind.NAME for kind, handler in inner.items() if handler is not correct.get(kind)} | {Event.NAME}
    outer = inner.copy()
    outer |= {kind: _after_own_pushes(inner[kind]) for kind in (Publish, Event)}
    return {request: outer[request] for request in state.codec.profile.replies}, frozenset(touched)


def _after_own_pushes(handler: Handler) -> Handler:
    """Put what a request pushes to its own connection before its answer, never inside it."""

    def handle(request: object, session: ThrottrSession, now: int) -> bytes:
        answer = handler(request, session, now)
        return session.take_own() + answer

    return handle


def _name(session: ThrottrSession) -> str:
    return session.id.hex()[:8]


def _decoded(codec: Codec, request: Request, answer: bytes) -> object:
    """Return the reply that an answer is; the bytes of a publication's or an EVENT's."""
    if isinstance(request, Event | Publish):
        return answer.hex(" ")
    return codec.replies[type(request)](answer, 0, len(answer), FrameContext(1 << 62, request=request))[0]
