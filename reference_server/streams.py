"""TCP and UNIX stream transports: bytes between a socket and a `Session`; they know no protocol.

A peer that does not take what it is given is not read from. A session that closes is half-closed first and what the
peer still sends is dropped, so that answers on their way are not lost to a reset; a peer that takes nothing for
`linger` seconds meanwhile is cut.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from dataclasses import replace
from typing import Any, cast

from wireproof.reference_server.service import Limits, Peer, Service, Session, Write
from wireproof.reference_server.tls import ServerTls, TlsError

__all__ = ["SecurableProtocol", "StreamConnections", "StreamProtocol"]

log = logging.getLogger(__name__)


class StreamConnections:
    """The open connections of one server, over any stream family."""

    def __init__(self, service: Service, limits: Limits, maximum: int, tls: ssl.SSLContext | None = None) -> None:
        self.service = service
        self.tls = tls
        """What a session can go on in, where it may."""
        self.limits = limits
        self.maximum = maximum
        self.open: dict[StreamProtocol, None] = {}

    def protocol(self) -> StreamProtocol:
        """Return the protocol of a new connection; the factory that a loop asks for."""
        return StreamProtocol(self) if self.tls is None else SecurableProtocol(self, self.tls)

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
        self.peer, write = self._met(transport)
        self.session = connections.service.connect(self.peer, write, self.close)
        log.debug("%s: connected", self.peer)

    def _met(self, transport: asyncio.Transport) -> tuple[Peer, Write]:
        """Return who the session talks to, and how it writes."""
        return _peer(transport), transport.write

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


class SecurableProtocol(StreamProtocol):
    """A stream connection whose session may go on inside TLS; apart, so that others pay nothing for it."""

    def __init__(self, connections: StreamConnections, context: ssl.SSLContext) -> None:
        super().__init__(connections)
        self._context = context
        self._tls: ServerTls | None = None
        self._early = b""
        self._deadline: asyncio.TimerHandle | None = None

    def _met(self, transport: asyncio.Transport) -> tuple[Peer, Write]:
        peer = _peer(transport)
        return (replace(peer, secure=self._secure) if peer.family == "tcp" else peer), self._send

    def _send(self, data: bytes) -> None:
        if self._tls is None:
            self.transport.write(data)
        else:
            self._tls.send(data)

    def _secure(self, first: bytes) -> None:
        """Begin the handshake; `first` was read already. It is looked at once the session is done with this."""
        self._tls = ServerTls(self._context, self.transport.write)
        self._deadline = self._loop.call_later(self._connections.limits.handshake, self._give_up, "too slow")
        self._early = first
        self._loop.call_soon(self._decrypt, b"")

    def data_received(self, data: bytes) -> None:
        """Hand what was read to the session, decrypted where it went on inside TLS."""
        if self._tls is None:
            super().data_received(data)
        else:
            self._decrypt(data)

    def _decrypt(self, data: bytes) -> None:
        tls = self._tls
        data, self._early = self._early + data, b""
        if self._closing or tls is None or not data:
            return
        try:
            plain = tls.receive(data)
        except TlsError as error:
            self._give_up(str(error))
            return
        if tls.is_established and self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        if plain:
            super().data_received(plain)
        if tls.has_ended:
            self.eof_received()

    def eof_received(self) -> bool:
        """See `StreamProtocol`; comes by TLS or by the socket, or by both, and counts once."""
        return super().eof_received() if not self._ended else not self._closing

    def _give_up(self, why: str) -> None:
        """Close without the session, which cannot be heard."""
        log.info("%s: TLS: %s, closing", self.peer, why)
        if self.session is not None:
            self.session.connection_lost()
        self.close()

    def close(self) -> None:
        """See `StreamProtocol`; the peer is told inside TLS first."""
        if self._tls is not None and not self._closing:
            self._tls.close()
        super().close()

    def connection_lost(self, exc: Exception | None) -> None:
        """See `StreamProtocol`."""
        if self._deadline is not None:
            self._deadline.cancel()
        super().connection_lost(exc)


def _peer(transport: asyncio.Transport) -> Peer:
    sock: Any = transport.get_extra_info("socket")
    if sock.family not in (socket.AF_INET, socket.AF_INET6):
        return Peer("unix", "", 0)
    name: Any = transport.get_extra_info("peername") or ("0.0.0.0", 0)
    return Peer("tcp", name[0], name[1])
