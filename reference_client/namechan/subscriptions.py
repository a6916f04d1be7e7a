"""The messages of a topic as async iterators."""

from __future__ import annotations

from collections.abc import Awaitable
from contextlib import suppress
from typing import Protocol

from wireproof.protocols.namechan import Replay
from wireproof.protocols.namechan.replies import Message
from wireproof.reference_client.errors import BadRequestError, ClosedError, RefusedError
from wireproof.reference_client.iteration import Feeds, MessageIterator

__all__ = ["Subscription", "TopicFeeds"]


class TopicSubscriber(Protocol):
    """The methods of the client that an iterator uses."""

    def subscribe(self, topic: bytes, *, replay: int, message: int) -> Awaitable[object]:
        """Send a Subscribe."""

    def unsubscribe(self, topic: bytes) -> Awaitable[object]:
        """Send an Unsubscribe."""


class Subscription(MessageIterator[Message]):
    """The messages of one topic, from where `replay` says."""

    def __init__(self, feeds: TopicFeeds, topic: bytes, *, replay: int, message: int, limit: int) -> None:
        super().__init__(feeds, topic, limit=limit)
        self.replay = replay
        self.message = message

    @property
    def topic(self) -> bytes:
        """The topic."""
        return self.name


class TopicFeeds(Feeds[Subscription]):
    """The iterators of one client: which of them gets a message, and which topics are subscribed."""

    def __init__(self, client: TopicSubscriber) -> None:
        super().__init__()
        self._client = client

    def give(self, topic: bytes, message: Message) -> None:
        """Pass a message to every iterator of its topic."""
        for one in list(self._open):
            if one.name == topic:
                one.take(message)

    def leave(self, topic: bytes) -> None:
        """End the iterators of a topic, after the messages that they hold."""
        for one in [one for one in self._open if one.name == topic]:
            del self._open[one]
            one.finish(None)

    async def _added(self, one: Subscription, *, is_first: bool) -> None:
        """Refuse a replay beside another iterator of the topic: a second Subscribe changes nothing (N8)."""
        if is_first:
            await self._client.subscribe(one.name, replay=one.replay, message=one.message)
        elif one.replay != Replay.FROM_CURRENT:
            raise BadRequestError(f"{one.name!r} is iterated already: a second iterator begins with what comes")

    async def _removed(self, one: Subscription, *, is_last: bool) -> None:
        if is_last:
            with suppress(ClosedError, RefusedError):
                await self._client.unsubscribe(one.name)
