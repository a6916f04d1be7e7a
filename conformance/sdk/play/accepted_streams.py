"""The sockets of an SDK as the harness holds them: accepted streams, and the one that takes its datagrams."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from collections.abc import Container, Mapping, Sequence
from typing import Protocol, cast

from wireproof.conformance.sdk.play.greeting import GreetingAgain
from wireproof.conformance.sdk.play.server_side import ServerSide
from wireproof.protocols.messages import Message, Reply, Request
from wireproof.reference_server.service import Session, Write
from wireproof.reference_server.tls import ServerTls, TlsError

__all__ = ["DatagramSocket", "Owner", "StreamSocket"]

Address = tuple[str, int]


class Owner(Protocol):
    """What sockets report to the listener that they belong to, and ask of it."""

    def link_of(self, first: bytes) -> str | None:
        """Return the link that a stream's first bytes show, "" for the usual one; None while they do not."""

    def opened(self, endpoint: StreamSocket, link: str) -> ServerSide:
        """Take a stream whose link is known."""

    def came(self, endpoint: StreamSocket | DatagramSocket, data: bytes) -> bool:
        """Note what came; say whether it may still come: an SDK that sends without end is not listened to."""

    def went(self, endpoint: StreamSocket | DatagramSocket, data: bytes) -> None:
        """Note what is written without a case that says so."""

    def closed(self, endpoint: StreamSocket) -> None:
        """Take the end of a stream."""

    def greeter(self, endpoint: StreamSocket, write: Write) -> Session | None:
        """Return what answers this stream now in place of the case, if anything does."""

    def greeted(self, endpoint: StreamSocket, asked: Sequence[Message]) -> None:
        """Take what an SDK asked there before the case begins."""

    @property
    def once(self) -> Container[type[Message]]:
        """What an SDK sends once on a stream: the greeter is not asked again, and the case sees it."""

    def greeting_again(self, endpoint: StreamSocket) -> GreetingAgain | None:
        """Return what may come first on a stream that the SDK opens in place of one that it lost."""

    def session(self, endpoint: StreamSocket, write: Write) -> Session:
        """Return what answers a greeting."""

    def parted(self) -> None:
        """The SDK has announced that it ends."""


