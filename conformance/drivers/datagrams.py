"""One socket for datagrams, with the deadlines and the audit of a stream's."""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from contextlib import suppress

from wireproof.conformance.drivers.io_audit import IoAudit
from wireproof.conformance.drivers.tcp_segments import Cuts
from wireproof.conformance.model.trace import Kind

LARGEST = 65536
"""More than a datagram can have, so that each is read whole."""
HELD = 1000
"""Datagrams kept for a reader; those that come beyond are lost, as on the way."""


class Datagrams:
    """A connected UDP socket: what came from its peer, and whether there is none."""

    def __init__(self, sock: socket.socket) -> None:
        self._loop = asyncio.get_running_loop()
        self._sock = sock
        self._came: deque[bytes] = deque()
        self._awake = asyncio.Event()
        self.ended: Kind | None = None
        self.why = b""
        self.audit = IoAudit()
        self.cuts = Cuts()
        self._loop.add_reader(sock, self._readable)

    @property
    def port(self) -> int:
        """The port at our side."""
        return int(self._sock.getsockname()[1])

    def _readable(self) -> None:
        """Take one datagram; an empty one says nothing."""
        try:
            data = self._sock.recv(LARGEST)
        except BlockingIOError:
            return
        except OSError as error:
            self._lose(error)
            return
        if data and len(self._came) < HELD:
            self.audit.came(data)
            self._came.append(data)
            self._awake.set()

    def _lose(self, error: OSError) -> None:
        self.ended, self.why = Kind.RESET, str(error).encode()
        self._awake.set()

    async def read(self, timeout: float) -> tuple[Kind, bytes]:
        """Return RECEIVED and one datagram, SILENT when none came in time, or RESET where nobody takes them."""
        if not self._came and self.ended is None:
            self._awake.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout):
                    await self._awake.wait()
        if self._came:
            return Kind.RECEIVED, self._came.popleft()
        return (self.ended, self.why) if self.ended else (Kind.SILENT, b"")

    async def write(
        self, data: bytes, timeout: float, apart: float | None = None, *, ends: bool = False
    ) -> tuple[Kind, bytes]:
        """Send one datagram; RESET where it cannot be, SILENT when the system does not take it in time."""
        deadline = self._loop.time() + timeout
        while True:
            try:
                self._sock.send(data)
            except BlockingIOError:
                if self._loop.time() > deadline:
                    return Kind.SILENT, b"the system takes no datagrams"
                await asyncio.sleep(0.001)
                continue
            except OSError as error:
                self._lose(error)
                return Kind.RESET, self.why
            self.audit.left(data)
            return Kind.SENT, b""

    async def close(self, timeout: float = 1.0, *, reset: bool = False) -> None:
        """Give the socket back; a datagram socket has no end that its peer would see."""
        self.cut()

    def cut(self) -> None:
        """Give the socket back, at once."""
        if self._sock.fileno() >= 0:
            self._loop.remove_reader(self._sock)
            self._sock.close()


async def open_datagrams(host: str, port: int, timeout: float) -> Datagrams:
    """Return a socket that sends to there and hears from there only; raises `OSError`, `TimeoutError` among them."""
    async with asyncio.timeout(timeout):
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_DGRAM)
    family, kind, number, _, address = found[0]
    sock = socket.socket(family, kind, number)
    try:
        sock.setblocking(False)
        sock.connect(address)
        return Datagrams(sock)
    except BaseException:
        sock.close()
        raise
