"""The harness's side of one connection of an SDK: a listener, the connections made to it, what came through them."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import Protocol

from conformance.trace import Kind
from reference_server.service import Session, Write

__all__ = ["LOOPBACK", "Door"]

LOOPBACK = "127.0.0.1"


class House(Protocol):
    """What a door tells its owner, and asks of it."""

    def note(self, connection: str, kind: Kind, data: bytes = b"") -> None:
        """Write down what happened."""

    def greeter(self, write: Write) -> Session:
        """Return what answers an SDK before it says that it is connected."""


class Door:
    """A listener, and the connection that was made to it last."""

    def __init__(self, stage: House, name: str) -> None:
        self.stage, self.name = stage, name
        self.port = 0
        self.greets = False
        self.greeting = b""
        """What it asked before it said that it is connected."""
        self.came = b""
        self.ended = False
        self._server: asyncio.Server | None = None
        self._wires: list[Wire] = []
        self._current = 0

    async def listen(self) -> None:
        """Listen, at the same port as before."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: Wire(self), LOOPBACK, self.port, reuse_address=True)
        self.port = self._server.sockets[0].getsockname()[1]

    def shut(self) -> None:
        """Listen no more."""
        if self._server is not None:
            self._server.close()
            self._server = None

    def close(self) -> None:
        """Close the listener and every connection."""
        self.shut()
        for wire in self._wires:
            wire.transport.abort()

    def take(self, size: int | None = None) -> bytes:
        """Take the first `size` bytes of what came, or all."""
        taken, self.came = (self.came, b"") if size is None else (self.came[:size], self.came[size:])
        return taken

    def write(self, data: bytes) -> None:
        """Write to the connection that is open."""
        if self._wires and not self.wire.transport.is_closing():
            self.stage.note(self.name, Kind.SENT, data)
            self.wire.transport.write(data)

    def end(self, *, reset: bool) -> None:
        """End the connection that is open; the SDK may have ended it already."""
        if not self._wires or self.wire.transport.is_closing():
            return
        self.stage.note(self.name, Kind.CLOSED, b"RST" if reset else b"")
        if reset:
            sock = self.wire.transport.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.wire.transport.abort()
        else:
            self.wire.transport.close()

    @property
    def turned_away(self) -> bool:
        """Whether the SDK goes on with another connection than the one that is looked at."""
        later = self._wires[self._current + 1 :]
        return bool(later) and (self.ended or (not self.came and any(one.early for one in later)))

    def renew(self) -> bool:
        """Turn to the next connection that was made, if there is one."""
        if self._current + 1 >= len(self._wires):
            return False
        self._current += 1
        self.came, self.ended = bytes(self.wire.early), self.wire.ended
        return True

    @property
    def wire(self) -> Wire:
        """The connection that is looked at."""
        return self._wires[self._current]

    def opened(self, wire: Wire) -> None:
        """Take a new connection."""
        self._wires.append(wire)
        self.stage.note(self.name, Kind.OPENED)

    def received(self, wire: Wire, data: bytes) -> None:
        """Take bytes; those of a connection not looked at yet are kept with it."""
        self.stage.note(self.name, Kind.RECEIVED, data)
        if wire is self.wire:
            self.came += data
        else:
            wire.early += data

    def closed(self, wire: Wire) -> None:
        """The SDK ended a connection."""
        wire.ended = True
        if wire is self.wire:
            self.ended = True
        self.stage.note(self.name, Kind.ENDED)


class Wire(asyncio.Protocol):
    """One accepted connection."""

    transport: asyncio.Transport

    def __init__(self, door: Door) -> None:
        self._door = door
        self._greeter: Session | None = None
        self.early = bytearray()
        self.ended = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]
        self._door.opened(self)

    def data_received(self, data: bytes) -> None:
        if self._door.greets:
            self._door.greeting += data
            self._greeter = self._greeter or self._door.stage.greeter(self.transport.write)
            self._greeter.data_received(data)
        else:
            self._door.received(self, data)

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        if self._greeter is not None:
            self._greeter.connection_lost()
        self._door.closed(self)
