"""Pushed messages as async iterators, whatever the protocol calls what they are subscribed to."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any, Generic, TypeVar

from wireproof.reference_client.errors import ClientError, ClosedError

__all__ = ["Feeds", "MessageIterator"]

M = TypeVar("M")
Iterated = TypeVar("Iterated", bound="MessageIterator[Any]")


class MessageIterator(Generic[M]):
    """The messages of one name; `async with` subscribes at once, `async for` alone at its first message.

    After a `break`, an `async for` stays subscribed until `close`; leaving an `async with` closes.
    """

    def __init__(self, feeds: Feeds[Any], name: bytes, *, limit: int) -> None:
        self._feeds = feeds
        self.name = name
        """The channel or topic."""
        self._limit = limit
        self._held: asyncio.Queue[M | ClientError | None] = asyncio.Queue()
        self._begun = self._finished = False

    async def begin(self) -> None:
        """Subscribe; may be called again. Raises what `Feeds.begin` raises."""
        if not self._begun:
            self._begun = True
            await self._feeds.begin(self)

    async def close(self) -> None:
        """Unsubscribe unless another iterator has the same name; held messages can still be read."""
        self.finish(None)
        await self._feeds.end(self)

    def take(self, message: M) -> None:
        """Hold a message until it is read; beyond the limit the iteration ends with an error, and none is skipped."""
        if self._finished:
            return
        if self._held.qsize() >= self._limit:
            self.finish(ClientError(f"more than {self._limit} messages of {self.name!r} are unread"))
        else:
            self._held.put_nowait(message)

    def finish(self, why: ClientError | None) -> None:
        """End the iteration after the held messages, with `why` as error if there is one."""
        if not self._finished:
            self._finished = True
            self._held.put_nowait(why)

    def __aiter__(self) -> AsyncIterator[M]:
        return self

    async def __anext__(self) -> M:
        await self.begin()
        got = await self._held.get()
        if got is not None and not isinstance(got, ClientError):
            return got
        self._held.put_nowait(got)
        if got is None:
            raise StopAsyncIteration
        raise got

    async def __aenter__(self: Iterated) -> Iterated:
        await self.begin()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class Feeds(ABC, Generic[Iterated]):
    """The iterators of one client; the first one of a name subscribes, the last one unsubscribes."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._open: dict[Iterated, None] = {}
        self._over: ClientError | None = None

    @abstractmethod
    async def _added(self, one: Iterated, *, is_first: bool) -> None:
        """Subscribe if that is needed; an iterator for which this raises is removed again."""

    @abstractmethod
    async def _removed(self, one: Iterated, *, is_last: bool) -> None:
        """Unsubscribe if that is needed."""

    async def begin(self, one: Iterated) -> None:
        """Add an iterator.

        Raises ClosedError if the client is closed, and ClientError if the server or the client refuses.
        """
        async with self._turn:
            if self._over is not None:
                raise ClosedError(str(self._over))
            is_first = not self._others(one)
            self._open[one] = None
            try:
                await self._added(one, is_first=is_first)
            except BaseException:
                del self._open[one]
                raise

    async def end(self, one: Iterated) -> None:
        """Remove an iterator."""
        async with self._turn:
            if one in self._open:
                del self._open[one]
                await self._removed(one, is_last=not self._others(one))

    def finish(self, why: ClientError | None) -> None:
        """End every iterator after the messages that it holds, with `why` as error if there is one."""
        self._over = why or ClosedError("the client was closed")
        for one in self._open:
            one.finish(why)
        self._open.clear()

    def _others(self, one: Iterated) -> bool:
        return any(other is not one and other.name == one.name for other in self._open)
