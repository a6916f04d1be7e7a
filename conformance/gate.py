"""How many cases play at once: a case that waits leaves its place, and takes one again at once when it wakes."""

from __future__ import annotations

import asyncio
from collections import deque
from types import TracebackType


class Gate:
    """`async with gate:` waits for one of `places`. Whoever wakes is never queued behind those that did not begin."""

    def __init__(self, places: int) -> None:
        self.places = places
        self.inside = 0
        self._queue: deque[asyncio.Future[None]] = deque()

    async def __aenter__(self) -> Gate:
        if self.inside >= self.places:
            turn = asyncio.get_running_loop().create_future()
            self._queue.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                if turn.done() and not turn.cancelled():
                    self.step_out()
                raise
        else:
            self.inside += 1
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.step_out()

    def step_out(self) -> None:
        """Leave a place; who waits longest takes it."""
        self.inside -= 1
        while self._queue and self.inside < self.places:
            turn = self._queue.popleft()
            if not turn.done():
                self.inside += 1
                turn.set_result(None)

    def step_in(self) -> None:
        """Take a place at once, even if that makes one too many."""
        self.inside += 1
