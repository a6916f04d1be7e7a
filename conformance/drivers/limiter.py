"""How many cases play at once: a case that waits leaves its place, and takes one again at once when it wakes."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cached_property
from types import TracebackType

from wireproof.conformance.suite.segmentation import SEGMENTATIONS, WHOLE

Queue = deque[asyncio.Future[None]]


class Limiter:
    """`async with limiter:` waits for one of `places`. A case that wakes is never queued after those not yet begun."""

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


class Room:
    """How many connections are open together: `async with room.of(3):` waits until three more may be.

    Who waits longest comes first, so that one that needs all of it gets it.
    """

    def __init__(self, most: int | None, settle: float = 0.0) -> None:
        """`most`: None for any number; `settle`: seconds until a connection that was closed is so for the target."""
        self._most = self._left = most or 0
        self._settle = settle
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    @asynccontextmanager
    async def of(self, connections: int) -> AsyncIterator[None]:
        """Take as many, or all there are."""
        taken = min(connections, self._most)
        if not taken:
            yield
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append((taken, turn))
        self._next()
        try:
            await turn
            yield
        finally:
            if turn.done() and not turn.cancelled():
                asyncio.get_running_loop().call_later(self._settle, self._back, taken)
            else:
                turn.cancel()
                self._next()

    def _back(self, taken: int) -> None:
        self._left += taken
        self._next()

    def _next(self) -> None:
        while self._waiting:
            wanted, turn = self._waiting[0]
            if not turn.cancelled():
                if wanted > self._left:
                    return
                self._left -= wanted
                turn.set_result(None)
            self._waiting.popleft()


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
