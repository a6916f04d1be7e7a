"""Performs the actions of a play on sockets without an event loop: a fuzzer plays one script after the other.

Answers are those of the driver for cases (`conformance/drivers/sockets.py`), at a fraction of its cost. What comes on
a connection waits in the system's buffers until it is read, or until a write would block.
"""

from __future__ import annotations

import select
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import msgspec

from wireproof.conformance.drivers.sockets import OURS
from wireproof.conformance.drivers.streams import LINGER_RESET, UNREAD_SEGMENT, UNREAD_WINDOW
from wireproof.conformance.drivers.tls import ClientTls, TlsError, client_context
from wireproof.conformance.model.actions import Action, Answer, Open, Read, ReadUsage, Secure, Shut, Sleep, Write
from wireproof.conformance.model.targets import Address
from wireproof.conformance.model.trace import Kind
from wireproof.fuzz.live.execution import PROBES

__all__ = ["DirectSockets"]

PIECE = 256 * 1024
"""Bytes taken from the system at a time."""
MOST_PIECES = 4
"""Pieces that one read returns: a target may never cease to write."""
MOST = 2 << 20
"""Bytes that one play receives on all its connections together; then only probes are read, and of the others it is
unknown what else came. Decoded, rows of tables take some nine times as much memory."""
FINE, SELECTABLE = 0.001, 1024
"""Seconds below which a timeout of a socket is too coarse, and the descriptors that `select` knows."""
CLOSING = 1.0
"""Seconds that a close waits for the target to take what was written."""
LARGEST_DATAGRAM = 65536

Result = tuple[Kind, bytes]


class _Stream:
    """One connected stream. `unread`: bytes are taken only by `read`, and the system keeps few of them."""

    def __init__(self, sock: socket.socket, buffer: bytearray, *, unread: bool) -> None:
        self._sock, self._buffer, self._unread = sock, memoryview(buffer), unread
        self._came: list[bytes] = []
        self._unsent = b""
        self._ended: Result | None = None
        self._tls: ClientTls | None = None

    def read(self, timeout: float) -> Result:
        """Return RECEIVED and all that came, SILENT when nothing came in time, or how the connection ended."""
        self._send_rest()
        deadline = time.monotonic() + timeout
        while not self._came and self._ended is None:
            left = max(0.0, deadline - time.monotonic()) if timeout else 0.0
            if not self._receive(left) and not left:
                break
        if self._came:
            for _ in range(MOST_PIECES):
                if self._ended is not None or not self._receive(0.0):
                    break
            data = b"".join(self._came)
            self._came.clear()
            return Kind.RECEIVED, data
        return self._ended or (Kind.SILENT, b"")

    def _receive(self, timeout: float) -> bool:
        """Take what is there; return whether anything happened. One call takes at most `PIECE` bytes."""
        if 0 < timeout < FINE and self._sock.fileno() < SELECTABLE:
            select.select([self._sock], [], [], timeout)
            timeout = 0.0
        try:
            self._sock.settimeout(timeout)
            number = self._sock.recv_into(self._buffer)
        except (BlockingIOError, TimeoutError):
            return False
        except OSError as error:
            self._lose(error)
            return True
        if not number:
            self._ended = (Kind.ENDED, b"")
            return True
        data = bytes(self._buffer[:number])
        if plain := self._inside(data) if self._tls is not None else data:
            self._came.append(plain)
        return True

    def _lose(self, error: OSError | None, why: str = "") -> None:
        self._ended = self._ended or (Kind.RESET, (why or str(error)).encode())
        self._unsent = b""

    def _inside(self, data: bytes) -> bytes:
        assert self._tls is not None
        plain = b""
        try:
            plain = self._tls.receive(data)
        except TlsError as error:
            self._lose(None, f"TLS: {error}")
        self._flush()
        if self._tls.has_ended:
            self._ended = self._ended or (Kind.ENDED, b"")
        return plain

    def _flush(self) -> None:
        assert self._tls is not None
        self._unsent += self._tls.outgoing()
        self._send_rest()

    def write(self, data: bytes, timeout: float) -> Result:
        """Send; SILENT when the target stops reading, RESET when it is gone."""
        if self._ended is not None and self._ended[0] is Kind.RESET:
            return self._ended
        if self._tls is not None:
            with suppress(ssl.SSLError):
                self._tls.send(data)
            data = self._tls.outgoing()
        self._unsent += data
        deadline = time.monotonic() + timeout
        while not self._send_rest():
            if (left := deadline - time.monotonic()) <= 0:
                return Kind.SILENT, b"the target stopped reading"
            self._wait_to_write(left)
        if self._ended is not None and self._ended[0] is Kind.RESET:
            return self._ended
        return Kind.SENT, b""

    def _wait_to_write(self, seconds: float) -> None:
        """Wait until the target takes bytes, and take what it writes meanwhile: it may wait for that."""
        poll = select.poll()
        reads = not self._unread and self._ended is None
        poll.register(self._sock, select.POLLOUT | (select.POLLIN if reads else 0))
        for _, what in poll.poll(seconds * 1000):
            if what & select.POLLIN and reads:
                self._receive(0.0)

    def _send_rest(self) -> bool:
        """Send what the system takes; return whether nothing is left."""
        if not self._unsent:
            return True
        try:
            self._sock.settimeout(0.0)
            self._unsent = self._unsent[self._sock.send(self._unsent) :]
        except BlockingIOError:
            return False
        except OSError as error:
            self._lose(error)
        return not self._unsent

    def secure(self, context: ssl.SSLContext, host: str, timeout: float) -> Result:
        """Begin TLS; SECURED once the handshake is done, SILENT when it is not in time, else RESET and why."""
        if self._ended is not None:
            return Kind.RESET, self._ended[1] or b"closed"
        if self._came:
            return Kind.RESET, b"bytes in clear where TLS is due"
        deadline = time.monotonic() + timeout
        tls = self._tls = ClientTls(context, host)
        self._flush()
        while not tls.is_established and self._ended is None:
            if (left := deadline - time.monotonic()) <= 0:
                return Kind.SILENT, b"no end of the handshake"
            self._receive(left)
        if tls.is_established:
            return Kind.SECURED, b""
        assert self._ended is not None
        return Kind.RESET, self._ended[1] or b"the connection ended in the handshake"

    def shut(self, how: str) -> Kind:
        """End it: its sending side only, wholly, or by a reset."""
        if how == "half":
            self._end_tls()
            with suppress(OSError):
                self._sock.shutdown(socket.SHUT_WR)
            return Kind.HALF_CLOSED
        if how == "reset":
            with suppress(OSError):
                self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_RESET)
        else:
            self._end_tls()
            deadline = time.monotonic() + CLOSING
            while not self._send_rest() and (left := deadline - time.monotonic()) > 0:
                self._wait_to_write(left)
            if not self._unread:  # bytes that nobody took would turn the end into a reset
                self._receive(0.0)
        self._sock.close()
        return Kind.CLOSED

    def _end_tls(self) -> None:
        if self._tls is not None and self._ended is None:
            self._tls.end()
            self._flush()


