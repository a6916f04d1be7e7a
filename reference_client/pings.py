"""Keep-alives of an idle client. Knows no protocol."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

__all__ = ["Pings"]


class Pings:
    """Pings after each interval in which nothing was sent, from `begin` to `end`."""

    def __init__(self, interval: float, ping: Callable[[], Awaitable[bool]]) -> None:
        """`interval` is in seconds; `ping` sends one, reports losses itself, and returns whether to continue."""
        self._interval = interval
        self._ping = ping
        self._sent = 0.0
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Start to ping."""
        self.end()
        self.sent()
        self._task = asyncio.get_running_loop().create_task(self._run())

    def sent(self) -> None:
        """Report that something was sent: the interval begins again."""
        self._sent = asyncio.get_running_loop().time()

    def end(self) -> None:
        """Stop to ping."""
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
