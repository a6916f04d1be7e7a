"""What a harness asks of a server by itself, at the server's listener for it: channels are made there, say."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from wireproof.conformance.drivers.streams import SocketStream, connect
from wireproof.conformance.model.targets import Address
from wireproof.conformance.model.trace import Kind
from wireproof.protocols import NEED_DATA, Message, ProtocolError, Reply, Request
from wireproof.protocols.connection import Client, EndOfStream
from wireproof.protocols.plain import Plain

__all__ = ["Harness", "HarnessError"]


class HarnessError(Exception):
    """Raised when a server does not answer its harness."""


class Harness:
    """One connection to each listener of a server, made when it is first needed."""

    def __init__(self, plain: Plain, listeners: Mapping[str, Address], timeout: float) -> None:
        """`timeout`: seconds for an answer."""
        self._plain, self._listeners, self._timeout = plain, listeners, timeout
        self._open: dict[str, tuple[SocketStream, Client]] = {}

    async def __aenter__(self) -> Harness:
        return self

    async def __aexit__(self, *given: object) -> None:
        await self.close()

    def lacks(self, link: str) -> str:
        """Return how to declare where a link is reached; "" where it is declared."""
        listener = self._plain.protocol.links[link].listener
        return "" if listener in self._listeners else f"where the server's {listener} is: --listener {listener}=ADDRESS"

    async def ask(self, link: str, request: Request) -> Reply:
        """Return the answer to a request. Raises `HarnessError` when none comes in time."""
        try:
            return await asyncio.wait_for(self._asked(link, request), self._timeout)
        except TimeoutError:
            why = f"no answer in {self._timeout:g} s"
        except (OSError, ProtocolError) as error:
            why = str(error)
        await self.close()
        raise HarnessError(why)

    async def close(self) -> None:
        """Close every connection."""
        for wire, _ in self._open.values():
            await wire.close()
        self._open.clear()

    async def _asked(self, link: str, request: Request) -> Reply:
        if link not in self._open:
            self._open[link] = await self._connected(link)
        wire, side = self._open[link]
        return await self._answer(wire, side, request)

    async def _connected(self, link: str) -> tuple[SocketStream, Client]:
        known = self._plain.protocol
        wire = await connect(self._listeners[known.links[link].listener], self._timeout)
        side = known.links[link].client(known.codec(self._plain.profile, self._plain.variant.name))
        for request in known.links[link].handshake():
            await self._answer(wire, side, request)
        return wire, side

    async def _answer(self, wire: SocketStream, side: Client, request: Request) -> Reply:
        await wire.write(side.send(request), self._timeout)
        while True:
            event = side.next_event()
            if isinstance(event, Reply):
                return event
            if isinstance(event, EndOfStream):
                raise OSError("it closed the connection")
            if event is NEED_DATA:
                side.receive_data(await self._read(wire))
            else:
                assert isinstance(event, Message)

    async def _read(self, wire: SocketStream) -> bytes:
        kind, data = await wire.read(self._timeout)
        if kind is Kind.SILENT:
            raise TimeoutError
        if kind is not Kind.RECEIVED:
            raise OSError("it closed the connection")
        return data
