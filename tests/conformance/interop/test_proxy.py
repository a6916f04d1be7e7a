"""The tap changes nothing, notes both directions in order, and tells how a connection ended."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from wireproof.conformance.interop.proxy import Proxy, Ways, proxied
from wireproof.conformance.model.targets import Address
from wireproof.conformance.model.trace import Kind
from wireproof.conformance.monitor.monitor import Monitor
from wireproof.protocols.registry import protocol

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def monitor() -> Monitor:
    return Monitor(protocol("throttr"), "7.1.0", "uint16")


def ways() -> Ways:
    known = protocol("throttr")
    return Ways(known, known.codec(known.profiles["7.1.0"], "uint16"))


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(1000):
        writer.write(data.upper())
    writer.close()


def tapped(serve: Serve, use: Callable[[Proxy], Awaitable[None]]) -> Proxy:
    """Return the tap once `use` went through it."""

    async def run() -> Proxy:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        address = Address("tcp", "127.0.0.1", server.sockets[0].getsockname()[1])
        async with server, proxied(address, monitor, ways()) as tap:
            tap.name = "a"
            await use(tap)
        return tap

    return asyncio.run(run())


def test_both_directions_are_handed_on_and_noted() -> None:
    async def use(tap: Proxy) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", tap.port)
        writer.write(b"abc")
        assert await reader.readexactly(3) == b"ABC"
        writer.write_eof()
        assert await reader.read() == b""
        writer.close()

    tap = tapped(echo, use)

    assert [one.name for one in tap.connections] == ["a"]
    assert (tap.connections[0].sent, tap.connections[0].received) == (b"abc", b"ABC")
    kinds = [one.kind for one in tap.trace]
    assert kinds == [Kind.OPENED, Kind.SENT, Kind.RECEIVED, Kind.HALF_CLOSED]
    assert tap.connections[0].over is Kind.HALF_CLOSED


def test_the_end_from_the_server_is_reported_as_such_and_connections_are_numbered() -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.close()

    async def use(tap: Proxy) -> None:
        for _ in range(2):
            reader, writer = await asyncio.open_connection("127.0.0.1", tap.port)
            writer.write(b"x")
            assert await reader.read() == b""
            writer.close()

    tap = tapped(hang_up, use)

    assert [one.name for one in tap.connections] == ["a", "a#2"]
    assert [one.over for one in tap.connections] == [Kind.ENDED, Kind.ENDED]
    assert tap.of("a") is tap.connections[1]


def test_a_server_that_takes_no_connection_is_reported() -> None:
    async def run() -> Proxy:
        async with proxied(Address("tcp", "127.0.0.1", 1), monitor, ways()) as tap:
            reader, writer = await asyncio.open_connection("127.0.0.1", tap.port)
            assert await reader.read() == b""
            writer.close()
        return tap

    assert asyncio.run(run()).refused