class _Datagrams:
    """One connected socket for datagrams."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    def read(self, timeout: float) -> Result:
        """Return RECEIVED and one datagram, SILENT when none came in time, or RESET where nobody takes them."""
        try:
            self._sock.settimeout(timeout)
            return Kind.RECEIVED, self._sock.recv(LARGEST_DATAGRAM)
        except (BlockingIOError, TimeoutError):
            return Kind.SILENT, b""
        except OSError as error:
            return Kind.RESET, str(error).encode()

    def write(self, data: bytes, timeout: float) -> Result:
        """Send one datagram; RESET where it cannot be, SILENT when the system does not take it in time."""
        try:
            self._sock.settimeout(timeout)
            self._sock.send(data)
        except (BlockingIOError, TimeoutError):
            return Kind.SILENT, b"the system takes no datagrams"
        except OSError as error:
            return Kind.RESET, str(error).encode()
        return Kind.SENT, b""

    def shut(self, how: str) -> Kind:
        """Give the socket back; it has no end that its peer would see."""
        self._sock.close()
        return Kind.CLOSED


class DirectSockets:
    """The sockets of one play after the other, to one address; `close` ends those of a play."""

    def __init__(
        self,
        address: Address,
        *,
        usage: Callable[[], Any] | None = None,
        listeners: Mapping[str, Address] | None = None,
    ) -> None:
        """`usage` measures the target's process, as an object of figures, where wireproof started it.

        `listeners`: name -> address of the target's listeners beside the usual one.
        """
        self.address = address
        self._addresses = {"": address, **(listeners or {})}
        self._usage = usage
        self._timeout = 1.0
        self._wires: dict[str, _Stream | _Datagrams] = {}
        self._buffer = bytearray(PIECE)
        self._began, self._received = 0.0, 0
        self._places: dict[str, list[Any]] = {}
        self._tls: ssl.SSLContext | None = None

    def begin(self, timeout: float) -> None:
        """Begin a play, in which no connect or write takes more than `timeout` seconds."""
        self.close()
        self._timeout, self._began, self._received = timeout, time.monotonic(), 0

    def close(self) -> None:
        """Cut every connection that is left."""
        for wire in self._wires.values():
            wire.shut("reset")
        self._wires.clear()

    def perform(self, action: Action) -> Answer:
        """Carry out one action. Raises `OSError` for this machine's own limits."""
        match action:
            case Open():
                return self._answer(*self._open(action))
            case Write(name, data):
                return self._answer(*self._wires[name].write(data, self._timeout))
            case Read(name, timeout):
                return self._answer(*self._read(name, timeout))
            case Shut(name, how):
                wire = self._wires[name] if how == "half" else self._wires.pop(name)
                return self._answer(wire.shut(how))
            case Secure(name, timeout):
                return self._answer(*self._secured(self._wires[name], timeout))
            case Sleep(seconds):
                time.sleep(seconds)
                return self._answer(Kind.WAITED)
            case ReadUsage():
                return self._answer(Kind.MEASURED, msgspec.json.encode(self._usage()) if self._usage else b"")

    def _read(self, name: str, timeout: float) -> Result:
        is_probe = name in PROBES
        if self._received >= MOST and not is_probe:
            return Kind.SILENT, f"more than {MOST >> 20} MiB came in one play: nothing more is read".encode()
        kind, data = self._wires[name].read(timeout)
        self._received += len(data) if kind is Kind.RECEIVED and not is_probe else 0
        return kind, data

    def _answer(self, kind: Kind, data: bytes = b"") -> Answer:
        return Answer(kind, time.monotonic() - self._began, data)

    def _secured(self, wire: _Stream | _Datagrams, timeout: float) -> Result:
        if not isinstance(wire, _Stream):
            return Kind.RESET, b"no TLS over datagrams"
        self._tls = self._tls or client_context()
        return wire.secure(self._tls, self.address.host, timeout)

    def _open(self, action: Open) -> Result:
        try:
            sock = self._connected(action)
        except OSError as error:
            if error.errno in OURS:
                raise
            return Kind.RESET, (str(error) or "no answer to connect").encode()
        is_stream = action.transport == "stream"
        wire = _Stream(sock, self._buffer, unread=action.unread) if is_stream else _Datagrams(sock)
        self._wires[action.connection] = wire
        with suppress(OSError):
            if self._addresses[action.listener].scheme == "tcp":
                return Kind.OPENED, str(sock.getsockname()[1]).encode()
        return Kind.OPENED, b""

    def _connected(self, action: Open) -> socket.socket:
        """Return a connected socket; raises `OSError`, of the last place that was tried."""
        if action.listener not in self._addresses:
            raise OSError(f"the address of its listener {action.listener!r} is not known")
        at = self._addresses[action.listener]
        if at.scheme != "tcp" and action.transport != "stream":
            raise OSError(f"datagrams go to a host and port, the target is at {at}")
        refused = OSError("no address")
        for family, place in self._found_places(action.listener):
            kind = socket.SOCK_STREAM if action.transport == "stream" else socket.SOCK_DGRAM
            sock = socket.socket(family, kind)
            try:
                sock.settimeout(self._timeout)
                _prepare(sock, action)
                sock.connect(place)
            except OSError as error:
                sock.close()
                refused = error
            else:
                return sock
        raise refused

    def _found_places(self, listener: str) -> list[Any]:
        """Return (family, address) of a listener of the target, looked up once."""
        if listener not in self._places:
            at = self._addresses[listener]
            if at.scheme == "unix":
                self._places[listener] = [(socket.AF_UNIX, at.path)]
            else:
                found = socket.getaddrinfo(at.host, at.port, type=socket.SOCK_STREAM)
                self._places[listener] = [(family, place) for family, _, _, _, place in found]
        return self._places[listener]


def _prepare(sock: socket.socket, action: Open) -> None:
    """Set what must be set before a connect: small writes leave at once, and few bytes are kept of what is not read."""
    if sock.type is not socket.SOCK_STREAM:
        return
    if sock.family != socket.AF_UNIX:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if action.unread:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, UNREAD_WINDOW)
        with suppress(OSError, AttributeError):  # not every system lets a client choose
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, UNREAD_SEGMENT)
