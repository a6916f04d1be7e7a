"""The messages of a channel as async iterators."""

from __future__ import annotations

from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from wireproof.reference_client.errors import ClientError, ClosedError
from wireproof.reference_client.iteration import Feeds, MessageIterator

__all__ = ["ChannelFeeds", "Message", "Subscriber", "Subscription"]


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


class Subscription(MessageIterator[Message]):
    """The messages of one channel."""

    def __init__(self, feeds: ChannelFeeds, channel: bytes, *, limit: int, subscribes: bool) -> None:
        super().__init__(feeds, channel, limit=limit)
        self.subscribes = subscribes
        """Whether it subscribes, or only iterates over what comes."""

    @property
    def channel(self) -> bytes:
        """The channel."""
        return self.name


class ChannelFeeds(Feeds[Subscription]):
    """The iterators of one client: which of them gets a message, and which channels are subscribed."""

    def __init__(self, client: Subscriber) -> None:
        super().__init__()
        self._client = client

    def give(self, message: Message) -> None:
        """Pass a message to every iterator of its channel; to all of them if it names none."""
        for one in list(self._open):
            if message.channel is None or message.channel == one.name:
                one.take(message)

    async def _added(self, one: Subscription, *, is_first: bool) -> None:
        if one.subscribes and is_first and not await self._client.subscribe(one.name):
            raise ClientError(f"the server refused SUBSCRIBE to {one.name!r}")

    async def _removed(self, one: Subscription, *, is_last: bool) -> None:
        if one.subscribes and is_last:
            with suppress(ClosedError):
                await self._client.unsubscribe(one.name)

    def _others(self, one: Subscription) -> bool:
        return any(other is not one and other.subscribes and other.name == one.name for other in self._open)
