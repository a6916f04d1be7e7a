"""Servers for the PSRT SDK under test: the reference server in this process, and sockets that follow a script."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.places import ROOT
from tests.reference_client.peers import LOOPBACK, Script, scripted
from wireproof.protocols.psrt import PROFILES
from wireproof.reference_client.psrt import Client, ClientError, Message
from wireproof.reference_server.clock import LoopClock
from wireproof.reference_server.datagrams import DatagramProtocol
from wireproof.reference_server.psrt import create
from wireproof.reference_server.service import Limits, seeded_ids
from wireproof.reference_server.streams import StreamConnections
from wireproof.reference_server.tls import server_context

ACCOUNTS = {name: ROOT / "vectors/psrt/accounts" / name for name in ("users", "acl", "keys")}
TOKEN = bytes(range(32))
GREETED = bytes.fromhex("eeaa0100")
DATA_GREETED = bytes.fromhex("eeab0100")
OK, FE, FF = b"\x01", b"\xfe", b"\xff"
Play = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Any]


@asynccontextmanager
async def served(
    profile: str = "1", *, tls: tuple[Path, Path] | None = None, accounts: bool = True, **options: Any
) -> AsyncIterator[int]:
    """Serve TCP and UDP in this process; yield the port."""
    loop = asyncio.get_running_loop()
    options |= ACCOUNTS if accounts else {}
    given = {"clock": LoopClock(loop), "ids": seeded_ids(7), "limits": Limits(), "trace": None}
    service = create(PROFILES[profile], "standard", **given, options=options)
    connections = StreamConnections(service, Limits(), 100, server_context(*tls) if tls else None)
    server = await loop.create_server(connections.protocol, LOOPBACK, 0)
    port = server.sockets[0].getsockname()[1]
    datagrams, _ = await loop.create_datagram_endpoint(lambda: DatagramProtocol(service), local_addr=(LOOPBACK, port))
    try:
        yield port
    finally:
        datagrams.close()
        server.close()
        connections.cut()
        await asyncio.sleep(0)
        service.close()


class Received:
    """What a client was told by its callbacks."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.losses: list[tuple[str, bool]] = []
        self.mended = 0
        self._news = asyncio.Event()

    def callbacks(self) -> dict[str, Any]:
        return {"on_message": self._message, "on_loss": self._loss, "on_mended": self._mend}

    async def until(self, done: Callable[[], bool]) -> None:
        """Wait until it is so."""
        while not done():
            self._news.clear()
            await self._news.wait()

    def _message(self, message: Message) -> None:
        self.messages.append(message)
        self._news.set()

    def _loss(self, why: ClientError, mending: bool) -> None:
        self.losses.append((str(why), mending))
        self._news.set()

    def _mend(self) -> None:
        self.mended += 1
        self._news.set()


@asynccontextmanager
async def connected(port: int, **options: Any) -> AsyncIterator[tuple[Client, Received]]:
    """A client, and what it hears."""
    received = Received()
    async with Client.connect(LOOPBACK, port, **received.callbacks(), **options) as client:
        yield client, received


def logged_in(then: Play) -> Script:
    """Open a control socket as a server does, then play."""

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert await reader.readexactly(3) == bytes.fromhex("eeaa00")
        writer.write(GREETED)
        size = int.from_bytes(await reader.readexactly(4), "little")
        await reader.readexactly(size)
        writer.write(TOKEN)
        await then(reader, writer)

    return script


def attached(then: Play) -> Script:
    """Open a data socket as a server does, then play."""

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert await reader.readexactly(3) == bytes.fromhex("eeab00")
        writer.write(DATA_GREETED)
        assert (await reader.readexactly(33))[:32] == TOKEN
        writer.write(OK)
        await then(reader, writer)

    return script


async def stay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Read until the client closes, and say nothing."""
    while await reader.read(1000):
        pass


def saying(*expected_and_sent: bytes, then: Play = stay) -> Play:
    """Read exactly the first, write the second, and so on in turns; then do as told."""

    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        turns = iter(expected_and_sent)
        for expected, sent in zip(turns, turns, strict=True):
            assert await reader.readexactly(len(expected)) == expected
            writer.write(sent)
        await then(reader, writer)

    return play


def pair(control: Play = stay, data: Play = stay) -> Any:
    """A server for one client, its two sockets opened as they should be."""
    return scripted(logged_in(control), attached(data))
