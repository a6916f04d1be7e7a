"""What happens to channels and queues, and the events that it causes."""

from __future__ import annotations

from wireproof.reference_server.tmqp.channel import Channel
from wireproof.reference_server.tmqp.client import Client
from wireproof.reference_server.tmqp.events import Events
from wireproof.reference_server.tmqp.queue import Queue
from wireproof.reference_server.tmqp.settings import ChannelSettings, QueueSettings
from wireproof.reference_server.tmqp.state import State

__all__ = ["Channels"]


class Channels:
    """Creates and removes channels and queues, lets clients join and leave."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.events = Events(state)

    def create(self, name: bytes, settings: ChannelSettings) -> Channel | None:
        """Create a channel that does not exist; None if there are too many."""
        if len(self._state.channels) >= self._state.options["max_channels"]:
            return None
        channel = Channel(name, settings, self.remove)
        self._state.channels[channel.key] = channel
        self.events.of_channel(b"ChannelCreated", channel)
        return channel

    def remove(self, channel: Channel) -> None:
        """Remove a channel, its queues and its members."""
        for queue in list(channel.queues.values()):
            self.remove_queue(queue)
        for client in list(channel.members):
            channel.leave(client)
        channel.is_removed = True
        del self._state.channels[channel.key]
        self.events.of_channel(b"ChannelRemoved", channel)
        self.events.gone(channel)

    def join(self, channel: Channel, client: Client) -> None:
        """Add a member, and send it what is stored; one of two with one id stands for both (E68)."""
        if any(one in channel.members for one in self._state.clients.of(client.id)):
            return
        channel.join(client)
        self.events.of_member(b"ClientJoined", channel, client)
        for queue in list(channel.queues.values()):
            queue.drain()

    def leave(self, channel: Channel, client: Client) -> None:
        """Remove a member, and a channel that goes when it is empty."""
        channel.leave(client)
        self.events.of_member(b"ClientLeft", channel, client)
        channel.settle()

    def create_queue(self, channel: Channel, number: int, settings: QueueSettings) -> Queue:
        """Create a queue that does not exist."""
        queue = channel.queues[number] = Queue(channel, number, settings, self._state)
        self._state.queues += 1
        self.events.of_queue(b"QueueCreated", queue)
        return queue

    def may_create_queue(self, channel: Channel, number: int) -> bool:
        """Say whether a channel allows one more queue, of that id."""
        settings = channel.settings
        limit = settings.queue_limit if settings.many_queues else 1
        is_full = bool(limit) and len(channel.queues) >= limit
        return not is_full and (not settings.allowed or number in settings.allowed)

    def remove_queue(self, queue: Queue) -> None:
        """Remove a queue and its messages."""
        del queue.channel.queues[queue.number]
        self._state.queues -= 1
        queue.close()
        self.events.of_queue(b"QueueRemoved", queue)
        self.events.gone(queue.channel, queue.number)
