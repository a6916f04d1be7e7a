"""How many cases play at once: a case that waits leaves its place, and takes one again at once when it wakes."""

from __future__ import annotations

import asyncio
from collections import deque
from functools import cached_property
from types import TracebackType

from wireproof.conformance.suite.segmentation import SEGMENTATIONS, WHOLE

Queue = deque[asyncio.Future[None]]


class Limiter:
    """`async with limiter:` waits for one of `places`. A case that wakes is never queued behind those not yet begun."""

    def __init__(self, places: int) -> None:
        self.places = places
        self.inside = 0
        self._first: Queue = deque()
        self._queue: Queue = deque()

    async def __aenter__(self) -> Limiter:
        await self._enter(self._queue)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.step_out()

    @cached_property
    def ahead(self) -> Ahead:
        """The same places, before all that wait for one otherwise."""
        return Ahead(self)

    @cached_property
    def aside(self) -> Limiter:
        """As many places more, for those that hardly do anything but wait."""
        return Limiter(self.places)

    def place(self, segmentation: str) -> Limiter | Ahead:
        """Return where a play under a delivery takes its place; others than whole take longer, so they begin early."""
        if segmentation == WHOLE.name:
            return self
        return self.aside if SEGMENTATIONS[segmentation].slow else self.ahead

    async def _enter(self, queue: Queue) -> None:
        if self.inside < self.places:
            self.inside += 1
            return
        turn = asyncio.get_running_loop().create_future()
        queue.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.step_out()
            raise

    def step_out(self) -> None:
        """Leave a place; who waits longest takes it."""
        self.inside -= 1
        for queue in (self._first, self._queue):
            while queue and self.inside < self.places:
                turn = queue.popleft()
                if not turn.done():
                    self.inside += 1
                    turn.set_result(None)

    def step_in(self) -> None:
        """Take a place at once, even if that makes one too many."""
        self.inside += 1


class Ahead:
    """`async with limiter.ahead:` waits for a place at that limiter before all others."""

    def __init__(self, limiter: Limiter) -> None:
        self._gate = limiter

    async def __aenter__(self) -> Ahead:
        await self._gate._enter(self._gate._first)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._gate.step_out()
