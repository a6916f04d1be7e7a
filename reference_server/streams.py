"""TCP and UNIX stream transports: bytes between a socket and a `Session`. They know no protocol."""

# Strategy
#
# A session is synchronous and unbounded in itself; the transport bounds what a peer can cost.
#
# Slow readers. Above `high_water` unsent bytes asyncio calls `pause_writing`. Then the server neither reads from the
# peer nor works for it: its requests stay in its own socket buffer, and TCP pushes back. `resume_writing` reads on and
# lets the session answer what is pending, which may fill the buffer and pause it again.
#
# Closing. close() on a socket with unread input sends RST, and the peer's kernel may then discard answers that it has
# not read yet. So a connection is half-closed first: everything written is sent, then FIN, and input is read and
# dropped until the peer closes, too. A peer that never closes, or takes nothing, would hold a descriptor forever: every
# `linger` seconds `_watch` compares the unsent bytes, and aborts if none was sent or none is left.
# If the peer has sent its FIN already, nothing can be unread, and the plain close is enough.
#
# Half-closed peers. A peer may end its side directly after its requests and still expects the answers. `eof_received`
# therefore keeps the transport open; the session answers and calls `close`.
#
# TLS. `SecurableProtocol` is used only if the server has a certificate, so that other connections pay nothing for it.
# asyncio's `start_tls` cannot be given bytes that the protocol has already read, and a client may send its ClientHello
# in the same segment as the request for TLS. So TLS runs over memory buffers (`tls.ServerTls`): the session passes
# those bytes to `Peer.secure` and sees only plaintext afterwards. The handshake begins in the next iteration, when
# the session has finished its answer to the request, and it has a deadline. The end of the stream may come inside TLS
# (close_notify), from the socket, or from both, and counts once.

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from dataclasses import replace
from typing import cast

from wireproof.reference_server.log_limiter import LogLimiter
from wireproof.reference_server.service import Limits, Peer, Service, Session, Write
from wireproof.reference_server.tls import ServerTls, TlsError

__all__ = ["SecurableProtocol", "StreamConnections", "StreamProtocol"]

log = logging.getLogger(__name__)


class StreamConnections:
    """The open connections of one server, on TCP and UNIX sockets."""

    def __init__(self, service: Service, limits: Limits, maximum: int, tls: ssl.SSLContext | None = None) -> None:
        self.service = service
        self.tls = tls
        """The context for sessions that switch to TLS; None without a certificate."""
        self.limits = limits
        self.maximum = maximum
        self.open: dict[StreamProtocol, None] = {}
        self.rejections = LogLimiter(log)

    def protocol(self, listener: str = "") -> StreamProtocol:
        """Return the protocol of a new connection; the factory for `create_server`."""
        found = StreamProtocol(self) if self.tls is None else SecurableProtocol(self, self.tls)
        found.listener = listener
        return found

    def close_idle(self, now: float) -> None:
        """Close every connection that sent nothing for the idle timeout; `now` is the loop's time in seconds."""
        for protocol in list(self.open):
            if now - protocol.last_read >= self.limits.idle_timeout:
                log.info("%s: idle, closing", protocol.peer)
                protocol.close()

    def cut(self) -> None:
        """Abort every connection."""
        for protocol in list(self.open):
            protocol.transport.abort()


