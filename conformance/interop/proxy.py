"""A proxy on the loopback that changes nothing: it records what crosses, both ways, before it forwards it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from wireproof.conformance.interop.datagram_proxy import DatagramListener
from wireproof.conformance.interop.proxied_connection import ProxiedConnection
from wireproof.conformance.model.targets import Address
from wireproof.conformance.model.trace import Kind, Trace, TraceEvent
from wireproof.conformance.monitor.monitor import Monitor
from wireproof.protocols import Protocol, Role
from wireproof.protocols.codec import Codec
from wireproof.protocols.dissect import Dissection

__all__ = ["Proxy", "Ways", "proxied"]

LOOPBACK = "127.0.0.1"
CHUNK = 1 << 16
PORTS = 20
"""How many free ports of TCP are tried until one is free for datagrams, too."""


@dataclass(frozen=True)
class Ways:
    """What clients of one protocol may speak through a proxy: its links, and how the first bytes tell them apart."""

    protocol: Protocol
    codec: Codec

    @property
    def streams(self) -> list[str]:
        """The links that are spoken on streams."""
        return [name for name, one in self.protocol.client_links.items() if one.transport == "stream"]

    @property
    def datagrams(self) -> str | None:
        """The link that is spoken in datagrams; None where there is none."""
        names = [name for name, one in self.protocol.client_links.items() if one.transport == "datagram"]
        return names[0] if names else None

    def dissection(self, link: str) -> Dissection:
        """Return what reads both sides of a connection on a link."""
        return Dissection(self.protocol.link_of(link), self.codec)

    def link_of_stream(self, data: bytes) -> str | None:
        """Return the link that the first bytes of a client begin; None while they do not decide it."""
        return "" if len(self.streams) == 1 else self.protocol.link_of_stream(data)


class Proxy:
    """What stands between one client and one server; times are those since it was made."""

    def __init__(self, address: Address, make_monitor: Callable[[], Monitor], ways: Ways) -> None:
        """`make_monitor` is called for each scene."""
        self.address = address
        self._make_monitor = make_monitor
        self._ways = ways
        self._began = time.monotonic()
        self._tasks: set[asyncio.Task[None]] = set()
        self._moved = asyncio.Event()
        self.name = ""
        """What connections are called that come now."""
        self.port = 0
        self.trace = Trace()
        self.monitor = make_monitor()
        self.connections: list[ProxiedConnection] = []
        self.refused: str | None = None
        """Why the server took no connection, if that happened."""

    def start_over(self) -> None:
        """Forget what crossed: another scene begins, on connections of its own."""
        self.cut()
        self.trace, self.monitor = Trace(), self._make_monitor()
        self.connections.clear()
        self.refused = None
        self._began = time.monotonic()

    def of(self, name: str) -> ProxiedConnection | None:
        """Return the connection that was made last under a name; a client may make several."""
        return next((one for one in reversed(self.connections) if one.client == name), None)

    def all_of(self, name: str, link: str) -> Collection[ProxiedConnection]:
        """Return the connections that were made under a name on a link, in order."""
        return [one for one in self.connections if one.client == name and one.link == link]

    def is_closed_by_server(self, name: str) -> bool:
        """Whether the server closed a connection of a client: on that loss the client may close its others."""
        return any(one.over in (Kind.ENDED, Kind.RESET) for one in self.connections if one.client == name)

    async def moves(self, seconds: float) -> bool:
        """Wait until something crosses; False when nothing did in time."""
        self._moved.clear()
        try:
            await asyncio.wait_for(self._moved.wait(), seconds)
        except TimeoutError:
            return False
        return True

    def cut(self) -> None:
        """End every connection."""
        for one in self.connections:
            for writer in one.writers:
                writer.close()

    async def close(self) -> None:
        """End every connection and wait until nothing runs any more."""
        self.cut()
        for one in list(self._tasks):
            one.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Join a client's connection to one of the server until both have ended."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._joined(reader, writer)
        except asyncio.CancelledError:
            writer.close()
        finally:
            self._tasks.discard(task)

    async def _joined(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = self.add("" if len(self._ways.streams) == 1 else None)
        try:
            from_server, to_server = await _connect(self.address)
        except OSError as error:
            self.refused = error.strerror or str(error)
            writer.close()
            return
        connection.writers = (writer, to_server)
        if connection.link is not None:
            self._record(connection, Kind.OPENED)
        await asyncio.gather(
            self._pump(connection, reader, to_server, Kind.SENT, Kind.HALF_CLOSED),
            self._pump(connection, from_server, writer, Kind.RECEIVED, Kind.ENDED),
        )
        for one in connection.writers:
            one.close()

    async def _pump(
        self,
        connection: ProxiedConnection,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        kind: Kind,
        end: Kind,
    ) -> None:
        how = end
        try:
            while data := await reader.read(CHUNK):
                self.take(connection, kind, data)
                writer.write(data)
                await writer.drain()
        except OSError:
            how = Kind.CLOSED if kind is Kind.SENT else Kind.RESET
        self._decided(connection)
        if connection.over is None:
            connection.over = how
            self._record(connection, how)
        with suppress(OSError, RuntimeError):
            if end is Kind.ENDED:
                writer.close()
            else:
                writer.write_eof()

    def add(self, link: str | None) -> ProxiedConnection:
        """Note a connection that is made now, on a link if that is known."""
        same = sum(one.client == self.name for one in self.connections)
        name = f"{self.name}#{same + 1}" if same else self.name
        connection = ProxiedConnection(name, self._ways.dissection, link)
        self.connections.append(connection)
        return connection

    def take(self, connection: ProxiedConnection, kind: Kind, data: bytes) -> None:
        """Note what crossed; the first bytes of a client may have to wait until they say what is spoken."""
        if connection.link is None and kind is Kind.SENT:
            connection.early += data
            if self._ways.link_of_stream(bytes(connection.early)) is not None:
                self._decided(connection)
            return
        self._decided(connection)
        connection.crossed(Role.CLIENT if kind is Kind.SENT else Role.SERVER, data)
        self._record(connection, kind, data)

    def begin(self, connection: ProxiedConnection) -> None:
        """Note that a connection is open whose link is known."""
        self._record(connection, Kind.OPENED)

    def _decided(self, connection: ProxiedConnection) -> None:
        """Read what waits as that which it begins, or as what is usual."""
        if connection.link is None:
            early = bytes(connection.early)
            connection.begin(self._ways.link_of_stream(early) or "")
            self.begin(connection)
            if early:
                self.take(connection, Kind.SENT, early)

    def _record(self, connection: ProxiedConnection, kind: Kind, data: bytes = b"") -> None:
        if connection not in self.connections:
            return
        at_us = round((time.monotonic() - self._began) * 1e6)
        link = connection.link if kind is Kind.OPENED else ""
        event = TraceEvent(at_us, connection.name, kind, data, link or "")
        self.trace.append(event)
        self.monitor.feed(event)
        self._moved.set()


@asynccontextmanager
async def proxied(address: Address, make_monitor: Callable[[], Monitor], ways: Ways) -> AsyncIterator[Proxy]:
    """Listen on a free port of the loopback in front of a server, for datagrams too where the protocol has them."""
    found = Proxy(address, make_monitor, ways)
    server, datagrams = await _listening(found, ways)
    found.port = server.sockets[0].getsockname()[1]
    try:
        yield found
    finally:
        server.close()
        if datagrams is not None:
            datagrams.close()
        await found.close()


async def _listening(proxy: Proxy, ways: Ways) -> tuple[asyncio.Server, DatagramListener | None]:
    """Return what listens for streams and for datagrams, at the same port. Raises OSError when no port is free."""
    loop, link = asyncio.get_running_loop(), ways.datagrams
    for left in reversed(range(PORTS)):
        server = await asyncio.start_server(proxy.accept, LOOPBACK, 0)
        if link is None or proxy.address.scheme == "unix":
            return server, None
        port = server.sockets[0].getsockname()[1]
        try:
            _, datagrams = await loop.create_datagram_endpoint(
                lambda: DatagramListener(proxy, link or ""), local_addr=(LOOPBACK, port)
            )
        except OSError:
            server.close()
            if not left:
                raise
        else:
            return server, datagrams
    raise OSError("no free port")


async def _connect(address: Address) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    if address.scheme == "unix":
        return await asyncio.open_unix_connection(address.path)
    return await asyncio.open_connection(address.host, address.port)
