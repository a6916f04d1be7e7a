"""Events: who is notified, and of what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wireproof.protocols.messages import Message
from wireproof.protocols.tmqp import Header
from wireproof.protocols.tmqp.bodies import ChannelEvent, ClientEvent, MessageEvent, QueueEvent, SubscriptionEvent
from wireproof.protocols.tmqp.enums import QueueStatus
from wireproof.protocols.tmqp.replies import Notification
from wireproof.reference_server.tmqp.channel import Channel
from wireproof.reference_server.tmqp.client import Client
from wireproof.reference_server.tmqp.headers import text
from wireproof.reference_server.tmqp.queue import Queue
from wireproof.reference_server.tmqp.stored import StoredMessage

if TYPE_CHECKING:
    from wireproof.reference_server.tmqp.state import State

__all__ = ["CHANNEL_EVENTS", "EVENTS", "QUEUE_EVENTS", "Events", "status_name"]

SERVER_EVENTS = (b"ClientConnected", b"ClientDisconnected", b"ChannelCreated", b"ChannelRemoved")
CHANNEL_EVENTS = (b"ClientJoined", b"ClientLeft", b"QueueCreated", b"QueueUpdated", b"QueueRemoved")
QUEUE_EVENTS = (b"MessageProduced",)
EVENTS = frozenset({*SERVER_EVENTS, *CHANNEL_EVENTS, *QUEUE_EVENTS})
Key = tuple[bytes, bytes, int]
"""Event, channel in lower case, queue; nothing and 0 where it has none."""


def status_name(status: QueueStatus) -> bytes:
    """Return the name of a status, as events have it."""
    return status.name.title().replace("_", "").encode()


class Events:
    """Tells subscribers what happened."""

    def __init__(self, state: State) -> None:
        self._state = state

    def subscribe(self, client: Client, key: Key) -> bool:
        """Tell a client from now on; return False if it has too many subscriptions."""
        if key not in client.events and len(client.events) >= self._state.limits.max_subscriptions:
            return False
        client.events.add(key)
        self._state.subscribers.setdefault(key, {})[client] = None
        return True

    def unsubscribe(self, client: Client, key: Key) -> None:
        """Tell a client no longer; does nothing if it was not notified."""
        if key in client.events:
            client.events.remove(key)
            found = self._state.subscribers[key]
            del found[client]
            if not found:
                del self._state.subscribers[key]

    def leave(self, client: Client) -> None:
        """Tell a client nothing any more."""
        for key in list(client.events):
            self.unsubscribe(client, key)

    def gone(self, channel: Channel, number: int | None = None) -> None:
        """Forget who is told of a channel, or of one queue of it, where subscriptions end with them."""
        if self._state.rules.keeps_subscriptions:
            return
        for key in list(self._state.subscribers):
            if key[1] == channel.key and (number is None or (key[0] in QUEUE_EVENTS and key[2] == number)):
                for client in list(self._state.subscribers[key]):
                    self.unsubscribe(client, key)

    def of_client(self, name: bytes, client: Client) -> None:
        """Tell that a client came or went."""
        if self._is_subscribed(name):
            self._notify(name, ClientEvent(text(client.id), text(client.name), text(client.type)))

    def of_channel(self, name: bytes, channel: Channel) -> None:
        """Tell that a channel was created or removed."""
        if self._is_subscribed(name):
            body = ChannelEvent(text(channel.name), len(channel.members), channel.settings.client_limit)
            target = channel.name if self._state.rules.addresses_channel_events else b""
            self._notify(name, body, target=target)

    def of_member(self, name: bytes, channel: Channel, client: Client) -> None:
        """Tell that a client joined or left a channel."""
        if self._is_subscribed(name, channel):
            body = SubscriptionEvent(text(channel.name), text(client.id), text(client.name), text(client.type))
            self._notify(name, body, channel, target=channel.name)

    def of_queue(self, name: bytes, queue: Queue) -> None:
        """Tell that a queue was created, changed or removed."""
        channel = queue.channel
        if self._is_subscribed(name, channel):
            keeps = name != b"QueueRemoved" or self._state.rules.reports_last_state
            status = status_name(queue.settings.status if keeps else QueueStatus.STOPPED)
            body = QueueEvent(text(channel.name), queue.number, None, status, queue.high, queue.normal)
            self._notify(name, body, channel, target=channel.name)

    def of_message(self, message: StoredMessage) -> None:
        """Tell that a message was pushed."""
        queue, client = message.queue, message.producer
        if self._is_subscribed(QUEUE_EVENTS[0], queue.channel, queue.number):
            name, number = queue.channel.name, queue.number
            if not self._state.rules.reports_queue_of_message:
                name, number = message.frame.target, message.frame.content_type
            body = MessageEvent(
                text(name),
                number,
                text(message.id),
                False,
                text(client.id),
                text(client.name),
                text(client.type),
            )
            self._notify(QUEUE_EVENTS[0], body, queue.channel, queue.number, target=queue.channel.name)

    def _is_subscribed(self, name: bytes, channel: Channel | None = None, number: int = 0) -> bool:
        return (name, channel.key if channel is not None else b"", number) in self._state.subscribers

    def _notify(
        self, name: bytes, body: Message, channel: Channel | None = None, number: int = 0, *, target: bytes = b""
    ) -> None:
        """Send a notification (E23)."""
        headers = []
        if self._state.rules.describes_events and channel is not None:
            headers.append(Header(b"Channel-Name", channel.name))
            headers += [Header(b"Queue-Id", b"%d" % number)] if name in QUEUE_EVENTS else []
        codec = self._state.codec
        frame = codec.encode(
            Notification(
                source=name, target=target, content_type=number, headers=tuple(headers), payload=codec.encode(body)
            )
        )
        for client in self._state.subscribers[name, channel.key if channel is not None else b"", number]:
            client.push(frame)