class StreamProtocol(asyncio.Protocol):
    """One stream connection."""

    transport: asyncio.Transport
    session: Session | None = None
    listener = ""
    """See `Peer.listener`."""

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
        """Begin a session, or abort the connection if too many are open."""
        self.transport = transport = cast(asyncio.Transport, transport)
        connections = self._connections
        if len(connections.open) >= connections.maximum:
            connections.rejections.warn(f"rejected a connection: {len(connections.open)} are open")
            self._closing = True
            transport.abort()
            return
        connections.open[self] = None
        transport.set_write_buffer_limits(high=connections.limits.high_water)
        peer, write = self._peer_and_write(transport)
        self.peer = replace(peer, listener=self.listener)
        self.session = connections.service.connect(self.peer, write, self.close)
        log.debug("%s: connected", self.peer)

    def _peer_and_write(self, transport: asyncio.Transport) -> tuple[Peer, Write]:
        """Return the peer of the session, and how the session writes."""
        return _peer(transport), transport.write

    def data_received(self, data: bytes) -> None:
        """Pass what was read to the session; drop it once the session has closed."""
        if self._watches_idleness:
            self.last_read = self._loop.time()
        if not self._closing:
            assert self.session is not None
            self.session.data_received(data)

    def eof_received(self) -> bool:
        """Let the session answer and close; return whether the transport stays open until then."""
        self._ended = True
        if self._closing:
            return False
        assert self.session is not None
        self.session.eof_received()
        return not self._closing

    def pause_writing(self) -> None:
        """Stop reading from a peer that does not read its answers."""
        if not self._closing and self.session is not None:
            self.transport.pause_reading()
            self.session.pause_writing()

    def resume_writing(self) -> None:
        """Read on, and let the session answer what is pending."""
        if not self._closing and self.session is not None:
            self._resume(self.session)

    def _resume(self, session: Session) -> None:
        """Resume both; the session may fill the buffer and pause again."""
        self.transport.resume_reading()
        session.resume_writing()

    def close(self) -> None:
        """Send everything written, then close; does nothing if the connection is closing."""
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
        """Abort if the peer took nothing since the last call, or took everything and still does not close."""
        unsent = self.transport.get_write_buffer_size()
        if unsent in (0, self._unsent) and self._unsent >= 0:
            self.transport.abort()
        elif self in self._connections.open:
            self._unsent = unsent
            self._timer = self._loop.call_later(self._connections.limits.linger, self._watch)

    def connection_lost(self, exc: Exception | None) -> None:
        """End the session, and cancel the timer that refers to it."""
        self._closing = True
        if self._timer is not None:
            self._timer.cancel()
        if self._connections.open.pop(self, self) is None:
            log.debug("%s: disconnected%s", self.peer, f" ({exc})" if exc else "")
        if self.session is not None:
            self.session.connection_lost()


class SecurableProtocol(StreamProtocol):
    """A stream connection whose session may switch to TLS."""

    def __init__(self, connections: StreamConnections, context: ssl.SSLContext) -> None:
        super().__init__(connections)
        self._context = context
        self._tls: ServerTls | None = None
        self._early = b""
        self._deadline: asyncio.TimerHandle | None = None

    def _peer_and_write(self, transport: asyncio.Transport) -> tuple[Peer, Write]:
        peer = _peer(transport)
        return (replace(peer, secure=self._secure) if peer.family == "tcp" else peer), self._send

    def _send(self, data: bytes) -> None:
        if self._tls is None:
            self.transport.write(data)
        else:
            self._tls.send(data)

    def _secure(self, first: bytes) -> None:
        """Begin the handshake with `first`, which was read already, once the session has returned."""
        self._tls = ServerTls(self._context, self.transport.write)
        self._deadline = self._loop.call_later(self._connections.limits.handshake, self._give_up, "handshake timed out")
        self._early = first
        self._loop.call_soon(self._decrypt, b"")

    def data_received(self, data: bytes) -> None:
        """Pass what was read to the session, decrypted after a switch to TLS."""
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
        """Handle the end of the stream once, whether TLS, the socket or both report it; see `StreamProtocol`."""
        return super().eof_received() if not self._ended else not self._closing

    def _give_up(self, why: str) -> None:
        """End the session and close: nothing can be sent inside TLS."""
        log.info("%s: TLS: %s, closing", self.peer, why)
        if self.session is not None:
            self.session.connection_lost()
        self.close()

    def close(self) -> None:
        """End the stream inside TLS, then close; see `StreamProtocol`."""
        if self._tls is not None and not self._closing:
            self._tls.close()
        super().close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the deadline and end the session."""
        if self._deadline is not None:
            self._deadline.cancel()
        super().connection_lost(exc)


def _peer(transport: asyncio.Transport) -> Peer:
    sock: socket.socket = transport.get_extra_info("socket")
    if sock.family not in (socket.AF_INET, socket.AF_INET6):
        return Peer("unix", "", 0)
    name: tuple[str, int] = transport.get_extra_info("peername") or ("0.0.0.0", 0)
    return Peer("tcp", name[0], name[1])
