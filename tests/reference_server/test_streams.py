"""The stream transports over real loopback sockets, on both loops; every wait is bounded."""

from __future__ import annotations

import asyncio
import gc
import socket
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import uvloop

from wireproof.protocols.throttr import V732, Codec
from wireproof.protocols.throttr.requests import Insert, Publish, Set, Subscribe
from wireproof.reference_server.clock import LoopClock
from wireproof.reference_server.registry import create_service
from wireproof.reference_server.service import Limits
from wireproof.reference_server.streams import StreamConnections

CODEC = Codec.of(V732, "uint32")
QUERY = b"\x02\x01k"
PATIENCE = 10
LOOPS = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}

Play = Callable[[], Awaitable[None]]


@pytest.fixture(params=LOOPS, name="play")
def _play(request: pytest.FixtureRequest) -> Callable[[Play], None]:
    """Runs a coroutine on a loop, for a bounded time."""

    def play(coroutine: Play) -> None:
        with asyncio.Runner(loop_factory=LOOPS[request.param]) as runner:
            runner.run(asyncio.wait_for(coroutine(), PATIENCE))

    return play


@asynccontextmanager
async def listening(path: Path | None = None, maximum: int = 100, **limits: Any) -> AsyncIterator[StreamConnections]:
    """A server; `connections.port` is where."""
    loop = asyncio.get_running_loop()
    chosen = Limits(**limits)
    service = create_service("throttr", profile="7.3.2", variant="uint32", clock=LoopClock(loop), limits=chosen)
    connections: Any = StreamConnections(service, chosen, maximum)
    if path is None:
        server: Any = await loop.create_server(connections.protocol, "127.0.0.1", 0)
        connections.port = server.sockets[0].getsockname()[1]
    else:
        server = await loop.create_unix_server(connections.protocol, str(path))
    try:
        yield connections
    finally:
        server.close()
        connections.cut()
        while connections.open:
            await asyncio.sleep(0)
        service.close()


@asynccontextmanager
async def connected(server: Any) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A client."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()
        with suppress(OSError):
            await writer.wait_closed()


def test_a_request_is_answered_over_tcp(play: Callable[[Play], None]) -> None:
    async def go() -> None:
        async with listening() as server, connected(server) as (reader, writer):
            writer.write(QUERY)
            assert await reader.readexactly(1) == b"\0"
            writer.write(b"\x14")
            row = (await reader.readexactly(1 + 8 + 16 + 237))[25:]
            port = writer.get_extra_info("sockname")[1]
            assert (row[17], row[19:28], row[35:37]) == (0, b"127.0.0.1", port.to_bytes(2, "little"))

    play(go)


def test_a_request_is_answered_over_a_unix_socket(play: Callable[[Play], None], tmp_path: Path) -> None:
    async def go() -> None:
        path = tmp_path / "socket"
        async with listening(path):
            reader, writer = await asyncio.open_unix_connection(str(path))
            writer.write(b"\x14")
            row = (await reader.readexactly(1 + 8 + 16 + 237))[25:]
            assert (row[17], row[35:37]) == (1, (13579).to_bytes(2, "little"))
            writer.close()
            await writer.wait_closed()

    play(go)


def test_a_half_close_is_answered_to_the_last_request(play: Callable[[Play], None]) -> None:
    async def go() -> None:
        async with listening() as server, connected(server) as (reader, writer):
            writer.write(QUERY * 50_000)
            writer.write_eof()
            assert await reader.read() == b"\0" * 50_000

    play(go)


def test_answers_before_an_error_arrive_although_more_was_sent_than_is_read(play: Callable[[Play], None]) -> None:
    async def go() -> None:
        async with listening(max_frame=1024) as server, connected(server) as (reader, writer):
            writer.write(QUERY * 100 + CODEC.encode(Set(4, 60, b"k", bytes(300_000))) * 3)
            assert await reader.read() == b"\0" * 100

    play(go)


def test_a_peer_that_keeps_a_closing_connection_open_is_cut(play: Callable[[Play], None]) -> None:
    async def go() -> None:
        async with listening(max_frame=1024, linger=0.05) as server, connected(server) as (reader, writer):
            writer.write(CODEC.encode(Set(4, 60, b"k", bytes(2000))))
            assert await reader.read() == b""
            while server.open:
                await asyncio.sleep(0.01)

    play(go)


