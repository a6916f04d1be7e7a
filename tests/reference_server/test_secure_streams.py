"""Streams that go on inside TLS, over real loopback sockets, on both loops."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import uvloop

from tests.reference_server.parrot import GO_SECURE, GREETING, Parrots, client_context
from wireproof.reference_server.certificates import self_signed
from wireproof.reference_server.service import Limits
from wireproof.reference_server.streams import StreamConnections
from wireproof.reference_server.tls import server_context

PATIENCE = 10
LOOPS = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}
Play = Callable[[], Awaitable[None]]
Files = tuple[Path, Path]


@pytest.fixture(params=LOOPS, name="play")
def _play(request: pytest.FixtureRequest) -> Callable[[Play], None]:
    def play(coroutine: Play) -> None:
        with asyncio.Runner(loop_factory=LOOPS[request.param]) as runner:
            runner.run(asyncio.wait_for(coroutine(), PATIENCE))

    return play


@pytest.fixture(scope="module", name="files")
def _files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return self_signed(tmp_path_factory.mktemp("tls"))


@asynccontextmanager
async def listening(files: Files | None, **limits: Any) -> AsyncIterator[Any]:
    service = Parrots()
    context = server_context(*files) if files else None
    connections: Any = StreamConnections(service, Limits(**limits), 100, context)
    server = await asyncio.get_running_loop().create_server(connections.protocol, "127.0.0.1", 0)
    connections.port = server.sockets[0].getsockname()[1]
    try:
        yield connections
    finally:
        server.close()
        connections.cut()
        while connections.open:
            await asyncio.sleep(0)


@asynccontextmanager
async def connected(server: Any) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()
        with suppress(OSError):
            await writer.wait_closed()


class Inside:
    """A client whose TLS is its own, so that its bytes can be cut and held back."""

    def __init__(self, files: Files, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = client_context(files[0]).wrap_bio(self.incoming, self.outgoing, server_hostname="localhost")

    async def does(self, action: Callable[[], Any], lead: bytes = b"") -> Any:
        """Carry out what may need more bytes of the server; what it returns, which is never None."""
        while True:
            try:
                done = action()
            except ssl.SSLWantReadError:
                done = None
            if lead or self.outgoing.pending:
                self.writer.write(lead + self.outgoing.read())
                lead = b""
            if done is not None:
                return done
            self.incoming.write(await self.reader.read(65536))

    async def begins(self, lead: bytes = b"") -> None:
        """Begin, the first of the handshake right after `lead`, and take the greeting."""
        await self.does(lambda: self.tls.do_handshake() or True, lead)
        assert await self.does(lambda: self.tls.read(100)) == GREETING


def test_a_stream_goes_on_inside_with_the_first_bytes_of_the_handshake_after_the_request(
    play: Callable[[Play], None], files: Files
) -> None:
    async def go() -> None:
        async with listening(files) as server, connected(server) as (reader, writer):
            client = Inside(files, reader, writer)
            await client.begins(GO_SECURE)
            client.tls.write(b"again")
            assert await client.does(lambda: client.tls.read(100)) == b"again"

    play(go)


def test_a_stream_goes_on_inside_when_the_handshake_comes_later(play: Callable[[Play], None], files: Files) -> None:
    async def go() -> None:
        async with listening(files) as server, connected(server) as (reader, writer):
            writer.write(b"plain")
            assert await reader.readexactly(5) == b"plain"
            writer.write(GO_SECURE)
            await writer.start_tls(client_context(files[0]), server_hostname="localhost")
            assert await reader.readexactly(5) == GREETING
            writer.write(b"x" * 300_000)
            assert await reader.readexactly(300_000) == b"x" * 300_000

    play(go)


def test_the_end_inside_is_the_end_of_requests(play: Callable[[Play], None], files: Files) -> None:
    async def go() -> None:
        async with listening(files) as server, connected(server) as (reader, writer):
            client = Inside(files, reader, writer)
            await client.begins(GO_SECURE)
            with suppress(ssl.SSLWantReadError):
                client.tls.unwrap()
            writer.write(client.outgoing.read())
            assert await reader.read() != b""
            assert server.service.sessions[0].ended

    play(go)


def test_the_end_of_the_socket_inside_is_the_end_of_requests(play: Callable[[Play], None], files: Files) -> None:
    async def go() -> None:
        async with listening(files) as server, connected(server) as (reader, writer):
            client = Inside(files, reader, writer)
            await client.begins(GO_SECURE)
            writer.write_eof()
            assert await client.does(lambda: client.tls.read(100)) == b"."

    play(go)


def test_a_handshake_that_is_no_handshake_ends_the_connection(play: Callable[[Play], None], files: Files) -> None:
    async def go() -> None:
        async with listening(files) as server, connected(server) as (reader, writer):
            writer.write(GO_SECURE + b"GET / HTTP/1.1\r\n\r\n")
            with suppress(ConnectionResetError):
                assert GREETING not in await reader.read()
            assert server.service.sessions[0].lost

    play(go)


def test_a_handshake_that_never_comes_is_given_up(play: Callable[[Play], None], files: Files) -> None:
    async def go() -> None:
        async with listening(files, handshake=0.05) as server, connected(server) as (reader, writer):
            writer.write(GO_SECURE)
            assert await reader.read() == b""
            assert server.service.sessions[0].lost

    play(go)


def test_a_server_without_certificate_has_no_tls_to_offer(play: Callable[[Play], None]) -> None:
    async def go() -> None:
        async with listening(None) as server, connected(server) as (reader, writer):
            writer.write(GO_SECURE)
            assert await reader.readexactly(1) == GO_SECURE
            assert server.service.sessions[0].peer.secure is None

    play(go)
