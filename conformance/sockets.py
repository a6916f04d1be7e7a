"""The driver over real sockets: performs the player's actions on TCP or UNIX streams, every wait bounded."""

from __future__ import annotations

import asyncio
import socket
import struct
import time

from conformance.actions import Action, Answer, Open, Read, Shut, Sleep, Write
from conformance.outcome import Outcome
from conformance.player import Player
from conformance.targets import Address
from conformance.trace import Kind

CHUNK = 256 * 1024
LINGER_RESET = struct.pack("ii", 1, 0)
Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def open_stream(address: Address) -> Stream:
    """Connect; raises `OSError`. Small writes leave at once (no Nagle), so that a delivery's cuts reach the wire."""
    if address.scheme == "unix":
        return await asyncio.open_unix_connection(address.path, limit=CHUNK)
    reader, writer = await asyncio.open_connection(address.host, address.port, limit=CHUNK)
    writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return reader, writer


class SocketDriver:
    """Plays cases against the target at one address; a case that waits leaves its place at the `gate` meanwhile."""

    def __init__(self, address: Address, *, timeout: float = 5.0, gate: asyncio.Semaphore | None = None) -> None:
        self.address = address
        self.timeout = timeout
        self.gate = gate or asyncio.Semaphore(1_000_000)

    async def play(self, player: Player) -> Outcome:
        """Run one case to its outcome; no connection outlives it."""
        session = _Session(self)
        play = player.play()
        try:
            action = next(play)
            while True:
                action = play.send(await session.perform(action))
        except StopIteration as stop:
            outcome: Outcome = stop.value
            return outcome
        finally:
            play.close()
            await session.close()


class _Session:
    """The sockets of one play."""

    def __init__(self, driver: SocketDriver) -> None:
        self._address = driver.address
        self._timeout = driver.timeout
        self._gate = driver.gate
        self._streams: dict[str, Stream] = {}
        self._began = time.monotonic()

    def _answer(self, kind: Kind, data: bytes = b"") -> Answer:
        return Answer(kind, time.monotonic() - self._began, data)

    async def perform(self, action: Action) -> Answer:
        match action:
            case Open(name):
                return await self._open(name)
            case Write(name, chunks):
                return await self._write(name, chunks)
            case Read(name, timeout):
                return await self._read(name, timeout)
            case Shut(name, how):
                return await self._shut(name, how)
            case Sleep(seconds):
                await self._sleep(seconds)
                return self._answer(Kind.WAITED)

    async def _sleep(self, seconds: float) -> None:
        if not seconds:
            return
        self._gate.release()
        try:
            await asyncio.sleep(seconds)
        finally:
            await self._gate.acquire()

    async def _open(self, name: str) -> Answer:
        try:
            async with asyncio.timeout(self._timeout):
                _, writer = self._streams[name] = await open_stream(self._address)
        except (OSError, TimeoutError) as error:
            return self._answer(Kind.RESET, (str(error) or "no answer to connect").encode())
        mine = writer.get_extra_info("sockname") if self._address.scheme == "tcp" else None
        return self._answer(Kind.OPENED, str(mine[1]).encode() if mine else b"")

    async def _write(self, name: str, chunks: tuple[bytes, ...]) -> Answer:
        _, writer = self._streams[name]
        try:
            async with asyncio.timeout(self._timeout):
                for chunk in chunks:
                    writer.write(chunk)
                    await writer.drain()
                    if len(chunks) > 1:
                        await asyncio.sleep(0)
        except OSError as error:
            return self._answer(Kind.RESET, str(error).encode())
        except TimeoutError:
            return self._answer(Kind.SILENT, b"the target stopped reading")
        return self._answer(Kind.SENT)

    async def _read(self, name: str, timeout: float) -> Answer:
        reader, _ = self._streams[name]
        try:
            async with asyncio.timeout(timeout):
                data = await reader.read(CHUNK)
        except TimeoutError:
            return self._answer(Kind.SILENT)
        except OSError as error:
            return self._answer(Kind.RESET, str(error).encode())
        return self._answer(Kind.RECEIVED, data) if data else self._answer(Kind.ENDED)

    async def _shut(self, name: str, how: str) -> Answer:
        _, writer = self._streams[name]
        try:
            if how == "half":
                writer.write_eof()
                return self._answer(Kind.HALF_CLOSED)
            del self._streams[name]
            if how == "reset" and self._address.scheme == "tcp":
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_RESET)
                writer.transport.abort()
            writer.close()
            async with asyncio.timeout(self._timeout):
                await writer.wait_closed()
        except (OSError, TimeoutError):
            writer.transport.abort()
        return self._answer(Kind.CLOSED)

    async def close(self) -> None:
        for name in list(self._streams):
            await self._shut(name, "reset")
