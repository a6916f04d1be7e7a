"""Streams over real sockets: what came is kept until it is read, every wait is bounded, TLS can be begun."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from contextlib import suppress
from functools import partial
from typing import Any, cast

from wireproof.conformance.drivers.io_audit import IoAudit
from wireproof.conformance.drivers.tcp_segments import Cuts, hold_for_the_end
from wireproof.conformance.drivers.tls import ClientTls, TlsError
from wireproof.conformance.model.targets import Address
from wireproof.conformance.model.trace import Kind

HELD = 256 * 1024
"""Bytes kept for a reader; beyond, the target is not read from."""
UNREAD_WINDOW = 2048
"""Bytes the system is asked to keep for a connection that is not read."""
UNREAD_SEGMENT = 536
"""Bytes of a segment there: a system that sizes a sender's buffer by segments then keeps little on that side, too."""
HELD_HEAVY = 16 * 1024 * 1024
"""The same in a case that is about megabytes."""
LINGER_RESET = struct.pack("ii", 1, 0)


class SocketStream(asyncio.Protocol):
    """One connection: what came on it, and how it ended."""

    transport: asyncio.Transport

    def __init__(self, most_held: int = HELD, *, unread: bool = False) -> None:
        """Beyond `most_held` bytes that are kept for a reader, the target is not read from; `unread`: `Open.unread`."""
        self._loop = asyncio.get_running_loop()
        self._unread = unread
        """Bytes are taken only while `read` waits for them."""
        self._small = unread
        self._chunks: list[bytes] = []
        self._held = 0
        self._most_held = most_held
        self._writable = True
        self._awake: asyncio.Future[None] | None = None
        self.ended: Kind | None = None
        self.lost = False
        self.why = b""
        self.cuts = Cuts()
        self.audit = IoAudit()
        """What is inside, where TLS was begun."""
        self._tls: ClientTls | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Let small writes leave at once (no Nagle), so that a delivery's cuts reach the wire."""
        self.transport = cast(asyncio.Transport, transport)
        sock = transport.get_extra_info("socket")
        if sock.family != socket.AF_UNIX:
            with suppress(OSError):  # the target may have reset the connection already
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def data_received(self, data: bytes) -> None:
        """Keep what came."""
        if self._tls is not None:
            data = self._inside(self._tls, data)
        if data:
            self.audit.came(data)
            self._chunks.append(data)
            self._held += len(data)
            if self._held > self._most_held:
                self.transport.pause_reading()
        self._wake()

    def _inside(self, tls: ClientTls, data: bytes) -> bytes:
        """Return the plaintext of what came, and answer as TLS wants it."""
        if self.ended is not None:
            return b""
        plain = b""
        try:
            plain = tls.receive(data)
        except TlsError as error:
            self.ended, self.why = Kind.RESET, f"TLS: {error}".encode()
        self._flush(tls)
        if tls.has_ended:
            self.ended = self.ended or Kind.ENDED
        return plain

    def _flush(self, tls: ClientTls) -> None:
        if not self.lost and (data := tls.outgoing()):
            self.transport.write(data)

    def eof_received(self) -> bool:
        """The target sends no more; our side stays open."""
        self.ended = self.ended or Kind.ENDED
        self._wake()
        return True

    def connection_lost(self, error: Exception | None) -> None:
        """The connection is gone."""
        self.lost = True
        if self.ended is None:
            self.ended = Kind.RESET if error else Kind.ENDED
            self.why = str(error or "").encode()
        self._wake()

    def pause_writing(self) -> None:
        """The target does not take what it is sent."""
        self._writable = False

    def resume_writing(self) -> None:
        """The target took it."""
        self._writable = True
        self._wake()

    def _wake(self) -> None:
        if self._awake is not None and not self._awake.done():
            self._awake.set_result(None)

    async def _something(self, deadline: float) -> bool:
        """Wait until anything happens; False at the deadline (of the loop's clock)."""
        self._awake = self._loop.create_future()
        alarm = self._loop.call_at(deadline, self._wake)
        try:
            await self._awake
        finally:
            alarm.cancel()
        return self._loop.time() < deadline

    def take(self, wanted: bool) -> None:
        """Begin or cease to take bytes, where that is done only for a reader."""
        if self._unread and not self.transport.is_closing():
            (self.transport.resume_reading if wanted else self.transport.pause_reading)()

    def _widen(self) -> None:
        """Once much is read, let the system keep more: what is left would come a window at a time."""
        self._small = False
        with suppress(OSError):
            self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, HELD)

    async def read(self, timeout: float) -> tuple[Kind, bytes]:
        """Return RECEIVED and all that came, SILENT when nothing came in time, or how the connection ended."""
        deadline = self._loop.time() + timeout
        self.take(not self.lost)
        while not self._chunks and self.ended is None and await self._something(deadline):
            pass
        self.take(False)
        if self._chunks:
            data = b"".join(self._chunks)
            self._chunks.clear()
            if self._small and len(data) >= UNREAD_WINDOW // 2:
                self._widen()
            if self._held > self._most_held and not self.lost and not self._unread:
                self.transport.resume_reading()
            self._held = 0
            return Kind.RECEIVED, data
        return (self.ended, self.why) if self.ended else (Kind.SILENT, b"")

    async def write(
        self, data: bytes, timeout: float, apart: float | None = None, *, ends: bool = False
    ) -> tuple[Kind, bytes]:
        """Send; SILENT when the target stops reading, RESET when it is gone. `apart` and `ends`: see `Write`."""
        if self._tls is not None and self.ended is Kind.RESET:
            return Kind.RESET, self.why
        deadline = self._loop.time() + timeout
        if not self.lost:
            self.audit.left(data)
            if ends:
                hold_for_the_end(self.transport)
            self._send(data)
        while not self._writable and not self.lost:
            if not await self._something(deadline) and not self._writable:
                return Kind.SILENT, b"the target stopped reading"
        if apart is not None and not self.lost:
            await self.cuts.leave(self.transport, apart)
        return (Kind.RESET, self.why or b"closed") if self.lost else (Kind.SENT, b"")

    def _send(self, data: bytes) -> None:
        if (
            self.transport.is_closing()
        ):  # a write failed and the loop has not reported it yet: asyncio would warn of each
            return
        if self._tls is None:
            self.transport.write(data)
        else:
            self._tls.send(data)
            self._flush(self._tls)

    async def secure(self, context: ssl.SSLContext, host: str, timeout: float) -> tuple[Kind, bytes]:
        """Begin TLS; SECURED once the handshake is done, SILENT when it is not in time, else RESET and why."""
        if self.lost or self.ended is not None:
            return Kind.RESET, self.why or b"closed"
        if self._chunks:
            return Kind.RESET, b"bytes in clear where TLS is due"
        deadline = self._loop.time() + timeout
        tls = self._tls = ClientTls(context, host)
        self._flush(tls)
        while not tls.is_established and self.ended is None:
            if not await self._something(deadline) and not tls.is_established and self.ended is None:
                return Kind.SILENT, b"no end of the handshake"
        if tls.is_established:
            return Kind.SECURED, b""
        return Kind.RESET, self.why or b"the connection ended in the handshake"

    def end_writing(self) -> None:
        """Send no more; the target may still answer."""
        if not self.lost and not self.transport.is_closing():
            self._end_tls()
            try:
                self.transport.write_eof()
            except OSError as error:
                self.why = str(error).encode()

    def _end_tls(self) -> None:
        """Say inside TLS that nothing more comes: an end of the stream alone would be a cut one."""
        if self._tls is not None and self.ended is not Kind.RESET:
            self._tls.end()
            self._flush(self._tls)

    async def close(self, timeout: float = 1.0, *, reset: bool = False) -> None:
        """Close and wait until it is done; what cannot be sent in `timeout` seconds is dropped."""
        if reset:
            self.cut()
        else:
            if not self.lost:
                self._end_tls()
            self.transport.close()
        deadline = self._loop.time() + timeout
        while not self.lost and await self._something(deadline):
            pass
        if not self.lost:
            self.transport.abort()

    def cut(self) -> None:
        """End with a reset, at once."""
        if self.lost:
            return
        sock = self.transport.get_extra_info("socket")
        if sock.family != socket.AF_UNIX:
            with suppress(OSError):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_RESET)
        self.transport.abort()


