"""A server with real sockets in this process, and a player in a thread that talks to it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Sequence
from typing import Any

import uvloop

from wireproof.reference_server.clock import Clock
from wireproof.reference_server.server import Endpoints, serve
from wireproof.reference_server.service import Limits, Service

PATIENCE = 10
LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "asyncio": asyncio.new_event_loop,
    "uvloop": uvloop.new_event_loop,
}

Play = Callable[[list[str]], None]


def served(
    loop_name: str, make: Callable[[Clock], Service], endpoints: Endpoints, play: Play, limits: Limits | None = None
) -> list[str]:
    """Serve until `play`, given the addresses, is done in its thread; return the addresses, raise what it raised."""
    addresses: list[str] = []

    async def go() -> None:
        loop = asyncio.get_running_loop()
        playing: list[asyncio.Future[None]] = []

        def stop(future: Any) -> None:
            os.kill(os.getpid(), signal.SIGTERM)

        def ready(listening: Sequence[str]) -> None:
            addresses.extend(listening)
            playing.append(loop.run_in_executor(None, play, addresses))
            playing[0].add_done_callback(stop)

        await serve(make, endpoints, limits or Limits(), ready)
        await playing[0]

    with asyncio.Runner(loop_factory=LOOPS[loop_name]) as runner:
        runner.run(asyncio.wait_for(go(), PATIENCE))
    return addresses
