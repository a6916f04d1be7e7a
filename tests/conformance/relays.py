"""A TCP relay between wireproof and a server, as networks have them: far away, narrow, or behind another address.

As a program: `python -m tests.conformance.relays HOST PORT [LISTEN] [--rtt S] [--most N] [--over reset|close|refuse]`.
"""

from __future__ import annotations

import argparse
import asyncio
import errno
import socket
import struct
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, cast

from wireproof.conformance.model.targets import Address

RESET = struct.pack("ii", 1, 0)
AHEAD = 1024 * 1024
"""Bytes on their way in one direction, beyond which the relay does not read."""


@dataclass(frozen=True)
class Line:
    """What the relay does: `rtt` in seconds; at most `most` connections, and what becomes of one more."""

    rtt: float = 0.0
    most: int | None = None
    over: str = "reset"
    """`reset`: taken, then reset; `close`: taken, then closed; `refuse`: nobody listens meanwhile."""


class _Side(asyncio.Protocol):
    """One side of a relayed connection; what comes leaves on the other side half a round trip later."""

    def __init__(self, relay: Relay) -> None:
        self.relay = relay
        self.other: _Side | None = None
        self.transport: asyncio.Transport | None = None
        self.waiting: deque[tuple[float, str, bytes]] = deque()
        self.held = 0
        self.blocked = False
        self.ended = False
        """Its end was passed on."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.relay.sides.add(self)
        with suppress(OSError):
            transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def data_received(self, data: bytes) -> None:
        self.held += len(data)
        if self.held > AHEAD and self.transport is not None:
            self.transport.pause_reading()
        self.later("data", data)

    def eof_received(self) -> bool:
        self.later("eof")
        return True

    def connection_lost(self, error: Exception | None) -> None:
        self.transport = None
        self.relay.sides.discard(self)
        if not self.relay.is_over:
            self.later("reset" if error else "end")

    def pause_writing(self) -> None:
        self.blocked = True

    def resume_writing(self) -> None:
        self.blocked = False
        if self.other is not None:
            self.other.pump()

    def later(self, kind: str, data: bytes = b"") -> None:
        loop = asyncio.get_running_loop()
        self.waiting.append((loop.time() + self.relay.line.rtt / 2, kind, data))
        if self.relay.line.rtt:
            loop.call_at(self.waiting[-1][0], self.pump)
        else:
            self.pump()

    def pump(self) -> None:
        """Pass on what is due; nothing before there is another side (Python 3.11.2 reads although that is paused)."""
        if self.other is None:
            return
        now, out = asyncio.get_running_loop().time() + 1e-4, self.other.transport
        while self.waiting and self.waiting[0][0] <= now and not (self.other.blocked and out):
            _, kind, data = self.waiting.popleft()
            self.held -= len(data)
            if self.transport is not None and self.held <= AHEAD and not self.transport.is_reading():
                self.transport.resume_reading()
            if out is None or out.is_closing():
                continue
            if kind == "data":
                out.write(data)
            elif kind == "eof":
                self.ended = True
                with suppress(OSError):
                    out.write_eof()
                if self.other is not None and self.other.ended:
                    self.other.end()
                    self.end()
            elif kind == "reset":
                cut(out)
            else:
                out.close()

    def end(self) -> None:
        """Close this side: both have ended."""
        if self.transport is not None:
            self.transport.close()


def cut(transport: asyncio.Transport) -> None:
    """Reset a connection."""
    with suppress(OSError):
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    transport.abort()


class _Front(_Side):
    """The side of the client."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        assert self.transport is not None
        relay = self.relay
        if relay.line.most is not None and len(relay.open) >= relay.line.most:
            relay.turned_away += 1
            if relay.line.over == "close":
                self.transport.close()
            else:
                cut(self.transport)
            return
        relay.open.add(self)
        self.transport.pause_reading()
        self.opening = asyncio.get_running_loop().create_task(self._connect())
        relay.narrow()

    async def _connect(self) -> None:
        loop, back = asyncio.get_running_loop(), _Side(self.relay)
        back.other = self
        try:
            await loop.create_connection(lambda: back, self.relay.target.host, self.relay.target.port)
        except OSError:
            if self.transport is not None:
                cut(self.transport)
            return
        self.other = back
        if self.transport is not None:
            self.transport.resume_reading()
        self.pump()

    def connection_lost(self, error: Exception | None) -> None:
        super().connection_lost(error)
        self.relay.open.discard(self)
        self.relay.narrow()


class Relay:
    """A relay to a target; `down` and `up` make it go away and come back."""

    def __init__(self, target: Address, line: Line, port: int = 0) -> None:
        self.target, self.line, self.port = target, line, port
        self.open: set[_Front] = set()
        self.sides: set[_Side] = set()
        self.is_over = False
        self.turned_away = 0
        self._server: Any = None
        self._down = False

    async def up(self) -> None:
        """Listen."""
        self._down = False
        await self._listen()

    def down(self) -> None:
        """Listen no more, and reset what is open, as a server does that is ended."""
        self._down = True
        self._ignore()
        for one in list(self.open):
            for side in (one, one.other):
                if side is not None and side.transport is not None:
                    cut(side.transport)

    async def close(self) -> None:
        """Go away for good."""
        self.is_over = True
        self.down()
        openings = [one.opening for one in self.open]
        for task in openings:
            task.cancel()
        await asyncio.gather(*openings, return_exceptions=True)
        for _ in range(50):
            for side in list(self.sides):
                if side.transport is not None:
                    cut(side.transport)
            await asyncio.sleep(0)
            if not self.sides:
                break
        await asyncio.sleep(0.01)

    async def _listen(self) -> None:
        if self._server is None and not self._down:
            loop = asyncio.get_running_loop()
            backlog = 4 if self.line.over == "refuse" and self.line.most else 100
            try:
                self._server = await loop.create_server(
                    lambda: _Front(self), "127.0.0.1", self.port, backlog=backlog, reuse_address=True
                )
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
                return
            self.port = self._server.sockets[0].getsockname()[1]

    def _ignore(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    def narrow(self) -> None:
        """Listen while there is room, where more are refused."""
        if self.line.most is None or self.line.over != "refuse":
            return
        if len(self.open) >= self.line.most:
            self._ignore()
        elif self._server is None and not self._down:
            self._again = asyncio.get_running_loop().create_task(self._listen())


@asynccontextmanager
async def relayed(target: Address, line: Line, port: int = 0) -> AsyncIterator[tuple[Address, Relay]]:
    """Relay to a target until the block ends; yields where, and the relay."""
    relay = Relay(target, line, port)
    await relay.up()
    try:
        yield Address("tcp", "127.0.0.1", relay.port), relay
    finally:
        await relay.close()


async def _main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("host")
    parser.add_argument("port", type=int)
    parser.add_argument("listen", type=int, nargs="?", default=0)
    parser.add_argument("--rtt", type=float, default=0.0)
    parser.add_argument("--most", type=int)
    parser.add_argument("--over", default="reset")
    given = parser.parse_args()
    line = Line(given.rtt, given.most, given.over)
    async with relayed(Address("tcp", given.host, given.port), line, given.listen) as (address, _):
        print(f"listening {address}", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_main())