def test_a_client_that_does_not_read_is_held_back_and_loses_nothing(play: Callable[[Play], None]) -> None:
    async def go() -> None:
        async with listening() as server, connected(server) as (reader, writer), connected(server) as (other, asks):
            writer.write(b"".join(CODEC.encode(Insert(1, 6, 60, b"%08d" % n)) for n in range(1000)))
            await reader.readexactly(1000)
            writer.write(b"\x07" * 400)
            asks.write(QUERY)
            assert await other.readexactly(1) == b"\0"
            protocol = next(iter(server.open))
            while not protocol.session._waits:
                await asyncio.sleep(0)
            assert protocol.transport.get_write_buffer_size() < 10 * 65536
            size = 9 + 1000 * (15 + 8) + 16 * 11
            for _ in range(400):
                answer = await reader.readexactly(size)
                assert answer[:2] == b"\x01\x0b"

    play(go)


def test_a_subscriber_that_does_not_read_is_cut_and_others_get_everything(play: Callable[[Play], None]) -> None:
    async def go() -> None:
        async with (
            listening(push_limit=1 << 20, linger=0.05) as server,
            connected(server) as (slow, slow_writer),
            connected(server) as (quick, quick_writer),
            connected(server) as (publisher, writer),
        ):
            for reader, one in ((slow, slow_writer), (quick, quick_writer)):
                one.write(CODEC.encode(Subscribe(b"ch")))
                assert await reader.readexactly(1) == b"\x01"
            slow_writer.transport.pause_reading()
            frame = CODEC.encode(Publish(b"ch", bytes(100_000)))
            for _ in range(120):
                writer.write(frame)
                assert await publisher.readexactly(1) == b"\x01"
                assert len(await quick.readexactly(len(frame))) == len(frame)
            while len(server.open) == 3:
                await asyncio.sleep(0.01)

    play(go)


def test_a_reset_in_the_middle_of_a_request_harms_nobody(play: Callable[[Play], None]) -> None:
    async def go() -> None:
        async with listening() as server, connected(server) as (reader, writer):
            rude = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)
            rude.sendall(QUERY * 100 + b"\x02\x09half")
            rude.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
            rude.close()
            while len(server.open) > 1:
                await asyncio.sleep(0)
            writer.write(QUERY)
            assert await reader.readexactly(1) == b"\0"

    play(go)


def test_connections_beyond_the_limit_are_turned_away(play: Callable[[Play], None]) -> None:
    async def go() -> None:
        async with listening(maximum=1) as server, connected(server) as (reader, writer):
            writer.write(QUERY)
            await reader.readexactly(1)
            second, _writer = await asyncio.open_connection("127.0.0.1", server.port)
            with suppress(ConnectionResetError):
                assert await second.read() == b""
            writer.write(QUERY)
            assert await reader.readexactly(1) == b"\0"
            _writer.close()

    play(go)


def test_a_silent_connection_is_closed_when_there_is_an_idle_timeout(play: Callable[[Play], None]) -> None:
    async def go() -> None:
        async with listening(idle_timeout=5.0) as server, connected(server) as (reader, _):
            while not server.open:
                await asyncio.sleep(0)
            now = asyncio.get_running_loop().time()
            server.close_idle(now + 4)
            assert len(server.open) == 1
            server.close_idle(now + 6)
            assert await reader.read() == b""

    play(go)


def test_a_connection_that_is_gone_is_held_by_nothing(play: Callable[[Play], None]) -> None:
    async def go() -> None:
        async with listening(linger=60.0) as server:
            async with connected(server) as (reader, writer):
                writer.write(QUERY)
                assert await reader.readexactly(1) == b"\0"
                (protocol,) = map(weakref.ref, server.open)
                writer.write_eof()
                assert await reader.read() == b""
            while server.open:
                await asyncio.sleep(0)
            await asyncio.sleep(0)
            gc.collect()
            assert protocol() is None

    play(go)
