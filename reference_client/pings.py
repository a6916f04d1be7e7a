"""Signs of life of a client that has nothing else to say. Knows no protocol."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

__all__ = ["Pings"]


class Pings:
    """Pings whenever nothing was sent for an interval, between `begin` and `end`."""

    def __init__(self, interval: float, ping: Callable[[], Awaitable[bool]]) -> None:
        """`interval` in seconds; `ping` sends one and says whether to go on. It tells of losses itself."""
        self._interval = interval
        self._ping = ping
        self._sent = 0.0
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Ping from now on."""
        self.end()
        self.sent()
        self._task = asyncio.get_running_loop().create_task(self._run())

    def sent(self) -> None:
        """Note that something was sent: a ping is not due before another interval."""
        self._sent = asyncio.get_running_loop().time()

    def end(self) -> None:
        """Ping no more."""
        if self._task is not None and self._task is not asyncio.current_task():
            self._task.cancel()
        self._task = None

    async def _run(self) -> None:
        loop, mine = asyncio.get_running_loop(), self._task
        while self._task is mine:
            left = self._sent + self._interval - loop.time()
            if left > 0:
                await asyncio.sleep(left)
            elif not await self._ping():
                return
