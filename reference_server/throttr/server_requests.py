"""Handlers of INFO, CONNECTIONS, CONNECTION, WHOAMI, and EVENT, which carries another request."""

from __future__ import annotations

from itertools import islice
from typing import Any

from wireproof.protocols.errors import MalformedFrameError
from wireproof.protocols.messages import Request
from wireproof.protocols.throttr.codec import MAX_NESTING
from wireproof.protocols.throttr.enums import RequestType
from wireproof.protocols.throttr.replies import (
    ConnectionRow,
    ConnectionsFragment,
    ConnectionsReply,
    InfoReply,
    WhoamiReply,
)
from wireproof.protocols.throttr.requests import ConnectionById, ConnectionByIndex, Connections, Event, Info, Whoami
from wireproof.reference_server.throttr.fragments import cut
from wireproof.reference_server.throttr.listings import row_size
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import ACCEPTED, DENIED, Handlers, State

__all__ = ["VERSION", "ServerRequests"]

(
    INSERT, QUERY, UPDATE, PURGE, SET, GET, LIST, INFO, STAT, STATS, SUBSCRIBE, UNSUBSCRIBE, PUBLISH, CONNECTIONS,
    CONNECTION, CHANNELS, CHANNEL, WHOAMI, EVENT,
) = RequestType  # fmt: skip

VERSION = b"wireproof-0.1".ljust(16, b"\0")
UNIX_PORT = 13579
"""The port in the row of a UNIX socket, with the address 127.0.0.1 (4.6)."""
CLIENT, TCP, UNIX = 0, 0, 1

ROW_COUNTS = (
    INSERT, SET, QUERY, GET, UPDATE, PURGE, LIST, INFO, STAT, STATS, PUBLISH, SUBSCRIBE, UNSUBSCRIBE, CONNECTIONS,
    CONNECTION, CHANNELS, CHANNEL, WHOAMI,
)  # fmt: skip
"""The request totals of a connection row, in its order."""
INFO_COUNTS = (
    INSERT, QUERY, UPDATE, PURGE, GET, SET, LIST, INFO, STATS, STAT, SUBSCRIBE, UNSUBSCRIBE, PUBLISH, CHANNEL,
    CHANNELS, WHOAMI, CONNECTION, CONNECTIONS,
)  # fmt: skip
"""The pairs (total, per minute) of INFO, in its order."""


class ServerRequests:
    """The handlers of requests about the server and its connections; `handlers` are those for requests in an EVENT."""

    def __init__(self, state: State, handlers: Handlers) -> None:
        self._state = state
        self._handlers = handlers
        self._row_size = row_size(state, ConnectionRow)

    def handlers(self) -> Handlers:
        """Return request class -> handler."""
        return {
            Info: self.info,
            Connections: self.connections,
            ConnectionByIndex: self.connection_by_index,
            ConnectionById: self.connection_by_id,
            Whoami: self.whoami,
            Event: self.event,
        }

    def info(self, request: Info, session: ThrottrSession, now: int) -> bytes:
        """Answer the 52 counts of the server, this request included, and its version."""
        state, tally, store = self._state, self._state.tally, self._state.store
        state.settle()
        store.purge_due(now)
        counts: list[int] = []
        for kind in INFO_COUNTS:
            counts += (tally.totals[kind], tally.last[kind])
        keys, buffers = len(store), store.buffers
        fields: tuple[Any, ...] = (
            state.clock.wall_ns() // 1_000_000_000,
            sum(tally.totals),
            sum(tally.last),
            *counts,
            *self._traffic(),
            keys,
            keys - buffers,
            buffers,
            (keys - buffers) * state.value_size,
            store.buffer_bytes,
            state.channels.subscriptions,
            len(state.channels),
            state.running_since,
            len(state.sessions),
            VERSION,
        )
        return state.codec.encode(InfoReply(*fields))

    def _traffic(self) -> tuple[int, int, int, int]:
        """Return bytes read and written, each in total and in the last full minute, as the profile counts (4.5)."""
        rules, tally = self._state.rules, self._state.tally
        read, written = tally.read, tally.written
        if not rules.bytes_of_closed_connections:
            read, written = read - tally.closed_read, written - tally.closed_written
        if not rules.bytes_per_minute:
            return read, 0, written, 0
        return read, tally.last_read, written, tally.last_written

    def connections(self, request: Connections, session: ThrottrSession, now: int) -> bytes:
        """Answer a row for each open connection, oldest first."""
        self._state.settle()
        rows = ((self._row_size, self._row(one)) for one in self._state.sessions.values())
        return self._state.codec.encode(ConnectionsReply(tuple(ConnectionsFragment(*part) for part in cut(rows))))

    def connection_by_index(self, request: ConnectionByIndex, session: ThrottrSession, now: int) -> bytes:
        """Answer the row at a position in CONNECTIONS, from 0; 00 if there is none (T5)."""
        self._state.settle()
        found = next(islice(self._state.sessions.values(), request.index, None), None)
        return DENIED if found is None else self._state.codec.encode(self._row(found))

    def connection_by_id(self, request: ConnectionById, session: ThrottrSession, now: int) -> bytes:
        """Answer the row of the connection with an id; 00 if there is none (T5)."""
        self._state.settle()
        found = self._state.sessions.get(request.id)
        return DENIED if found is None else self._state.codec.encode(self._row(found))

    def _row(self, session: ThrottrSession) -> ConnectionRow:
        peer, counts = session.peer, session.counts
        unix = peer.family == "unix"
        host, port = ("127.0.0.1", UNIX_PORT) if unix else (peer.host, peer.port)
        return ConnectionRow(
            session.id,
            CLIENT,
            UNIX if unix else TCP,
            6 if ":" in host else 4,
            host.encode("ascii", "replace")[:16].ljust(16, b"\0"),
            port,
            session.connected_at,
            session.read_bytes,
            session.written_bytes,
            session.published_bytes,
            session.received_bytes,
            0,
            0,
            *(counts[kind] for kind in ROW_COUNTS),
        )

    def whoami(self, request: Whoami, session: ThrottrSession, now: int) -> bytes:
        """Answer the id of the connection."""
        return self._state.codec.encode(WhoamiReply(session.id))

    def event(self, request: Event, session: ThrottrSession, now: int) -> bytes:
        """Answer 01 and the answer to the request inside; 00 unless there is exactly one whole request inside (T36)."""
        inner, levels = self._unwrap(request)
        answer = DENIED if inner is None else self._handlers[type(inner)](inner, session, now)
        return ACCEPTED * levels + answer

    def _unwrap(self, event: Event) -> tuple[Request | None, int]:
        """Return the innermost request, or None if a level has none, and the number of levels that have one."""
        state, levels = self._state, 0
        while levels < MAX_NESTING:
            try:
                inner = state.codec.whole_request(event.payload)
            except MalformedFrameError:
                return None, levels
            state.tally.totals[event.payload[0]] += 1
            levels += 1
            if not isinstance(inner, Event):
                return inner, levels
            event = inner
        return None, levels
