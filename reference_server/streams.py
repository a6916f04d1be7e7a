"""TCP and UNIX stream transports: bytes between a socket and a `Session`; they know no protocol.

A peer that does not take what it is given is not read from. A session that closes is half-closed first and what the
peer still sends is dropped, so that answers on their way are not lost to a reset; a peer that takes nothing for
`linger` seconds meanwhile is cut.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from typing import Any, cast

from reference_server.service import Limits, Peer, Service, Session

__all__ = ["StreamConnections", "StreamProtocol"]

log = logging.getLogger(__name__)


class StreamConnections:
    """The open connections of one server, over any stream family."""

    def __init__(self, service: Service, limits: Limits, maximum: int) -> None:
        self.service = service
        self.limits = limits
        self.maximum = maximum
        self.open: dict[StreamProtocol, None] = {}

    def protocol(self) -> StreamProtocol:
        """Return the protocol of a new connection; the factory that a loop asks for."""
        return StreamProtocol(self)

    def close_idle(self, now: float) -> None:
        """Close every connection that was silent for the idle timeout; `now` is the loop's time."""
        for protocol in list(self.open):
            if now - protocol.last_read >= self.limits.idle_timeout:
                log.info("%s: idle, closing", protocol.peer)
                protocol.close()

    def cut(self) -> None:
        """Cut every connection."""
        for protocol in list(self.open):
            protocol.transport.abort()


class StreamProtocol(asyncio.Protocol):
    """One stream connection."""

    transport: asyncio.Transport
    session: Session | None = None

    def __init__(self, connections: StreamConnections) -> None:
        self._connections = connections
        self._watches_idleness = connections.limits.idle_timeout > 0
        self._loop = asyncio.get_running_loop()
        self._closing = self._ended = False
        self._unsent = -1
        self._timer: asyncio.TimerHandle | None = None
        self.peer = Peer()
        self.last_read = self._loop.time()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin a session, or turn the peer away when there are too many."""
        self.transport = transport = cast(asyncio.Transport, transport)
        connections = self._connections
        if len(connections.open) >= connections.maximum:
            log.warning("turned a connection away: %d are open", len(connections.open))
            self._closing = True
            transport.abort()
            return
        connections.open[self] = None
        transport.set_write_buffer_limits(high=connections.limits.high_water)
        self.peer = _peer(transport)
        self.session = connections.service.connect(self.peer, transport.write, self.close)
        log.debug("%s: connected", self.peer)

    def data_received(self, data: bytes) -> None:
        """Hand what was read to the session; drop it once the session has closed."""
        if self._watches_idleness:
            self.last_read = self._loop.time()
        if not self._closing:
            assert self.session is not None
            self.session.data_received(data)

    def eof_received(self) -> bool:
        """The peer sends no more: the session answers what is due and closes; the transport stays open until then."""
        self._ended = True
        if self._closing:
            return False
        assert self.session is not None
        self.session.eof_received()
        return not self._closing

    def pause_writing(self) -> None:
        """Stop reading from a peer that does not take its answers."""
        if not self._closing and self.session is not None:
            self.transport.pause_reading()
            self.session.pause_writing()

    def resume_writing(self) -> None:
        """The peer caught up: answer what waits, then read on."""
        if not self._closing and self.session is not None:
            self._resume(self.session)

    def _resume(self, session: Session) -> None:
        """Read on unless the session filled the buffer again."""
        self.transport.resume_reading()
        session.resume_writing()

    def close(self) -> None:
        """Send what was written, then close."""
        if self._closing:
            return
        self._closing = True
        if self._ended or not self.transport.can_write_eof():
            self.transport.close()
        else:
            self.transport.resume_reading()
            self.transport.write_eof()
        self._watch()

    def _watch(self) -> None:
        """Cut the peer when it took nothing since the last look, or everything and still does not close."""
        unsent = self.transport.get_write_buffer_size()
        if unsent in (0, self._unsent) and self._unsent >= 0:
            self.transport.abort()
        elif self in self._connections.open:
            self._unsent = unsent
            self._timer = self._loop.call_later(self._connections.limits.linger, self._watch)

    def connection_lost(self, exc: Exception | None) -> None:
        """Let the session go, and the timer that would hold it on."""
        self._closing = True
        if self._timer is not None:
            self._timer.cancel()
        if self._connections.open.pop(self, self) is None:
            log.debug("%s: gone%s", self.peer, f" ({exc})" if exc else "")
        if self.session is not None:
            self.session.connection_lost()


def _peer(transport: asyncio.Transport) -> Peer:
    sock: Any = transport.get_extra_info("socket")
    if sock.family not in (socket.AF_INET, socket.AF_INET6):
        return Peer("unix", "", 0)
    name: Any = transport.get_extra_info("peername") or ("0.0.0.0", 0)
    return Peer("tcp", name[0], name[1])