async def connect(
    address: Address,
    timeout: float,
    most_held: int = HELD,
    *,
    unread: bool = False,
    local: tuple[str, int] | None = None,
) -> SocketStream:
    """Connect; raises `OSError`, which `TimeoutError` is one of. `unread`: as `Open.unread`.

    `local`: the address and port of our side, which the system chooses otherwise.
    """
    loop, wire = asyncio.get_running_loop(), partial(SocketStream, most_held)
    async with asyncio.timeout(timeout):
        if unread:
            return await _unread(address)
        if local is not None:
            return (await loop.create_connection(wire, sock=await _from(local, address)))[1]
        if address.scheme == "unix":
            return (await loop.create_unix_connection(wire, address.path))[1]
        return (await loop.create_connection(wire, address.host, address.port))[1]


async def _from(local: tuple[str, int], address: Address) -> socket.socket:
    """Return a socket connected from an address and port, be it that an older connection lingers there."""
    sock = socket.socket(socket.AF_INET6 if ":" in local[0] else socket.AF_INET)
    try:
        sock.setblocking(False)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(local)
        await asyncio.get_running_loop().sock_connect(sock, (address.host, address.port))
    except BaseException:
        sock.close()
        raise
    return sock


async def _unread(address: Address) -> SocketStream:
    """Connect with small buffers, set before they are agreed on with the target; nothing is taken before `read`."""
    loop = asyncio.get_running_loop()
    make = partial(SocketStream, unread=True)
    if address.scheme == "unix":
        wire = (await loop.create_unix_connection(make, address.path))[1]
    else:
        places = await loop.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
        sock = await _first(places)
        wire = (await loop.create_connection(make, sock=sock))[1]
    wire.take(False)
    return wire


async def _first(places: list[Any]) -> socket.socket:
    """Return a socket with small buffers, connected to the first of several places that takes it; raises `OSError`."""
    refused: OSError | None = None
    for family, kind, number, _, place in places:
        sock = socket.socket(family, kind, number)
        try:
            sock.setblocking(False)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, UNREAD_WINDOW)
            with suppress(OSError, AttributeError):  # not every system lets a client choose
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, UNREAD_SEGMENT)
            await asyncio.get_running_loop().sock_connect(sock, place)
        except OSError as error:
            sock.close()
            refused = error
        except BaseException:
            sock.close()
            raise
        else:
            return sock
    raise refused or OSError(f"no address of {places!r}")
