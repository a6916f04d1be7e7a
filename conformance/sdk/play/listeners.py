"""The harness's side of one connection of an SDK: where it listens, the sockets opened to it, what came through them.

An SDK may open a socket for each kind of line that its protocol is spoken on; they are known by their first bytes.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Container, Sequence
from contextlib import suppress
from typing import Protocol

from wireproof.conformance.model.trace import Kind
from wireproof.conformance.sdk.play.accepted_streams import DatagramSocket, StreamSocket
from wireproof.conformance.sdk.play.greeting import GreetingAgain
from wireproof.conformance.sdk.play.server_side import ServerSide
from wireproof.protocols import Message
from wireproof.protocols.codec import Codec
from wireproof.protocols.registry import Protocol as Spoken
from wireproof.reference_server.service import Service, Session, Write

__all__ = ["LOOPBACK", "LinkSockets", "Listener"]

LOOPBACK = "127.0.0.1"
ATTEMPTS = 20
"""Ports that are tried until one is free for streams and for datagrams."""


class ListenerHost(Protocol):
    """What a listener reports to its owner, and asks of it."""

    spoken: Spoken
    codec: Codec

    def note(self, connection: str, kind: Kind, data: bytes = b"") -> None:
        """Write down what happened."""

    def takes(self, data: bytes) -> bool:
        """Count what came; say whether it may still come."""

    def greeter(self) -> Service:
        """Return what answers an SDK before it says that it is connected."""

    def greet(self, service: Service, write: Write) -> Session:
        """Return a session of it."""


class LinkSockets:
    """The sockets of one link, and the one of them that is looked at: the last that was turned to."""

    def __init__(self, host: ListenerHost, name: str) -> None:
        self._host, self.name = host, name
        self.endpoints: list[StreamSocket | DatagramSocket] = []
        self._current = 0

    @property
    def endpoint(self) -> StreamSocket | DatagramSocket | None:
        """The socket that is looked at; None while there is none."""
        return self.endpoints[self._current] if self.endpoints else None

    @property
    def follower(self) -> ServerSide | None:
        """What came on it."""
        return self.endpoint.follower if self.endpoint else None

    @property
    def came(self) -> bytes:
        """What came on it and was not taken yet."""
        return self.endpoint.follower.came if self.endpoint else b""

    @property
    def ended(self) -> bool:
        """Whether the SDK, or we, ended it."""
        return self.endpoint is not None and self.endpoint.ended

    @property
    def lasts(self) -> bool:
        """Whether there is something that an SDK can end."""
        return isinstance(self.endpoint, StreamSocket)

    def take(self, size: int | None = None) -> bytes:
        """Take the first `size` bytes of what came, or all."""
        return self.endpoint.follower.take(size) if self.endpoint else b""

    def write(self, data: bytes) -> None:
        """Write to the socket, if it is open."""
        if self.endpoint is not None and not self.endpoint.is_closing:
            written = self.endpoint.follower.wrote(data)
            self._host.note(self.name, Kind.SENT, written)
            self.endpoint.write(written)

    def end(self, *, reset: bool = False) -> None:
        """End the socket that is open; the SDK may have ended it already."""
        if self.endpoint is None or self.endpoint.is_closing:
            return
        self._host.note(self.name, Kind.CLOSED, b"RST" if reset else b"")
        if reset:
            self.endpoint.abort(reset=True)
        else:
            self.endpoint.close()

    @property
    def turned_away(self) -> bool:
        """Whether the SDK continues with another socket than the one that is looked at."""
        later = self.endpoints[self._current + 1 :]
        return bool(later) and (self.ended or (not self.came and any(one.follower.came for one in later)))

    def renew(self) -> bool:
        """Turn to the next socket that was opened, if there is one."""
        if self._current + 1 >= len(self.endpoints):
            return False
        self._current += 1
        return True


class Listener:
    """A listener for streams, and for datagrams where the protocol has such a link; what was opened to it."""

    def __init__(self, host: ListenerHost, name: str) -> None:
        self.host, self.name = host, name
        self.port = 0
        self.greets = False
        """Whether what an SDK asks is answered: it has not reported yet that it is connected."""
        self.is_down = False
        """Whether the case has nobody listen."""
        self.by_hand = False
        """Whether the case answers from the first byte on."""
        links = host.spoken.client_links
        self._streams = [one for one, link in links.items() if link.transport == "stream"]
        self._datagrams = next((one for one, link in links.items() if link.transport == "datagram"), None)
        self._usual = next(iter(links))
        self.lines = {"" if one == self._usual else one: self._line(one) for one in links}
        self._server: asyncio.Server | None = None
        self._greeter: Service | None = None
        self._sessions: dict[StreamSocket, Session] = {}
        self._greetings: dict[str, list[Message]] = {}
        """Link -> what the SDK asked on its first stream there before it was connected."""

    def _line(self, link: str) -> LinkSockets:
        return LinkSockets(self.host, self.name if link == self._usual else f"{self.name}.{link}")

    async def listen(self) -> None:
        """Listen, at the same port as before; raises `OSError`."""
        loop = asyncio.get_running_loop()
        for left in reversed(range(ATTEMPTS)):
            server = await loop.create_server(lambda: StreamSocket(self), LOOPBACK, self.port, reuse_address=True)
            port = server.sockets[0].getsockname()[1]
            try:
                await self._take_datagrams(port)
            except OSError:
                server.close()
                if self.port or not left:
                    raise
                continue
            self._server, self.port = server, port
            return

    async def _take_datagrams(self, port: int) -> None:
        name = self._datagrams
        if name is None or self.lines[name].endpoints:
            return
        follower = ServerSide(self.host.spoken.links[name], self.host.codec)
        loop, endpoint = asyncio.get_running_loop(), DatagramSocket(self, follower, name)
        await loop.create_datagram_endpoint(lambda: endpoint, local_addr=(LOOPBACK, port))
        self.lines[name].endpoints.append(endpoint)

    def shut(self) -> None:
        """Take no more streams."""
        if self._server is not None:
            self._server.close()
            self._server = None

    def close(self) -> None:
        """Close the listener and every socket."""
        self.shut()
        for line in self.lines.values():
            for endpoint in line.endpoints:
                endpoint.abort()
        if self._greeter is not None:
            self._greeter.close()

    def part(self) -> None:
        """Answer from now on what an SDK may say because it was asked to close."""
        for line in self.lines.values():
            for endpoint in line.endpoints:
                endpoint.part(self.host.spoken.sdk.parting)

    def secure(self, link: str, context: ssl.SSLContext) -> StreamSocket | None:
        """Begin TLS on the stream of a link; None where there is none. Raises `LocalProtocolError`."""
        endpoint = self.lines[link].endpoint
        if not isinstance(endpoint, StreamSocket) or endpoint.is_closing:
            return None
        endpoint.secure(context)
        return endpoint

    def link_of(self, first: bytes) -> str | None:
        """See `Owner`."""
        return "" if len(self._streams) == 1 else self.host.spoken.link_of_stream(first)

    def opened(self, endpoint: StreamSocket, link: str) -> ServerSide:
        """See `Owner`."""
        line = self.lines[link]
        line.endpoints.append(endpoint)
        self.host.note(line.name, Kind.OPENED)
        return ServerSide(self.host.spoken.link_of(link), self.host.codec)

    def came(self, endpoint: StreamSocket | DatagramSocket, data: bytes) -> bool:
        """See `Owner`."""
        if not self.host.takes(data):
            return False
        self.host.note(self._of(endpoint).name, Kind.RECEIVED, data)
        return True

    def went(self, endpoint: StreamSocket | DatagramSocket, data: bytes) -> None:
        """See `Owner`."""
        self.host.note(self._of(endpoint).name, Kind.SENT, data)

    def closed(self, endpoint: StreamSocket) -> None:
        """See `Owner`."""
        self.host.note(self._of(endpoint).name, Kind.ENDED)

    def greeter(self, endpoint: StreamSocket, write: Write) -> Session | None:
        """See `Owner`: before the SDK is connected all of its sockets are answered, later those it opens besides."""
        if self.by_hand or not (self.greets or (endpoint.link and endpoint is self.lines[endpoint.link].endpoints[0])):
            return None
        return self.session(endpoint, write)

    def session(self, endpoint: StreamSocket, write: Write) -> Session:
        """See `Owner`."""
        if endpoint not in self._sessions:
            self._greeter = self._greeter or self.host.greeter()
            self._sessions[endpoint] = self.host.greet(self._greeter, write)
        return self._sessions[endpoint]

    def greeted(self, endpoint: StreamSocket, asked: Sequence[Message]) -> None:
        """See `Owner`; what came first on the first stream of a link is the greeting there."""
        if self._is_first(endpoint):
            self._greetings.setdefault(endpoint.link or "", []).extend(asked)

    @property
    def once(self) -> Container[type[Message]]:
        """See `Owner`."""
        return self.host.spoken.sdk.once

    def greeting_again(self, endpoint: StreamSocket) -> GreetingAgain | None:
        """See `Owner`."""
        link = endpoint.link or ""
        if self.by_hand or self._is_first(endpoint) or not self._greetings.get(link):
            return None
        spoken = self.host.spoken
        return GreetingAgain(spoken.link_of(link), self.host.codec, self._greetings[link], spoken.sdk.own)

    def _is_first(self, endpoint: StreamSocket) -> bool:
        return endpoint is self._of(endpoint).endpoints[0]

    def parted(self) -> None:
        """See `Owner`: a server closes every socket of a client that goes."""
        for line in self.lines.values():
            for endpoint in line.endpoints:
                if isinstance(endpoint, StreamSocket):
                    with suppress(OSError):
                        endpoint.close()

    def _of(self, endpoint: StreamSocket | DatagramSocket) -> LinkSockets:
        return self.lines[endpoint.link or ""]
