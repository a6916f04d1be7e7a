"""Every request of TMQP as a method; the client sends it and returns what answers it.

`target`, `source` and ids are bytes. `headers` are `Header`s or pairs of name and value, `payload` is bytes or one of
the JSON bodies. `pending_response` and `pending_ack` say which answer is wanted; without both a method returns None
once the request is sent.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, TypedDict, Unpack

from wireproof.protocols.messages import Message, Request
from wireproof.protocols.tmqp import Header, requests
from wireproof.protocols.tmqp.enums import SUBSCRIBE, UNSUBSCRIBE
from wireproof.protocols.tmqp.replies import DirectMessage, QueueMessage
from wireproof.reference_client.tmqp.answers import Answer

__all__ = ["Operations"]

Headers = Iterable[Header | tuple[bytes, bytes]]


class Content(TypedDict, total=False):
    """What most requests may have."""

    headers: Headers
    payload: bytes | Message
    pending_response: int
    pending_ack: int


class Sending(Content, total=False):
    """What requests with a message may have besides."""

    content_type: int
    one_delivery: int
    high_priority: int


class Operations(ABC):
    """The requests. Each raises RefusedError (AccessError for 401) if the answer says that it failed."""

    @abstractmethod
    async def ask(self, request: Request) -> Answer | None:
        """Send `request` and return its answer."""

    @abstractmethod
    def encoded(self, body: bytes | Message) -> bytes:
        """Return a payload as bytes."""

    async def create_channel(self, target: bytes, **more: Unpack[Content]) -> Answer | None:
        """Create a channel; the payload may be `ChannelOptions`."""
        return await self._operate(requests.CreateChannel, target, more)

    async def delete_channel(self, target: bytes, **more: Unpack[Content]) -> Answer | None:
        """Delete a channel with its queues."""
        return await self._operate(requests.DeleteChannel, target, more)

    async def list_channels(self, target: bytes = b"", **more: Unpack[Content]) -> Answer | None:
        """Return the channels that match a filter, as `CHANNEL_LIST` in the payload."""
        return await self._operate(requests.ListChannels, target, more)

    async def channel_info(self, target: bytes, **more: Unpack[Content]) -> Answer | None:
        """Return `CHANNEL_INFORMATION` in the payload."""
        return await self._operate(requests.ChannelInfo, target, more)

    async def list_consumers(self, target: bytes, **more: Unpack[Content]) -> Answer | None:
        """Return the members of a channel (released servers)."""
        return await self._operate(requests.ListConsumers, target, more)

    async def join(self, target: bytes, **more: Unpack[Content]) -> Answer | None:
        """Join a channel: its messages go to `on_message`."""
        return await self._operate(requests.Join, target, more)

    async def leave(self, target: bytes, **more: Unpack[Content]) -> Answer | None:
        """Leave a channel."""
        return await self._operate(requests.Leave, target, more)

    async def create_queue(self, target: bytes, **more: Unpack[Content]) -> Answer | None:
        """Create the queue of header Queue-Id; the payload may be `QueueOptions`."""
        return await self._operate(requests.CreateQueue, target, more)

    async def update_queue(self, target: bytes, **more: Unpack[Content]) -> Answer | None:
        """Give the queue of header Queue-Id the options in the payload."""
        return await self._operate(requests.UpdateQueue, target, more)

    async def delete_queue(self, target: bytes, **more: Unpack[Content]) -> Answer | None:
        """Delete the queue of header Queue-Id."""
        return await self._operate(requests.DeleteQueue, target, more)

    async def clear_queue(self, target: bytes, **more: Unpack[Content]) -> Answer | None:
        """Drop the messages of the queue of header Queue-Id (released servers)."""
        return await self._operate(requests.ClearQueue, target, more)

    async def list_queues(self, target: bytes, **more: Unpack[Content]) -> Answer | None:
        """Return the queues of a channel, as `QUEUE_LIST` in the payload."""
        return await self._operate(requests.ListQueues, target, more)

    async def queue_info(self, target: bytes, **more: Unpack[Content]) -> Answer | None:
        """Return `QUEUE_INFORMATION` in the payload."""
        return await self._operate(requests.QueueInfo, target, more)

    async def list_nodes(self, target: bytes = b"", **more: Unpack[Content]) -> Answer | None:
        """Return the nodes that are linked."""
        return await self._operate(requests.ListNodes, target, more)

    async def list_clients(self, target: bytes = b"", **more: Unpack[Content]) -> Answer | None:
        """Return the clients whose type matches a filter."""
        return await self._operate(requests.ListClients, target, more)

    async def event(self, target: bytes, *, content_type: int = SUBSCRIBE, **more: Unpack[Content]) -> Answer | None:
        """Subscribe to the event in target, or with content type 0 take that back; it goes to `on_message`."""
        return await self._operate(requests.Subscribe, target, more, content_type=content_type)

    async def unsubscribe(self, target: bytes, **more: Unpack[Content]) -> Answer | None:
        """Take the subscription to an event back."""
        return await self.event(target, content_type=UNSUBSCRIBE, **more)

    async def produce(self, target: bytes, **more: Unpack[Sending]) -> Answer | None:
        """Push the payload into the queue `content_type` of a channel; with `pending_ack`, return the confirmation."""
        return await self.ask(requests.Produce(target=target, **self._given(more)))

    async def send_direct(self, target: bytes, **more: Unpack[Sending]) -> Answer | None:
        """Send to the client, `@name:` or `@type:` in target; with `pending_response`, return what it responds."""
        return await self.ask(requests.SendDirect(target=target, **self._given(more)))

    async def route(self, target: bytes, **more: Unpack[Sending]) -> Answer | None:
        """Publish the payload to a router."""
        return await self.ask(requests.Route(target=target, **self._given(more)))

    async def pull(
        self, target: bytes, *, content_type: int, headers: Headers = (), payload: bytes | Message = b""
    ) -> Answer | None:
        """Pull messages of a queue; the headers may be Count, Clear, Order and Info.

        The messages go to `on_message`, with a header Request-Id that is the id of what is returned: the end of them.
        """
        given = self._given({"headers": headers, "payload": payload})
        return await self.ask(requests.Pull(target=target, content_type=content_type, pending_response=1, **given))

    async def acknowledge(
        self,
        id: bytes,
        target: bytes,
        *,
        content_type: int = 0,
        high_priority: int = 0,
        headers: Headers = (),
        payload: bytes | Message = b"",
    ) -> None:
        """Acknowledge the message with that id; with a header Nack-Reason, say that it failed."""
        given = self._given({"headers": headers, "payload": payload})
        await self.ask(
            requests.Acknowledge(id=id, target=target, content_type=content_type, high_priority=high_priority, **given)
        )

    async def respond(
        self, id: bytes, target: bytes, *, content_type: int = 0, headers: Headers = (), payload: bytes | Message = b""
    ) -> None:
        """Respond to the direct message with that id of the client in target."""
        given = self._given({"headers": headers, "payload": payload})
        await self.ask(requests.Respond(id=id, target=target, content_type=content_type, **given))

    async def confirm(self, message: QueueMessage | DirectMessage, reason: bytes | None = None) -> None:
        """Acknowledge a message that came; with `reason`, negatively."""
        headers = () if reason is None else ((b"Nack-Reason", reason),)
        direct = isinstance(message, DirectMessage)
        target = message.source if direct else message.target
        await self.acknowledge(
            message.id, target, content_type=message.content_type, high_priority=int(direct), headers=headers
        )

    async def _operate(self, kind: type[Request], target: bytes, more: Content, **fields: int) -> Answer | None:
        flags = {} if "pending_ack" in more else {"pending_response": 1}
        return await self.ask(kind(target=target, **{**flags, **self._given(more)}, **fields))

    def _given(self, more: Any) -> dict[str, Any]:
        """Return the fields of a request, headers as rows and the payload as bytes."""
        given = dict(more)
        if "headers" in given:
            given["headers"] = tuple(one if isinstance(one, Header) else Header(*one) for one in given["headers"])
        if "payload" in given:
            given["payload"] = self.encoded(given["payload"])
        return given
