"""A Throttr server: ties state, handlers and sessions together; made by `reference_server.registry`."""

from __future__ import annotations

from protocols.profile import Profile
from protocols.throttr.requests import Event, Publish
from reference_server.clock import Clock
from reference_server.service import Close, Ids, Limits, Peer, Service, Trace, Write
from reference_server.throttr.channel_requests import ChannelRequests
from reference_server.throttr.dispatch import Dispatch
from reference_server.throttr.faults import FAULTS, Fault
from reference_server.throttr.listings import Listings
from reference_server.throttr.record_requests import RecordRequests
from reference_server.throttr.server_requests import ServerRequests
from reference_server.throttr.session import ThrottrSession
from reference_server.throttr.state import Handler, Handlers, State
from reference_server.throttr.tracing import traced

__all__ = ["ThrottrService", "create"]


class ThrottrService(Service):
    """One server under one profile and width."""

    def __init__(self, state: State, trace: Trace | None = None, fault: Fault | None = None) -> None:
        self.state = state
        handlers, calls = _all_handlers(state), RecordRequests(state).calls()
        if fault is not None:
            wrong = fault.handlers(handlers, state)
            handlers |= wrong
            calls = {request: call for request, call in calls.items() if request not in wrong}
        if trace is not None:
            handlers, calls = traced(handlers, state.codec, trace), {}
        self._dispatch = Dispatch(state.codec, handlers, calls)

    def connect(self, peer: Peer, write: Write, close: Close) -> ThrottrSession:
        """See `Service`; the connection is listed, and where the profile has it so subscribed (T35), from now on."""
        session = ThrottrSession(self.state, self._dispatch, peer, write, close)
        self.state.sessions[session.id] = session
        if self.state.rules.auto_subscribe:
            for name in (b"*", session.id.hex().encode()):
                self.state.channels.add(name, session, session.connected_at)
        return session

    def close(self) -> None:
        """See `Service`."""
        for session in list(self.state.sessions.values()):
            session.connection_lost()
        self.state.store.close()


def create(
    profile: Profile, variant: str, *, clock: Clock, ids: Ids, limits: Limits, trace: Trace | None, fault: str | None
) -> ThrottrService:
    """Return a server of `profile` at the width `variant`, wrong in the way `fault` names when given."""
    return ThrottrService(State(profile, variant, clock, ids, limits), trace, FAULTS[fault] if fault else None)


def _all_handlers(state: State) -> Handlers:
    """Return the handlers of every request of the profile."""
    inner: Handlers = {
        **RecordRequests(state).handlers(),
        **Listings(state).handlers(),
        **ChannelRequests(state).handlers(),
    }
    inner |= ServerRequests(state, inner).handlers()
    outer = inner.copy()
    outer |= {kind: _after_own_pushes(inner[kind]) for kind in (Publish, Event)}
    return {request: outer[request] for request in state.codec.profile.replies}


def _after_own_pushes(handler: Handler) -> Handler:
    """Let what a request pushes to its own connection stand before its answer, never within it."""

    def handle(request: object, session: ThrottrSession, now: int) -> bytes:
        answer = handler(request, session, now)
        return session.take_own() + answer

    return handle
