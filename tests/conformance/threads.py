"""A misbehaving server in a thread of its own, for commands that run their own loop."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from queue import Queue

from conformance.targets import Address
from tests.conformance.servers import Handle, serving


@contextmanager
def in_thread(handle: Handle) -> Iterator[Address]:
    """Serve `handle` in a thread until the block ends."""
    ready: Queue[tuple[Address, asyncio.AbstractEventLoop, asyncio.Event]] = Queue()

    async def main() -> None:
        stop = asyncio.Event()
        async with serving(handle) as address:
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
