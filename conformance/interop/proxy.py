"""A proxy on the loopback that changes nothing: it records what crosses, both ways, before it forwards it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from wireproof.conformance.interop.proxied_connection import ProxiedConnection
from wireproof.conformance.model.targets import Address
from wireproof.conformance.model.trace import Kind, Trace, TraceEvent
from wireproof.conformance.monitor.monitor import Monitor
from wireproof.protocols import Role
from wireproof.protocols.dissect import Dissection

__all__ = ["Proxy", "proxied"]

LOOPBACK = "127.0.0.1"
CHUNK = 1 << 16


class Proxy:
    """What stands between one client and one server; times are those since it was made."""

    def __init__(
        self, address: Address, make_monitor: Callable[[], Monitor], make_dissection: Callable[[], Dissection]
    ) -> None:
        """`make_monitor` is called for each scene, `make_dissection` for each connection."""
        self._address = address
        self._make_monitor = make_monitor
        self._make_dissection = make_dissection
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
        return next((one for one in reversed(self.connections) if one.name.partition("#")[0] == name), None)

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
        same = sum(one.name.partition("#")[0] == self.name for one in self.connections)
        name = f"{self.name}#{same + 1}" if same else self.name
        connection = ProxiedConnection(name, self._make_dissection())
        self.connections.append(connection)
        try:
            from_server, to_server = await _connect(self._address)
        except OSError as error:
            self.refused = error.strerror or str(error)
            writer.close()
            return
        connection.writers = (writer, to_server)
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
                connection.crossed(Role.CLIENT if kind is Kind.SENT else Role.SERVER, data)
                self._record(connection, kind, data)
                writer.write(data)
                await writer.drain()
        except OSError:
            how = Kind.CLOSED if kind is Kind.SENT else Kind.RESET
        if connection.over is None:
            connection.over = how
            self._record(connection, how)
        with suppress(OSError, RuntimeError):
            if end is Kind.ENDED:
                writer.close()
            else:
                writer.write_eof()

    def _record(self, connection: ProxiedConnection, kind: Kind, data: bytes = b"") -> None:
        if connection not in self.connections:
            return
        event = TraceEvent(round((time.monotonic() - self._began) * 1e6), connection.name, kind, data)
        self.trace.append(event)
        self.monitor.feed(event)
        self._moved.set()


@asynccontextmanager
async def proxied(
    address: Address, make_monitor: Callable[[], Monitor], make_dissection: Callable[[], Dissection]
) -> AsyncIterator[Proxy]:
    """Listen on a free port of the loopback in front of a server."""
    found = Proxy(address, make_monitor, make_dissection)
    server = await asyncio.start_server(found.accept, LOOPBACK, 0)
    found.port = server.sockets[0].getsockname()[1]
    try:
        yield found
    finally:
        server.close()
        await found.close()


async def _connect(address: Address) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    if address.scheme == "unix":
        return await asyncio.open_unix_connection(address.path)
    return await asyncio.open_connection(address.host, address.port)
