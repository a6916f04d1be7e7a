"""Misbehaving servers in threads of their own, for commands that run their own loop."""

import asyncio
import gc
import threading
import warnings
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from queue import Queue
from typing import Any

from tests.conformance.relays import Line, relayed
from tests.conformance.servers import Handle, reference, serving, torn_service
from wireproof.conformance.model.targets import Address, parse_address


@contextmanager
def in_thread(handle: Handle) -> Iterator[Address]:
    """Serve `handle` in a thread until the block ends."""
    with _in_thread(serving(handle)) as address:
        yield address


@contextmanager
def in_thread_service(kind: Any) -> Iterator[str]:
    """Serve the reference with sessions of such a kind (`torn.py`) until the block ends."""
    with _in_thread(torn_service(kind)) as address:
        yield str(address)


@contextmanager
def in_thread_relay(target: str, line: Line) -> Iterator[str]:
    """Relay to a target until the block ends."""
    with _in_thread(_relay(target, line)) as address:
        yield str(address)


@asynccontextmanager
async def _relay(target: str, line: Line) -> AsyncIterator[Address]:
    async with relayed(parse_address(target), line) as (address, _):
        yield address


@contextmanager
def in_thread_reference(profile: str, variant: str, mutant: str) -> Iterator[str]:
    """Serve a mutant of the reference in a thread until the block ends."""
    with _in_thread(reference(profile, variant, mutant)) as address:
        yield str(address)


@contextmanager
def _in_thread(served: AbstractAsyncContextManager[Address]) -> Iterator[Address]:
    ready: Queue[tuple[Address, asyncio.AbstractEventLoop, asyncio.Event]] = Queue()

    async def main() -> None:
        stop = asyncio.Event()
        async with served as address:
            ready.put((address, asyncio.get_running_loop(), stop))
            await stop.wait()

    thread = threading.Thread(target=lambda: asyncio.run(main()))
    thread.start()
    address, loop, stop = ready.get(timeout=10)
    try:
        yield address
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(timeout=10)
        _collected()


def _collected() -> None:
    """Let go of connections that were being accepted when the server ended: no test that comes later is to blame."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
