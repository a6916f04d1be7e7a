"""Notices the end of a server that wireproof started while cases play, and ends one that answers nobody any more."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from wireproof.conformance.run.processes import ServerProcess

__all__ = ["TICK", "asked", "give_up", "watched"]

TICK = 0.02
"""Seconds between two looks at whether the server is there."""
HEARTBEAT = 0.5
"""Seconds between two questions to a server that may answer nobody any more."""
WORKS = 0.1
"""The share of the time from which on a server that uses CPU is at work."""


def give_up(server: ServerProcess) -> None:
    """End a server that runs and answers nobody."""
    server.give_up("answered nobody any more, and was ended by wireproof")


async def asked(
    server: ServerProcess, serves: Callable[[], Awaitable[bool]], again: int, most: float
) -> tuple[float, float] | None:
    """Ask whether the server answers; return None where it does, else the CPU that it used and the time, in seconds.

    It is asked `again` so often where it was at work and had less than `most` seconds of CPU.
    """
    began, before = time.monotonic(), server.usage().cpu
    for _ in range(again + 1):
        if await serves():
            return None
        used, seconds = server.usage().cpu - before, time.monotonic() - began
        if not WORKS * seconds < used < most:
            break
    return used, seconds


@asynccontextmanager
async def watched(
    server: ServerProcess, death: asyncio.Future[None], serves: Callable[[], Awaitable[bool]] | None
) -> AsyncIterator[None]:
    """Set `death` when the server ends within the block; where `serves` is given, ask all the time whether it answers.

    A server that has not answered two questions in a row is ended.
    """
    watches = [asyncio.create_task(_watch(server, death))]
    watches += [asyncio.create_task(_ask(server, serves))] if serves is not None else []
    try:
        yield
    finally:
        for watch in watches:
            watch.cancel()


async def _watch(server: ServerProcess, death: asyncio.Future[None]) -> None:
    while server.death() is None:
        await asyncio.sleep(TICK)
    death.set_result(None)


async def _ask(server: ServerProcess, serves: Callable[[], Awaitable[bool]]) -> None:
    silent = 0
    while silent < 2:
        await asyncio.sleep(HEARTBEAT)
        silent = 0 if await serves() else silent + 1
    give_up(server)
