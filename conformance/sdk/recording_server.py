"""The server that a driver is checked against: the reference server in this process, with a record of what crosses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from wireproof.conformance.run.reference_target import driver_check_options
from wireproof.conformance.sdk.play.server_side import ServerSide
from wireproof.protocols import Message, Reply, Role
from wireproof.protocols import protocol as codec_of
from wireproof.protocols.codec import Codec
from wireproof.protocols.dissect import Dissection
from wireproof.protocols.links import Link
from wireproof.protocols.registry import Protocol
from wireproof.reference_server.clock import LoopClock
from wireproof.reference_server.datagrams import DatagramProtocol
from wireproof.reference_server.registry import create_service
from wireproof.reference_server.service import Limits, Peer, Service, Session, Write
from wireproof.reference_server.streams import StreamConnections

__all__ = ["Recorded", "RecordedConnection", "RecordedDatagrams", "RecordingServer", "recording_server"]

# What it is for. A driver turns what a case says into calls of an SDK. Before its SDK is judged, the driver is: does
# each command become the request that it names, and each answer the result that it carries? That needs a right server
# and both directions of every connection.
#
# Why in this process. What a call sent is looked at when its result has come. With a server of its own process that
# would need a second channel, and the two would have to be put in order. Here recording is a session around the session
# of the reference server, and a look is a function call.
#
# Why what crossed is taken in pieces. A driver is checked call by call: `take` returns what came since the last look,
# and forgets it. What an SDK sends by itself to keep a connection alive is no answer to any call, and left out.
#
# Why the kind of connection may be unknown. Where a protocol has several on one port, the first bytes show which it is.
# An SDK that sends something else first must not stop the record: its bytes are kept, and counted as not whole.
#
# Bounds. An SDK that writes without end is cut after `MOST` bytes between two looks.

LOOPBACK = "127.0.0.1"
MOST = 1 << 20
"""Bytes that an SDK may send on a connection between two looks; then the connection is cut."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """What crossed since the last look."""

    came: bytes = b""
    """What the SDK sent, without what it sends by itself to keep a line alive."""
    messages: tuple[Message, ...] = ()
    """What of it can be read."""
    went: bytes = b""
    """What the server sent."""
    replies: tuple[Reply, ...] = ()
    """What of it answers what came."""
    is_whole: bool = True
    """Whether all that came is messages."""

    def __add__(self, other: Recorded) -> Recorded:
        """Return what is in both."""
        went, replies = self.went + other.went, self.replies + other.replies
        is_whole = self.is_whole and other.is_whole
        return Recorded(self.came + other.came, self.messages + other.messages, went, replies, is_whole)


class RecordedConnection:
    """One connection of the SDK: what crossed it, and a way to say what nobody asked for."""

    def __init__(self, spoken: Protocol, codec: Codec, say: Callable[[bytes], None], cut: Callable[[], None]) -> None:
        """`say` writes to the SDK past the server, `cut` closes the connection from the server's side."""
        self._spoken, self._codec = spoken, codec
        self.say, self.cut = say, cut
        self.link: str | None = None
        """The link it is one of; None while nobody knows."""
        self._server_side: ServerSide | None = None
        self._first = b""
        self._went = bytearray()
        self._count = 0
        """Bytes that came since the last look."""

    def came(self, data: bytes) -> bool:
        """Take what the SDK sent; say whether it may send more: not an SDK that sends without end."""
        self._count += len(data)
        if self._count > MOST:
            self.cut()
            return False
        self._follow(data)
        return True

    def _follow(self, data: bytes) -> None:
        if self._server_side is None:
            self._first += data
            self.link, data = self._spoken.link_of_stream(self._first), self._first
            if self.link is None:
                return
            self._server_side = ServerSide(self._spoken.link_of(self.link), self._codec)
        self._server_side.received(data, answered=False)

    def went(self, data: bytes) -> None:
        """Take what the server sent."""
        self._went += data
        if self._server_side is not None:
            self._server_side.wrote(data)

    def take(self) -> Recorded:
        """Return what crossed since the last look."""
        went = bytes(self._went)
        self._went.clear()
        self._count = 0
        if self._server_side is None:
            return Recorded(self._first, went=went, is_whole=not self._first)
        messages = tuple(one for _, one in self._server_side.messages)
        replies = tuple(self._server_side.replies)
        self._server_side.replies.clear()
        is_whole = self._server_side.is_whole
        return Recorded(self._server_side.take(), messages, went, replies, is_whole)


