"""Stands between a user's clients and server, changes nothing, and judges each connection while it goes on.

Each connection has a monitor of its own and is forgotten when it ends. One that carries more than `MOST` bytes is
forwarded on and judged no more, so memory is bounded.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from wireproof.conformance.model.targets import Address
from wireproof.conformance.model.trace import Kind, TraceEvent
from wireproof.conformance.model.verdict import Guilty
from wireproof.conformance.model.violation import Violation
from wireproof.conformance.monitor.monitor import Monitor

__all__ = ["LiveProxy", "SeenTraffic", "listening"]

CHUNK = 1 << 16
MOST = 16 << 20
"""Bytes of one connection that are judged."""
PATIENCE = 10.0
"""Seconds that the server may take to accept a connection."""
Report = Callable[[str, Violation], None]


@dataclass
class SeenTraffic:
    """What was seen so far."""

    connections: int = 0
    client: int = 0
    """Connections in which the client broke the protocol first."""
    server: int = 0
    unread: int = 0
    """Connections that carried too much to be judged to their end."""
    refused: int = 0
    """Connections that the server did not take."""


class _Judged:
    """One connection."""

    def __init__(self, name: str, monitor: Monitor, proxy: LiveProxy) -> None:
        self.name, self._monitor, self._proxy = name, monitor, proxy
        self._began, self._size, self._is_over = time.monotonic(), 0, False
        self.see(Kind.OPENED)

    def see(self, kind: Kind, data: bytes = b"") -> None:
        """Take what crossed, and report the first violation."""
        self._size += len(data)
        if self._is_over:
            return
        if self._size > MOST:
            self._is_over, self._proxy.tally.unread = True, self._proxy.tally.unread + 1
            return
        self._monitor.feed(TraceEvent(round((time.monotonic() - self._began) * 1e6), self.name, kind, data))
        if (first := self._monitor.report().first) is not None:
            self._is_over = True
            self._proxy.found(self.name, first)


class LiveProxy:
    """What accepts clients; `tally` counts."""

    def __init__(self, server: Address, make_monitor: Callable[[], Monitor], report: Report) -> None:
        """`report` takes the name of a connection and its first violation, at once."""
        self._server, self._make_monitor, self._report = server, make_monitor, report
        self._tasks: set[asyncio.Task[None]] = set()
        self.tally = SeenTraffic()

    def found(self, name: str, first: Violation) -> None:
        """Count and report a violation."""
        if first.side is Guilty.HARNESS:
            self.tally.client += 1
        else:
            self.tally.server += 1
        self._report(name, first)

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

    async def close(self) -> None:
        """End every connection."""
        for one in list(self._tasks):
            one.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _joined(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.tally.connections += 1
        peer = writer.get_extra_info("peername")
        name = f"{self.tally.connections} ({peer[0]}:{peer[1]})" if peer else str(self.tally.connections)
        try:
            async with asyncio.timeout(PATIENCE):
                from_server, to_server = await _connect(self._server)
        except OSError:
            self.tally.refused += 1
            writer.close()
            return
        judged = _Judged(name, self._make_monitor(), self)
        try:
            await asyncio.gather(
                _pump(judged, reader, to_server, Kind.SENT, Kind.HALF_CLOSED),
                _pump(judged, from_server, writer, Kind.RECEIVED, Kind.ENDED),
            )
        finally:
            for one in (writer, to_server):
                one.close()


async def _pump(
    judged: _Judged, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, kind: Kind, end: Kind
) -> None:
    try:
        while data := await reader.read(CHUNK):
            judged.see(kind, data)
            writer.write(data)
            await writer.drain()
    except OSError:
        end = Kind.CLOSED if kind is Kind.SENT else Kind.RESET
    judged.see(end)
    with suppress(OSError, RuntimeError):
        if kind is Kind.RECEIVED:
            writer.close()
        else:
            writer.write_eof()


async def _connect(address: Address) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    if address.scheme == "unix":
        return await asyncio.open_unix_connection(address.path)
    return await asyncio.open_connection(address.host, address.port)


@asynccontextmanager
async def listening(proxy: LiveProxy, at: Address) -> AsyncIterator[int]:
    """Listen for clients; yield the port (0 for a path). Raises `OSError`."""
    if at.scheme == "unix":
        server = await asyncio.start_unix_server(proxy.accept, at.path)
    else:
        server = await asyncio.start_server(proxy.accept, at.host, at.port)
    try:
        yield 0 if at.scheme == "unix" else int(server.sockets[0].getsockname()[1])
    finally:
        server.close()
        await proxy.close()
