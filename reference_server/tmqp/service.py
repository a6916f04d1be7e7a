"""A TMQP server: connects state, handlers and sessions; made by `wireproof.reference_server.registry`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from typing import Any

from wireproof.protocols.profile import Profile
from wireproof.reference_server.clock import Clock
from wireproof.reference_server.options import chosen
from wireproof.reference_server.service import Close, Ids, Limits, Peer, Service, Trace, Write
from wireproof.reference_server.tmqp.direct import Direct
from wireproof.reference_server.tmqp.handshake import Handshake
from wireproof.reference_server.tmqp.messaging import Messaging
from wireproof.reference_server.tmqp.operations import Operations
from wireproof.reference_server.tmqp.options import OPTIONS
from wireproof.reference_server.tmqp.patch import Patch
from wireproof.reference_server.tmqp.queue_operations import QueueOperations
from wireproof.reference_server.tmqp.routing import Routing
from wireproof.reference_server.tmqp.rules import RULES
from wireproof.reference_server.tmqp.session import TmqpSession
from wireproof.reference_server.tmqp.state import Handlers, State
from wireproof.reference_server.tmqp.tracing import traced

__all__ = ["TmqpService", "create"]


class TmqpService(Service):
    """One server under one profile."""

    def __init__(self, state: State, trace: Trace | None = None, patch: Patch | None = None) -> None:
        self.state = state
        self._session = TmqpSession if patch is None else patch.session
        correct = _handlers(state)
        handlers = correct.copy()
        if patch is not None and patch.handlers is not None:
            handlers |= patch.handlers(correct.copy(), state)
        if patch is not None and patch.is_of_handlers:
            self.touched = frozenset(one.NAME for one in handlers if handlers[one] is not correct.get(one))
        self.handlers = handlers if trace is None else traced(handlers, trace)
        self._names = count(1)

    def connect(self, peer: Peer, write: Write, close: Close) -> TmqpSession:
        """Return the session of a new connection."""
        return self._session(self.state, self.handlers, str(next(self._names)), peer, write, close)

    def close(self) -> None:
        """End every session and drop the state."""
        for session in list(self.state.sessions):
            session.connection_lost()
        self.state.close()


def create(
    profile: Profile,
    variant: str,
    *,
    clock: Clock,
    ids: Ids,
    limits: Limits,
    trace: Trace | None,
    patch: Patch | None = None,
    options: Mapping[str, Any] | None = None,
) -> TmqpService:
    """Return a server of `profile`; `patch` replaces parts of it.

    Raises ValueError for bad options, and for a config file that cannot be used.
    """
    options = chosen("tmqp", OPTIONS, options or {})
    if patch is None:
        return TmqpService(State(profile, variant, clock, ids, limits, options), trace)
    rules = replace(RULES[profile.name], **patch.rules)
    options |= patch.options
    state = patch.state(patch.patched_profile(profile), variant, clock, ids, limits, options, rules)
    return TmqpService(state, trace, patch)


def _handlers(state: State) -> Handlers:
    parts = (Handshake, Operations, QueueOperations, Messaging, Direct, Routing)
    return {kind: handler for part in parts for kind, handler in part(state).handlers().items()}
