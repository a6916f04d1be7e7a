"""Events in the model: who is notified, and of what."""

from __future__ import annotations

from collections.abc import Mapping

from wireproof.protocols.tmqp.replies import Notification
from wireproof.reference_server.tmqp.oracle.expected import Body, Shape, Spelled, as_text
from wireproof.reference_server.tmqp.oracle.world import Item, ModelChannel, ModelClient, ModelQueue, World

__all__ = ["OF_CHANNELS", "OF_QUEUES", "OF_SERVERS", "Notices"]

OF_SERVERS = (b"ClientConnected", b"ClientDisconnected", b"ChannelCreated", b"ChannelRemoved")
OF_CHANNELS = (b"ClientJoined", b"ClientLeft", b"QueueCreated", b"QueueUpdated", b"QueueRemoved")
OF_QUEUES = (b"MessageProduced",)


class Notices:
    """Expects notifications."""

    def __init__(self, world: World) -> None:
        self._world = world

    def client(self, name: bytes, client: ModelClient) -> None:
        """Expect the event that a client came or went."""
        members = {"Id": client.id, "Name": as_text(client.name), "Type": as_text(client.type)}
        self._expect_event(name, members, clause="TMQP-NOTIFICATION-2")

    def channel(self, name: bytes, channel: ModelChannel) -> None:
        """Expect the event that a channel was created or removed."""
        about = channel if self._world.rules.addresses_channel_events else None
        self._expect_event(name, {"Name": as_text(channel.name)}, about, key=b"", clause="TMQP-NOTIFICATION-3")

    def member(self, name: bytes, channel: ModelChannel, client: ModelClient) -> None:
        """Expect the event that a client joined or left a channel."""
        members = {
            "Channel": as_text(channel.name),
            "ClientId": client.id,
            "ClientName": as_text(client.name),
            "ClientType": as_text(client.type),
        }
        self._expect_event(name, members, channel, clause="TMQP-NOTIFICATION-4")

    def queue(self, name: bytes, queue: ModelQueue) -> None:
        """Expect the event that a queue was created, changed or removed."""
        members: dict[str, object] = {"Channel": as_text(queue.channel.name), "Id": queue.number}
        if name != b"QueueRemoved":
            members["Status"] = queue.status.name.title().replace("_", "")
        elif not self._world.rules.reports_last_state:
            members["Status"] = "Stopped"
        if self._world.is_strict and name != b"QueueRemoved" and not queue.is_vague:
            members |= {"PriorityMessages": len(queue.high), "Messages": len(queue.normal)}
        self._expect_event(name, members, queue.channel, clause="TMQP-NOTIFICATION-5")

    def message(self, queue: ModelQueue, item: Item) -> None:
        """Expect the event that a message was pushed."""
        producer, names_own = item.producer, self._world.rules.reports_queue_of_message
        members = {
            "Channel": as_text(queue.channel.name if names_own else item.frame.target),
            "Queue": queue.number if names_own else item.frame.content_type,
            "Id": item.id if item.id.value != b"" else "",
            "ProducerId": producer.id,
            "ProducerName": as_text(producer.name),
            "ProducerType": as_text(producer.type),
        }
        self._expect_event(
            OF_QUEUES[0], members, queue.channel, queue.number, clause="TMQP-NOTIFICATION-6", queue=queue, by=item.by
        )

    def _expect_event(
        self,
        name: bytes,
        members: Mapping[str, object],
        channel: ModelChannel | None = None,
        number: int = 0,
        *,
        clause: str,
        key: bytes | None = None,
        queue: ModelQueue | None = None,
        by: str = "",
    ) -> None:
        target: object = b"" if channel is None else Spelled(channel.name)
        where = (channel.key if channel is not None else b"") if key is None else key
        fields = {"source": name, "target": target, "content_type": number, "payload": Body(members)}
        for wanted, client in self._world.subscriptions:
            if wanted == (name, where, number):
                self._world.expect(client, clause, Shape(Notification, fields), queue=queue, is_ordered=False, by=by)