class RecordedDatagrams:
    """What crossed in datagrams."""

    def __init__(self, link: Link, codec: Codec) -> None:
        self._link, self._codec = link, codec
        self._taken = Recorded()

    def crossed(self, data: bytes, answer: bytes | None) -> None:
        """Take a datagram of the SDK, and its answer."""
        dissection = Dissection(self._link, self._codec)
        dissection.feed(Role.CLIENT, data)
        dissection.feed(Role.SERVER, answer or b"")
        replies = tuple(one for one in dissection.of_server.messages if isinstance(one, Reply))
        requests, is_whole = tuple(dissection.requests), dissection.of_client.is_whole
        self._taken += Recorded(data, requests, answer or b"", replies, is_whole)

    def take(self) -> Recorded:
        """Return what crossed since the last look."""
        taken, self._taken = self._taken, Recorded()
        return taken


class RecordingServer(Service):
    """A service whose sessions are recorded, oldest first."""

    def __init__(self, service: Service, spoken: Protocol, codec: Codec) -> None:
        self._service, self._spoken, self._codec = service, spoken, codec
        self.connections: list[RecordedConnection] = []
        links = [link for link in spoken.links.values() if link.transport == "datagram"]
        self.datagrams = RecordedDatagrams(links[0], codec) if links else None
        """What crossed in datagrams; None: the protocol knows none."""
        self.port = 0

    def take(self, first: int) -> Recorded:
        """Return what crossed since the last look, on the connections from number `first` on and in datagrams."""
        taken = sum((one.take() for one in self.connections[first:]), Recorded())
        return taken if self.datagrams is None else taken + self.datagrams.take()

    def datagram(self, peer: Peer, data: bytes) -> bytes | None:
        """Answer a datagram, and record both."""
        answer = self._service.datagram(peer, data)
        if self.datagrams is not None:
            self.datagrams.crossed(data, answer)
        return answer

    def connect(self, peer: Peer, write: Write, close: Callable[[], None]) -> Session:
        """Begin a recorded session."""
        connection = RecordedConnection(self._spoken, self._codec, write, close)
        self.connections.append(connection)

        def recorded(data: bytes) -> None:
            connection.went(data)
            write(data)

        return _RecordedSession(self._service.connect(peer, recorded, close), connection)

    def close(self) -> None:
        """Close the service."""
        self._service.close()


class _RecordedSession(Session):
    """Hands on everything, and keeps what came."""

    def __init__(self, session: Session, connection: RecordedConnection) -> None:
        self._session = session
        self._connection = connection

    def data_received(self, data: bytes) -> None:
        if self._connection.came(data):
            self._session.data_received(data)

    def eof_received(self) -> None:
        self._session.eof_received()

    def connection_lost(self) -> None:
        self._session.connection_lost()

    def pause_writing(self) -> None:
        self._session.pause_writing()

    def resume_writing(self) -> None:
        self._session.resume_writing()


@asynccontextmanager
async def _datagrams(server: RecordingServer) -> AsyncIterator[None]:
    """Take datagrams, too, where the protocol knows them."""
    if server.datagrams is None:
        yield
        return
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(
        lambda: DatagramProtocol(server), local_addr=(LOOPBACK, server.port)
    )
    try:
        yield
    finally:
        transport.close()


@asynccontextmanager
async def recording_server(protocol: str, profile: str, variant: str) -> AsyncIterator[RecordingServer]:
    """Serve on a free port of the loopback; raises ValueError for a profile or variant that is not known."""
    loop = asyncio.get_running_loop()
    service = create_service(
        protocol,
        profile=profile,
        variant=variant,
        clock=LoopClock(loop),
        options=driver_check_options(protocol),
    )
    spoken = codec_of(protocol)
    server = RecordingServer(service, spoken, spoken.codec(spoken.profiles[profile], variant))
    connections = StreamConnections(server, Limits(), 1000)
    listener = await loop.create_server(connections.protocol, LOOPBACK, 0)
    server.port = listener.sockets[0].getsockname()[1]
    try:
        async with _datagrams(server):
            yield server
    finally:
        listener.close()
        connections.cut()
        await asyncio.sleep(0)
        server.close()