class StreamSocket(asyncio.Protocol):
    """One accepted connection."""

    transport: asyncio.Transport
    follower: ServerSide

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._first = b""
        """What came while the link was not known."""
        self.link: str | None = None
        self.ended = False
        self._session: Session | None = None
        self._is_greeted = False
        """Whether what the greeter writes goes to the SDK."""
        self._asked: set[type[Message]] = set()
        """What the greeter was asked."""
        self._again: GreetingAgain | None = None
        self._tls: ServerTls | None = None
        self.tls_error = ""
        """Why TLS failed."""

    @property
    def is_secured(self) -> bool:
        """Whether the handshake of TLS is done."""
        return self._tls is not None and self._tls.is_established

    @property
    def is_closing(self) -> bool:
        """Whether nothing can be written any more."""
        return self.transport.is_closing()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self.transport = cast(asyncio.Transport, transport)
        self._pass_on(b"")

    def data_received(self, data: bytes) -> None:
        """Take bytes."""
        if self._tls is not None:
            self._opened(data)
        else:
            self._take(data)

    def eof_received(self) -> bool:
        """Take the end of what the SDK sends for the end of both directions."""
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """The socket is gone."""
        if self.link is None:
            self._know("")
        if self._session is not None:
            self._session.connection_lost()
        self._end()

    def write(self, data: bytes) -> None:
        """Write, inside TLS where that was begun."""
        if self._tls is not None:
            self._tls.send(data)
        elif not self.is_closing:
            self.transport.write(data)

    def close(self) -> None:
        """End it with FIN."""
        if self._tls is not None:
            self._tls.close()
        self.transport.close()

    def abort(self, *, reset: bool = False) -> None:
        """End it at once, with RST where `reset` says so."""
        if reset:
            sock = self.transport.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def secure(self, context: ssl.SSLContext) -> None:
        """Begin TLS; what came already is the first of it. Raises `LocalProtocolError`."""
        early = self.follower.start_tls()
        self._tls = ServerTls(context, self.transport.write)
        if early:
            self._opened(early)

    def _opened(self, data: bytes) -> None:
        assert self._tls is not None
        try:
            inside = self._tls.receive(data)
        except TlsError as error:
            self.tls_error = str(error)
            self.transport.close()
            return
        if inside:
            self._take(inside)
        if self._tls.has_ended:
            self.close()
            self._end()

    def _take(self, data: bytes) -> None:
        if self.link is None:
            self._pass_on(data)
        else:
            self._read(data)

    def _pass_on(self, data: bytes) -> None:
        """Continue once the first bytes show the link."""
        self._first += data
        link = self._owner.link_of(self._first)
        if link is not None:
            self._know(link)

    def _know(self, link: str) -> None:
        self.link, first = link, self._first
        self.follower = self._owner.opened(self, link)
        self._again = self._owner.greeting_again(self)
        if first:
            self._read(first)

    def _read(self, data: bytes) -> None:
        if not self._owner.came(self, data):
            self.transport.abort()
            return
        session = self._owner.greeter(self, self._greet)
        if session is not None:
            self._converse(session, data)
            return
        if self._again is not None:
            greeting, data = self._again.split(data)
            if greeting:
                self._converse(self._owner.session(self, self._greet), greeting)
        if data:
            self._answer(self.follower.received(data))

    def _converse(self, session: Session, data: bytes) -> None:
        """Have a session answer in place of the case."""
        self.follower.received(data, answered=False)
        came, asked = len(self.follower.came), list[Message]()
        for _, message in self.follower.messages:
            if type(message) in self._owner.once and type(message) in self._asked:
                data = data[: max(0, len(data) - came + self.follower.size_of(len(asked)))]
                break
            asked.append(message)
            self._asked.add(type(message))
        self._owner.greeted(self, asked)
        self.follower.take_messages(len(asked))
        self._session, self._is_greeted = session, True
        session.data_received(data)
        self._is_greeted = False

    def part(self, parting: Mapping[type[Request], Reply | None]) -> None:
        """Answer from now on, and what came already, that the SDK says because it goes."""
        self._answer(self.follower.part(parting))

    def _answer(self, data: bytes) -> None:
        if data:
            self._owner.went(self, data)
            self.write(data)
        if self.follower.parted:
            self._owner.parted()

    def _greet(self, data: bytes) -> None:
        """Write what the greeter says, in answer to what came; nothing that it says by itself."""
        if self._is_greeted:
            self.follower.wrote(data)
            if self._again is not None:
                self._again.answered(data)
            self._owner.went(self, data)
            self.write(data)

    def _end(self) -> None:
        if not self.ended:
            self.ended = True
            self._owner.closed(self)


class DatagramSocket(asyncio.DatagramProtocol):
    """The socket that takes an SDK's datagrams; what is written goes to who sent the last one."""

    transport: asyncio.DatagramTransport
    ended = False

    def __init__(self, owner: Owner, follower: ServerSide, link: str) -> None:
        self._owner = owner
        self.follower = follower
        self.link: str | None = link
        self._peer: Address | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self.transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: Address) -> None:
        """Take one datagram."""
        self._peer = addr
        if self._owner.came(self, data):
            self.follower.received(data)

    @property
    def is_closing(self) -> bool:
        """Whether nothing can be written."""
        return self._peer is None or self.transport.is_closing()

    def write(self, data: bytes) -> None:
        """Send one datagram."""
        self.transport.sendto(data, self._peer)

    def close(self) -> None:
        """Take no more."""
        self.transport.close()

    def part(self, parting: Mapping[type[Request], Reply | None]) -> None:
        """Nobody says that datagrams end."""

    def abort(self, *, reset: bool = False) -> None:
        """Take no more."""
        self.transport.abort()
