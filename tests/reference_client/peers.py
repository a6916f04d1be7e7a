"""Servers for a client under test: the reference server in this process, and one that says what a script tells it."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import wraps
from typing import Any

from wireproof.reference_server.clock import LoopClock
from wireproof.reference_server.registry import create_service
from wireproof.reference_server.service import Limits
from wireproof.reference_server.streams import StreamConnections

LOOPBACK = "127.0.0.1"
LONGEST = 20.0

Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def in_a_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run a test in a loop of its own, with a deadline."""

    @wraps(test)
    def run(*args: Any, **options: Any) -> None:
        asyncio.run(asyncio.wait_for(test(*args, **options), LONGEST))

    return run


@asynccontextmanager
async def reference_server(
    profile: str = "7.1.0",
    variant: str = "uint16",
    *,
    protocol: str = "throttr",
    port: int = 0,
    tls: ssl.SSLContext | None = None,
    options: Mapping[str, Any] | None = None,
) -> AsyncIterator[int]:
    """Serve in this process; yield the port."""
    loop = asyncio.get_running_loop()
    service = create_service(protocol, profile=profile, variant=variant, clock=LoopClock(loop), options=options)
    connections = StreamConnections(service, Limits(), 100)
    server = await loop.create_server(connections.protocol, LOOPBACK, port, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        connections.cut()
        await asyncio.sleep(0)
        service.close()


@asynccontextmanager
async def scripted(*scripts: Script) -> AsyncIterator[int]:
    """Serve each connection by the next script, the last one again and again; yield the port."""
    waiting = list(scripts)
    writers: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        script = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        with suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            await script(reader, writer)
        writer.close()

    server = await asyncio.start_server(serve, LOOPBACK, 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for writer in writers:
            writer.transport.abort()
        await asyncio.sleep(0)


def saying(expected: str, *chunks: str, then: str = "stay") -> Script:
    """Read exactly the bytes `expected` (hex), then write each chunk in a segment of its own; `stay` or `close`."""

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        wanted = bytes.fromhex(expected)
        assert await reader.readexactly(len(wanted)) == wanted
        for chunk in chunks:
            writer.write(bytes.fromhex(chunk))
            await writer.drain()
            await asyncio.sleep(0.002)
        if then == "stay":
            await reader.read()

    return script


def one_by_one(text: str) -> Iterable[str]:
    """Return each byte of a hex text as a chunk of its own."""
    whole = bytes.fromhex(text)
    return [f"{byte:02x}" for byte in whole]
