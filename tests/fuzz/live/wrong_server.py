"""A server that does one thing wrong once it is sent two bytes 0xff on one connection; started by tests.

python wrong_server.py WRONG PORT [PROTOCOL PROFILE VARIANT]
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from wireproof.reference_server.clock import LoopClock
from wireproof.reference_server.registry import create_service
from wireproof.reference_server.service import Limits
from wireproof.reference_server.streams import StreamConnections

TRIGGER = b"\xff\xff"
KEPT: list[bytearray] = []


def dies(connection: Any) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def hangs(connection: Any) -> None:
    time.sleep(3600)


def spins(connection: Any) -> None:
    def again() -> None:
        asyncio.get_running_loop().call_soon(again)

    again()


def grows(connection: Any) -> None:
    """Take 64 MiB, once: a script may send the trigger hundreds of times, and a machine without memory is slow."""
    if not KEPT:
        KEPT.append(bytearray(b"\xa5") * (64 << 20))


def is_stuck(connection: Any) -> None:
    connection.data_received = lambda data: None


def ends(connection: Any) -> None:
    connection.connection.transport.close()


def is_reported_by_a_sanitizer(connection: Any) -> None:
    print(
        "SUMMARY: AddressSanitizer: heap-buffer-overflow /build/7/store.c:12 in store_put", file=sys.stderr, flush=True
    )


WRONG: dict[str, Callable[[Any], None]] = {
    one.__name__: one for one in (dies, hangs, spins, grows, is_stuck, ends, is_reported_by_a_sanitizer)
}


class Wrong(asyncio.Protocol):
    """Hands everything to a connection of the reference, and does something wrong after the trigger."""

    def __init__(self, connection: Any, wrong: Callable[[Any], None]) -> None:
        self.connection = connection
        self.wrong = wrong
        self.last = b""
        self.connection_made = connection.connection_made  # type: ignore[method-assign]
        self.connection_lost = connection.connection_lost  # type: ignore[method-assign]
        self.eof_received = connection.eof_received  # type: ignore[method-assign]
        self.pause_writing = connection.pause_writing  # type: ignore[method-assign]
        self.resume_writing = connection.resume_writing  # type: ignore[method-assign]

    def data_received(self, data: bytes) -> None:
        self.connection.data_received(data)
        if TRIGGER in self.last + data:
            self.wrong(self)
        self.last = data[-1:]


async def main(wrong: str, port: int, name: str = "throttr", profile: str = "7.1.0", variant: str = "uint16") -> None:
    loop = asyncio.get_running_loop()
    service = create_service(name, profile=profile, variant=variant, clock=LoopClock(loop))
    connections = StreamConnections(service, Limits(), 1000)
    server = await loop.create_server(lambda: Wrong(connections.protocol(), WRONG[wrong]), "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:]))
