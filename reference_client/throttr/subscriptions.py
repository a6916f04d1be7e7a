"""Pushed messages as async iterators."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol

from wireproof.reference_client.errors import ClientError, ClosedError

__all__ = ["Feeds", "Message", "Subscriber", "Subscription"]


@dataclass(frozen=True, slots=True)
class Message:
    """One pushed message; profile 7.1.0 does not say on which channel it was published (`channel` is None)."""

    channel: bytes | None
    payload: bytes


class Subscriber(Protocol):
    """The methods of the client that a subscription uses."""

    def subscribe(self, channel: bytes) -> Awaitable[bool]:
        """Send SUBSCRIBE."""

    def unsubscribe(self, channel: bytes) -> Awaitable[bool]:
        """Send UNSUBSCRIBE."""


class Feeds:
    """The iterators of one client: which of them gets a message, and which channels are subscribed."""

    def __init__(self, client: Subscriber) -> None:
        self._client = client
        self._turn = asyncio.Lock()
        self._open: dict[Subscription, None] = {}
        self._over: ClientError | None = None

    async def begin(self, one: Subscription) -> None:
        """Add an iterator; send SUBSCRIBE for the first one of a channel.

        Raises ClosedError if the client is closed, and ClientError if the server refuses.
        """
        async with self._turn:
            if self._over is not None:
                raise ClosedError(str(self._over))
            wanted = one.subscribes and not self._others(one)
            self._open[one] = None
            try:
                if wanted and not await self._client.subscribe(one.channel):
                    raise ClientError(f"the server refused SUBSCRIBE to {one.channel!r}")
            except BaseException:
                del self._open[one]
                raise

    async def end(self, one: Subscription) -> None:
        """Remove an iterator; send UNSUBSCRIBE for the last one of a channel."""
        async with self._turn:
            known = one in self._open
            self._open.pop(one, None)
            if known and one.subscribes and not self._others(one):
                with suppress(ClosedError):
                    await self._client.unsubscribe(one.channel)

    def give(self, message: Message) -> None:
        """Pass a message to every iterator of its channel; to all of them if it names none."""
        for one in list(self._open):
            if message.channel is None or message.channel == one.channel:
                one.take(message)

    def finish(self, why: ClientError | None) -> None:
        """End every iterator after the messages that it holds, with `why` as error if there is one."""
        self._over = why or ClosedError("the client was closed")
        for one in self._open:
            one.finish(why)
        self._open.clear()

    def _others(self, one: Subscription) -> bool:
        return any(other is not one and other.subscribes and other.channel == one.channel for other in self._open)


class Subscription:
    """The messages of one channel; `async with` subscribes at once, `async for` alone at its first message.

    After a `break`, an `async for` stays subscribed until `close`; leaving an `async with` closes.
    """

    def __init__(self, feeds: Feeds, channel: bytes, *, limit: int, subscribes: bool) -> None:
        self.channel = channel
        self.subscribes = subscribes
        self._feeds = feeds
        self._limit = limit
        self._held: asyncio.Queue[Message | ClientError | None] = asyncio.Queue()
        self._begun = self._finished = False

    async def begin(self) -> None:
        """Subscribe; may be called again. Raises ClientError if the server refuses."""
        if not self._begun:
            self._begun = True
            await self._feeds.begin(self)

    async def close(self) -> None:
        """Unsubscribe unless another iterator has the same channel; held messages can still be read."""
        self.finish(None)
        await self._feeds.end(self)

    def take(self, message: Message) -> None:
        """Hold a message until it is read; beyond the limit the iteration ends with an error, and none is skipped."""
        if self._finished:
            return
        if self._held.qsize() >= self._limit:
            self.finish(ClientError(f"more than {self._limit} messages of {self.channel!r} are unread"))
        else:
            self._held.put_nowait(message)

    def finish(self, why: ClientError | None) -> None:
        """End the iteration after the held messages, with `why` as error if there is one."""
        if not self._finished:
            self._finished = True
            self._held.put_nowait(why)

    def __aiter__(self) -> AsyncIterator[Message]:
        return self

    async def __anext__(self) -> Message:
        await self.begin()
        match await self._held.get():
            case Message() as message:
                return message
            case why:
                self._held.put_nowait(why)
                if why is None:
                    raise StopAsyncIteration
                raise why

    async def __aenter__(self) -> Subscription:
        await self.begin()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
