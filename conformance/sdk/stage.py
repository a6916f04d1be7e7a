"""The server that a driver is checked against: the reference server in this process, with a record of what crosses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from reference_server.clock import LoopClock
from reference_server.registry import create_service
from reference_server.service import Limits, Peer, Service, Session, Write
from reference_server.streams import StreamConnections

__all__ = ["Crossing", "Stage", "staged"]

LOOPBACK = "127.0.0.1"


@dataclass(slots=True)
class Crossing:
    """One connection of the SDK: what crossed it, and a way to say what nobody asked for."""

    say: Callable[[bytes], None]
    """Writes to the SDK past the server."""
    cut: Callable[[], None]
    """Closes the connection from the server's side."""
    came: bytearray = field(default_factory=bytearray)
    """What the SDK sent since it was looked at last."""
    went: bytearray = field(default_factory=bytearray)
    """What the server sent since it was looked at last."""

    def take(self) -> tuple[bytes, bytes]:
        """Return what came and what went since the last look."""
        taken = bytes(self.came), bytes(self.went)
        self.came.clear()
        self.went.clear()
        return taken


class Stage(Service):
    """A service whose sessions are recorded, oldest first."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self.crossings: list[Crossing] = []
        self.port = 0

    def connect(self, peer: Peer, write: Write, close: Callable[[], None]) -> Session:
        """Begin a recorded session."""
        crossing = Crossing(write, close)
        self.crossings.append(crossing)

        def recorded(data: bytes) -> None:
            crossing.went += data
            write(data)

        return _Recorded(self._service.connect(peer, recorded, close), crossing)

    def close(self) -> None:
        """Close the service."""
        self._service.close()


class _Recorded(Session):
    """Hands on everything, and keeps what came."""

    def __init__(self, session: Session, crossing: Crossing) -> None:
        self._session = session
        self._crossing = crossing

    def data_received(self, data: bytes) -> None:
        self._crossing.came += data
        self._session.data_received(data)

    def eof_received(self) -> None:
        self._session.eof_received()

    def connection_lost(self) -> None:
        self._session.connection_lost()

    def pause_writing(self) -> None:
        self._session.pause_writing()

    def resume_writing(self) -> None:
        self._session.resume_writing()


@asynccontextmanager
async def staged(protocol: str, profile: str, variant: str) -> AsyncIterator[Stage]:
    """Serve on a free port of the loopback; raises ValueError for a profile or variant that is not known."""
    loop = asyncio.get_running_loop()
    stage = Stage(create_service(protocol, profile=profile, variant=variant, clock=LoopClock(loop)))
    connections = StreamConnections(stage, Limits(), 1000)
    server = await loop.create_server(connections.protocol, LOOPBACK, 0)
    stage.port = server.sockets[0].getsockname()[1]
    try:
        yield stage
    finally:
        server.close()
        connections.cut()
        await asyncio.sleep(0)
        stage.close()
