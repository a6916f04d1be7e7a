"""Servers on loopback for the tests here: the reference in this process, and ones that misbehave in one known way."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from tests.conformance import torn
from wireproof.conformance.model.targets import Address
from wireproof.conformance.run import reference_target
from wireproof.mutants.registry import server_patch
from wireproof.reference_server.clock import LoopClock
from wireproof.reference_server.registry import create_service
from wireproof.reference_server.service import Limits, Service
from wireproof.reference_server.streams import StreamConnections

PROBED = 60
"""The question for profile and width has one byte more."""
Handle = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def serving(handle: Handle) -> AsyncIterator[Address]:
    """Serve `handle` on a free port until the block ends; connections still open are cut."""
    writers: set[asyncio.StreamWriter] = set()

    async def kept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.add(writer)
        try:
            await handle(reader, writer)
        except (ConnectionError, asyncio.CancelledError):
            writer.transport.abort()

    server = await asyncio.start_server(kept, "127.0.0.1", 0)
    try:
        yield Address("tcp", "127.0.0.1", server.sockets[0].getsockname()[1])
    finally:
        server.close()
        await asyncio.sleep(0)
        for writer in writers:
            if not writer.is_closing() or writer.transport.get_write_buffer_size():
                writer.transport.abort()
        await asyncio.sleep(0)


@asynccontextmanager
async def reference(
    profile: str = "7.1.0", variant: str = "uint16", mutant: str | None = None
) -> AsyncIterator[Address]:
    """Serve the reference in this process, wrong in the way `fault` names when given."""
    clock = LoopClock(asyncio.get_running_loop())
    patch = server_patch("throttr", mutant)
    service = create_service("throttr", profile=profile, variant=variant, clock=clock, patch=patch)
    async with _served(service) as address:
        yield address


@asynccontextmanager
async def psrt(parameters: Mapping[str, float], mutant: str | None = None) -> AsyncIterator[Address]:
    """Serve the PSRT reference in this process with these limits."""
    clock = LoopClock(asyncio.get_running_loop())
    service = reference_target.service(
        "psrt", profile="1", variant="standard", clock=clock, mutant=mutant, parameters=parameters
    )
    async with _served(service) as address:
        yield address


@asynccontextmanager
async def reference_of(name: str, profile: str, mutant: str | None = None) -> AsyncIterator[Address]:
    """Serve the reference server of a protocol in this process."""
    clock = LoopClock(asyncio.get_running_loop())
    async with _served(
        reference_target.service(name, profile=profile, variant="standard", clock=clock, mutant=mutant)
    ) as address:
        yield address


@asynccontextmanager
async def plain(name: str, profile: str, options: Mapping[str, Any]) -> AsyncIterator[Address]:
    """Serve the reference server of a protocol in this process, with these options and nothing set up for the cases."""
    clock = LoopClock(asyncio.get_running_loop())
    async with _served(
        create_service(name, profile=profile, variant="standard", clock=clock, options=options)
    ) as address:
        yield address


@asynccontextmanager
async def _served(service: Service) -> AsyncIterator[Address]:
    connections = StreamConnections(service, Limits(), 1000)
    server = await asyncio.get_running_loop().create_server(connections.protocol, "127.0.0.1", 0)
    try:
        yield Address("tcp", "127.0.0.1", server.sockets[0].getsockname()[1])
    finally:
        server.close()
        service.close()
        connections.cut()
        await asyncio.sleep(0)


@asynccontextmanager
async def torn_service(kind: Any) -> AsyncIterator[Address]:
    """Serve the reference with sessions of such a kind (`torn.py`)."""
    loop = asyncio.get_running_loop()
    service = torn.TornService(kind, LoopClock(loop), profile="7.1.0", variant="uint16")
    connections = StreamConnections(service, Limits(), 1000)
    server = await loop.create_server(connections.protocol, "127.0.0.1", 0)
    try:
        yield Address("tcp", "127.0.0.1", server.sockets[0].getsockname()[1])
    finally:
        server.close()
        connections.cut()
        await asyncio.sleep(0)


async def never_answers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Read and say nothing, until the client sends no more."""
    try:
        while await reader.read(65536):
            pass
    finally:
        writer.close()


def falls_silent() -> Handle:
    """Return a server that answers the question for profile and width once, as Throttr 7.1.0 uint16 does."""
    answers = [bytes(481)]

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(await reader.read(65536)) > PROBED and answers:
            writer.write(answers.pop())
        await never_answers(reader, writer)

    return handle


async def answers_only_the_probe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the question for profile and width as Throttr 7.1.0 uint16 does, and nothing else."""
    if len(await reader.read(65536)) > PROBED:
        writer.write(bytes(481))
    await never_answers(reader, writer)


async def sends_for_ever(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send at full speed, without end, a value whose length is enormous."""
    while True:
        writer.write(b"\x01" * 65536)
        await writer.drain()


async def drips(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send a byte each tenth of a second, whatever is asked."""
    while True:
        writer.write(b"\x01")
        await asyncio.sleep(0.1)


async def never_reads(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Take nothing off the wire."""
    writer.transport.pause_reading()  # type: ignore[attr-defined]
    await asyncio.sleep(3600)


async def closes(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Close at once."""
    writer.close()


async def resets(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Say one byte to what comes first, then reset."""
    await reader.read(1)
    writer.write(b"\0")
    await writer.drain()
    await asyncio.sleep(0)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def babbles(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send garbage without being asked."""
    writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    await never_answers(reader, writer)


async def trickles(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer each QUERY with quota 7, one byte a write."""
    while await reader.read(65536):
        for byte in bytes.fromhex("01 0700 04 3b00"):
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(0)
    writer.close()


async def says_too_much(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer each write with 00, and once the client is done with one byte more."""
    while await reader.read(65536):
        writer.write(b"\0")
    writer.write(b"\0")
    writer.close()
