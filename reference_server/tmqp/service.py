"""A TMQP server: connects state, handlers and sessions; made by `wireproof.reference_server.registry`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path

import msgspec

from wireproof.protocols.messages import Request
from wireproof.protocols.tmqp.requests import Hello
from wireproof.reference_server.service import DIALLED, Close, Peer, Service, Session, Trace, Write
from wireproof.reference_server.tmqp.config import fresh_config
from wireproof.reference_server.tmqp.direct import Direct
from wireproof.reference_server.tmqp.handshake import Handshake
from wireproof.reference_server.tmqp.messaging import Messaging
from wireproof.reference_server.tmqp.nodes import NODES, MasterSession, SlaveSession
from wireproof.reference_server.tmqp.operations import Operations
from wireproof.reference_server.tmqp.options import OPTIONS
from wireproof.reference_server.tmqp.patch import Patch
from wireproof.reference_server.tmqp.queue_operations import QueueOperations
from wireproof.reference_server.tmqp.routing import Routing
from wireproof.reference_server.tmqp.rules import RULES
from wireproof.reference_server.tmqp.session import TmqpSession
from wireproof.reference_server.tmqp.state import Handlers, State
from wireproof.reference_server.tracing import traced

__all__ = ["TmqpService"]

log = logging.getLogger(__name__)


class TmqpService(Service):
    """One server under one profile."""

    state_class = State
    rules = RULES
    options = OPTIONS

    def __init__(self, state: State, trace: Trace | None = None, patch: Patch | None = None) -> None:
        self.state = state
        self._session: Callable[..., TmqpSession] = patch.session if patch and patch.session else TmqpSession
        self._slave: Callable[..., TmqpSession] = patch.slave if patch and patch.slave else SlaveSession
        correct = _handlers(state)
        handlers, self.touched = (patch or Patch()).patched_handlers(correct, state)
        self.handlers = handlers if trace is None else traced(handlers, trace, hidden=_hidden)
        self._names = count(1)

    def connect(self, peer: Peer, write: Write, close: Close) -> Session:
        """Return the session of a new connection."""
        nodes: dict[str, Callable[..., Session]] = {NODES: self._slave, DIALLED: MasterSession}
        kind = nodes.get(peer.listener, self._session)
        return kind(self.state, self.handlers, str(next(self._names)), peer, write, close)

    @property
    def listeners(self) -> Mapping[str, int | Path]:
        """Where slaves connect, if they may."""
        path, port = self.state.options["nodes_socket"], self.state.config.nodes.port
        if path is not None:
            return {NODES: Path(path)}
        return {} if port is None else {NODES: port}

    @property
    def dials(self) -> list[tuple[str, int]]:
        """The masters."""
        found = (address.rpartition(":") for address in self.state.config.nodes.masters)
        return [(host, int(port)) for host, _, port in found]

    @property
    def can_reload(self) -> bool:
        """Whether the server has a config file."""
        return self.state.options["config"] is not None

    def reload(self) -> None:
        """Read the config file again; log an error and keep the old content if it is invalid.

        Who may do what counts for clients that connect later; routers, nodes and deliveries stay as they are.
        """
        try:
            self.state.config = fresh_config(self.state.options["config"])
        except ValueError as error:
            log.error("the config is not reloaded: %s", error)

    def miscounted(self) -> str:
        """See `Service.miscounted`: queues, and bytes of what is kept, of which more may still be let go of."""
        state = self.state
        queues = [queue for channel in state.channels.values() for queue in channel.queues.values()]
        kept = sum(queue.kept_bytes() for queue in queues)
        if len(queues) != state.queues or state.held < kept:
            return f"{state.queues} queues and {state.held} bytes are counted, {len(queues)} and {kept} are kept"
        return ""

    def close(self) -> None:
        """End every session and drop the state."""
        for session in list(self.state.sessions):
            session.connection_lost()
        self.state.close()


def _handlers(state: State) -> Handlers:
    parts = (Handshake, Operations, QueueOperations, Messaging, Direct, Routing)
    return {kind: handler for part in parts for kind, handler in part(state).handlers().items()}


def _hidden(request: Request) -> Request:
    is_secret = isinstance(request, Hello) and b"token" in request.payload.lower()
    return msgspec.structs.replace(request, payload=b"***") if is_secret else request
