"""The messages of a topic as async iterators."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import suppress
from types import TracebackType
from typing import Protocol

from wireproof.protocols.namechan import Replay
from wireproof.protocols.namechan.replies import Message
from wireproof.reference_client.errors import BadRequestError, ClientError, ClosedError, RefusedError

__all__ = ["Subscription", "TopicFeeds"]


class TopicSubscriber(Protocol):
    """The methods of the client that an iterator uses."""

    def subscribe(self, topic: bytes, *, replay: int, message: int) -> Awaitable[object]:
        """Send a Subscribe."""

    def unsubscribe(self, topic: bytes) -> Awaitable[object]:
        """Send an Unsubscribe."""


class TopicFeeds:
    """The iterators of one client: which of them gets a message, and which topics are subscribed."""

    def __init__(self, client: TopicSubscriber) -> None:
        self._client = client
        self._turn = asyncio.Lock()
        self._open: dict[Subscription, None] = {}
        self._over: ClientError | None = None

    async def begin(self, one: Subscription) -> None:
        """Add an iterator; subscribe for the first one of a topic.

        Raises BadRequestError for a replay beside another iterator of the topic, since a second Subscribe changes
        nothing (N8); ClosedError if the client is closed; and the errors of `Client.subscribe`.
        """
        async with self._turn:
            if self._over is not None:
                raise ClosedError(str(self._over))
            others = self._others(one)
            if others and one.replay != Replay.FROM_CURRENT:
                raise BadRequestError(f"{one.topic!r} is iterated already: a second iterator begins with what comes")
            self._open[one] = None
            try:
                if not others:
                    await self._client.subscribe(one.topic, replay=one.replay, message=one.message)
            except BaseException:
                del self._open[one]
                raise

    async def end(self, one: Subscription) -> None:
        """Remove an iterator; unsubscribe for the last one of a topic."""
        async with self._turn:
            known = one in self._open
            self._open.pop(one, None)
            if known and not self._others(one):
                with suppress(ClosedError, RefusedError):
                    await self._client.unsubscribe(one.topic)

    def give(self, topic: bytes, message: Message) -> None:
        """Pass a message to every iterator of its topic."""
        for one in list(self._open):
            if one.topic == topic:
                one.take(message)

    def leave(self, topic: bytes) -> None:
        """End the iterators of a topic, after the messages that they hold."""
        for one in [one for one in self._open if one.topic == topic]:
            del self._open[one]
            one.finish(None)

    def finish(self, why: ClientError | None) -> None:
        """End every iterator after the messages that it holds, with `why` as error if there is one."""
        self._over = why or ClosedError("the client was closed")
        for one in self._open:
            one.finish(why)
        self._open.clear()

    def _others(self, one: Subscription) -> bool:
        return any(other is not one and other.topic == one.topic for other in self._open)


class Subscription:
    """The messages of one topic; `async with` subscribes at once, `async for` alone at its first message.

    After a `break`, an `async for` stays subscribed until `close`; leaving an `async with` closes.
    """

    def __init__(self, feeds: TopicFeeds, topic: bytes, *, replay: int, message: int, limit: int) -> None:
        self.topic = topic
        self.replay = replay
        self.message = message
        self._feeds = feeds
        self._limit = limit
        self._held: asyncio.Queue[Message | ClientError | None] = asyncio.Queue()
        self._begun = self._finished = False

    async def begin(self) -> None:
        """Subscribe; may be called again. Raises the errors of `TopicFeeds.begin`."""
        if not self._begun:
            self._begun = True
            await self._feeds.begin(self)

    async def close(self) -> None:
        """Unsubscribe unless another iterator has the same topic; held messages can still be read."""
        self.finish(None)
        await self._feeds.end(self)

    def take(self, message: Message) -> None:
        """Hold a message until it is read; beyond the limit the iteration ends with an error, and none is skipped."""
        if self._finished:
            return
        if self._held.qsize() >= self._limit:
            self.finish(ClientError(f"more than {self._limit} messages of {self.topic!r} are unread"))
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
