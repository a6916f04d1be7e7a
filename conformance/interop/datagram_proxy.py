"""Datagrams through the proxy: each client's socket has one to the server, and what crosses is recorded as it is."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

from wireproof.conformance.interop.proxied_connection import ProxiedConnection
from wireproof.conformance.model.trace import Kind

if TYPE_CHECKING:
    from wireproof.conformance.interop.proxy import Proxy

__all__ = ["DatagramListener"]


class DatagramListener(asyncio.DatagramProtocol):
    """Takes the datagrams of clients."""

    def __init__(self, proxy: Proxy, link: str) -> None:
        """`link`: what is spoken in them."""
        self._proxy, self._link = proxy, link
        self._ways: dict[Any, _ToServer] = {}
        """Address of a client's socket -> its way to the server."""
        self._opening: set[asyncio.Task[None]] = set()
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: Any) -> None:
        """Forward a datagram of a client."""
        way = self._ways.get(addr)
        if way is None or way.connection not in self._proxy.connections:
            connection = self._proxy.add(self._link)
            self._proxy.begin(connection)
            way = self._ways[addr] = _ToServer(self, connection, addr)
            task = asyncio.ensure_future(way.open())
            self._opening.add(task)
            task.add_done_callback(self._opening.discard)
        self._proxy.take(way.connection, Kind.SENT, data)
        way.send(data)

    def answer(self, way: _ToServer, data: bytes) -> None:
        """Forward a datagram of the server."""
        self._proxy.take(way.connection, Kind.RECEIVED, data)
        if self._transport is not None:
            self._transport.sendto(data, way.client)

    @property
    def server(self) -> tuple[str, int]:
        """Where the server takes datagrams."""
        return self._proxy.address.host, self._proxy.address.port

    def close(self) -> None:
        """Stop."""
        for one in self._opening:
            one.cancel()
        for way in self._ways.values():
            way.close()
        if self._transport is not None:
            self._transport.close()


class _ToServer(asyncio.DatagramProtocol):
    """The socket that stands for a client's at the server."""

    def __init__(self, datagrams: DatagramListener, connection: ProxiedConnection, client: Any) -> None:
        self.connection, self.client = connection, client
        self._datagrams = datagrams
        self._waiting: list[bytes] = []
        self._transport: asyncio.DatagramTransport | None = None

    async def open(self) -> None:
        """Make the socket, and send what waits."""
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(lambda: self, remote_addr=self._datagrams.server)
        self._transport = transport
        for data in self._waiting:
            transport.sendto(data)
        self._waiting.clear()

    def send(self, data: bytes) -> None:
        """Send now, or once the socket is there."""
        if self._transport is None:
            self._waiting.append(data)
        else:
            self._transport.sendto(data)

    def datagram_received(self, data: bytes, addr: Any) -> None:
        """Take an answer."""
        self._datagrams.answer(self, data)

    def error_received(self, exc: Exception) -> None:
        """Leave it: nobody listens there, so that no answer comes."""

    def close(self) -> None:
        """Close the socket."""
        if self._transport is not None:
            self._transport.close()
