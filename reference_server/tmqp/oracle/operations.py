"""The server operations in the model: channels, queues, clients and nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from wireproof.protocols.tmqp import Codec
from wireproof.protocols.tmqp.bodies import ChannelOptions, QueueOptions
from wireproof.protocols.tmqp.enums import ResultCode
from wireproof.protocols.tmqp.frames import RequestFrame
from wireproof.protocols.tmqp.replies import Confirmation, Response
from wireproof.protocols.tmqp.requests import (
    ChannelInfo,
    CreateChannel,
    CreateQueue,
    DeleteChannel,
    DeleteQueue,
    Join,
    Leave,
    ListChannels,
    ListClients,
    ListNodes,
    ListQueues,
    Operation,
    QueueInfo,
    UpdateQueue,
)
from wireproof.reference_server.tmqp.oracle.deliveries import Deliveries
from wireproof.reference_server.tmqp.oracle.described import channel_body, options_of, queue_body
from wireproof.reference_server.tmqp.oracle.expected import FAILS, Body, Refusal, Rows, Shape, as_text
from wireproof.reference_server.tmqp.oracle.notices import Notices
from wireproof.reference_server.tmqp.oracle.world import ModelChannel, ModelClient, ModelQueue, Options, World

__all__ = ["ModelOperations", "answer", "first_header", "number_in"]

NAME_REFUSED = frozenset({ResultCode.BAD_REQUEST, ResultCode.UNACCEPTABLE})


def first_header(request: RequestFrame, name: bytes) -> bytes | None:
    """Return the value of the first header of a name; None without one."""
    return next((one.value for one in request.headers if one.name.lower() == name), None)


def number_in(data: bytes | None, most: int = 0xFFFF) -> int | None:
    """Return the decimal number that bytes are; None for what is none, or is more than `most`."""
    digits = (data or b"").strip()
    return int(digits) if digits.isdigit() and len(digits) < 10 and int(digits) <= most else None


def answer(
    world: World,
    client: ModelClient,
    request: RequestFrame,
    code: object,
    clause: str,
    payload: object = None,
    *,
    is_certain: bool = True,
) -> None:
    """Expect the answers to an operation that its flags ask for (E11)."""
    if not request.id:
        return
    own = {"target": client.id} if world.is_strict else {}
    flags = {"one_delivery": request.one_delivery, "high_priority": request.high_priority} if world.is_strict else {}
    body = {} if payload is None else {"payload": payload}
    common = {"id": request.id, "source": b"", **own, **flags}
    if request.pending_response:
        shape = Shape(Response, {**common, "content_type": code, **body})
        world.expect(client, clause, shape, is_certain=is_certain)
    if request.pending_ack:
        headers = Refusal(fails=code != ResultCode.OK)
        only = is_certain and not request.pending_response
        world.expect(client, "TMQP-RESPONSE-4", Shape(Confirmation, {**common, "headers": headers}), is_certain=only)


def is_name(name: bytes) -> bool:
    """Say whether a channel may be called so (E27)."""
    return bool(name) and not set(name) & set(b" ;@*")


def passes(wanted: bytes, name: bytes) -> bool:
    """Say whether a name passes a filter."""
    inner = wanted.strip(b"*")
    begins, ends = wanted[:1] == b"*", wanted[-1:] == b"*"
    if not inner:
        return not wanted or wanted == b"*" or begins
    if begins and ends:
        return inner.lower() in name.lower()
    return name.endswith(inner) if begins else name.startswith(inner) if ends else inner.lower() == name.lower()


Handler = Callable[[ModelClient, RequestFrame], None]


class ModelOperations:
    """Follows server operations."""

    def __init__(self, world: World, codec: Codec, deliveries: Deliveries, notices: Notices) -> None:
        self._world, self._codec, self._deliveries, self._notices = world, codec, deliveries, notices
        world.remove = self._remove
        self.handlers: Mapping[type, Handler] = {
            CreateChannel: self._create_channel,
            DeleteChannel: self._delete_channel,
            ListChannels: self._list_channels,
            ChannelInfo: self._channel_info,
            Join: self._join,
            Leave: self._leave,
            CreateQueue: self._create_queue,
            UpdateQueue: self._update_queue,
            DeleteQueue: self._delete_queue,
            ListQueues: self._list_queues,
            QueueInfo: self._queue_info,
            ListClients: self._list_clients,
            ListNodes: self._list_nodes,
            Operation: self._unknown,
        }

    def _expect_answer(
        self, client: ModelClient, request: RequestFrame, code: object, payload: object = None, *, clause: int = 1
    ) -> None:
        """Expect the answers to an operation; `clause` is the number of one within its group."""
        answer(self._world, client, request, code, f"TMQP-{request.NAME}-{clause}", payload)

    def _create_channel(self, client: ModelClient, request: RequestFrame) -> None:
        if not is_name(request.target):
            self._expect_answer(client, request, NAME_REFUSED)
        elif self._world.channel(request.target) is not None:
            self._expect_answer(client, request, ResultCode.DUPLICATE, clause=2)
        elif (made := options_of(self._codec, ChannelOptions, self._world.defaults, request)) is None:
            self._expect_answer(client, request, FAILS)
        else:
            self._make_channel(request.target, *made)
            self._expect_answer(client, request, ResultCode.OK)

    def _make_channel(self, name: bytes, options: Options, given: set[str]) -> ModelChannel:
        channel = ModelChannel(name, options, given)
        self._world.channels[channel.key] = channel
        self._notices.channel(b"ChannelCreated", channel)
        return channel

    def _delete_channel(self, client: ModelClient, request: RequestFrame) -> None:
        channel = self._world.channel(request.target)
        if channel is None:
            self._expect_answer(client, request, ResultCode.NOT_FOUND)
            return
        self._remove(channel)
        self._expect_answer(client, request, ResultCode.OK)

    def _remove(self, channel: ModelChannel) -> None:
        for queue in list(channel.queues.values()):
            del channel.queues[queue.number]
            self._notices.queue(b"QueueRemoved", queue)
        channel.members.clear()
        del self._world.channels[channel.key]
        self._notices.channel(b"ChannelRemoved", channel)

    def _list_channels(self, client: ModelClient, request: RequestFrame) -> None:
        wanted = request.target or first_header(request, b"channel-name") or b""
        there = list(self._world.channels.values())
        rows = [channel_body(self._world, one) for one in there if passes(wanted, one.name)]
        others = [as_text(one.name) for one in there if not passes(wanted, one.name)]
        self._expect_answer(client, request, ResultCode.OK, Rows("Name", rows, self._world.is_strict, others))

    def _channel_info(self, client: ModelClient, request: RequestFrame) -> None:
        channel = self._world.channel(request.target)
        if channel is None:
            self._expect_answer(client, request, ResultCode.NOT_FOUND)
        else:
            self._expect_answer(client, request, ResultCode.OK, channel_body(self._world, channel))

    def _join(self, client: ModelClient, request: RequestFrame) -> None:
        channel = self._world.channel(request.target)
        if channel is None:
            self._expect_answer(client, request, ResultCode.NOT_FOUND, clause=3)
            return
        limit = int(str(channel.options.get("ClientLimit", 0)))
        is_member = client in channel.members
        if not is_member:
            if 0 < limit <= len(channel.members):
                self._expect_answer(client, request, ResultCode.LIMIT_EXCEEDED, clause=4)
                return
            channel.members.append(client)
            channel.is_used = True
            self._notices.member(b"ClientJoined", channel, client)
            for queue in list(channel.queues.values()):
                self._deliveries.drain(queue)
        self._expect_answer(client, request, ResultCode.OK, clause=2 if is_member else 1)

    def _leave(self, client: ModelClient, request: RequestFrame) -> None:
        channel = self._world.channel(request.target)
        if channel is None or client not in channel.members:
            self._expect_answer(client, request, ResultCode.NOT_FOUND, clause=2)
            return
        self.leave(channel, client)
        self._expect_answer(client, request, ResultCode.OK)

    def leave(self, channel: ModelChannel, client: ModelClient) -> None:
        """Follow that a client is no member any more."""
        channel.members.remove(client)
        self._notices.member(b"ClientLeft", channel, client)
        self._world.settle(channel)

    def _create_queue(self, client: ModelClient, request: RequestFrame) -> None:
        number, channel = number_in(first_header(request, b"queue-id")), self._world.channel(request.target)
        if first_header(request, b"queue-id") is None:
            self._expect_answer(client, request, ResultCode.UNACCEPTABLE)
        elif number is None or not is_name(request.target):
            self._expect_answer(client, request, FAILS)
        elif channel is not None and number in channel.queues:
            self._expect_answer(client, request, ResultCode.DUPLICATE, clause=2)
        elif channel is not None and not self._may_have(channel, number):
            self._expect_answer(client, request, FAILS)
        else:
            before = self._world.defaults if channel is None else channel.options
            made = options_of(self._codec, QueueOptions, before, request)
            if made is None:
                self._expect_answer(client, request, FAILS)
                return
            channel = channel or self._make_channel(request.target, dict(self._world.defaults), set())
            queue = channel.queues[number] = ModelQueue(channel, number, made[0], made[1] | channel.given)
            self._notices.queue(b"QueueCreated", queue)
            self._expect_answer(client, request, ResultCode.OK)

    def _may_have(self, channel: ModelChannel, number: int) -> bool:
        options = channel.options
        limit = int(str(options.get("QueueLimit", 0))) if options.get("AllowMultipleQueues", True) else 1
        allowed = options.get("AllowedQueues", ())
        assert isinstance(allowed, tuple)
        return not 0 < limit <= len(channel.queues) and (not allowed or number in allowed)

    def _queue(self, client: ModelClient, request: RequestFrame, *, by_payload: bool = True) -> ModelQueue | None:
        """Return the addressed queue (E12); without one, expect the answer."""
        channel, number = self._world.channel(request.target), number_in(first_header(request, b"queue-id"))
        if channel is None:
            self._expect_answer(client, request, ResultCode.NOT_FOUND)
            return None
        if number is None and by_payload and len(request.payload) > 1:
            number = int.from_bytes(request.payload[:2], "little")
        found = None if number is None else channel.queues.get(number)
        if found is None:
            self._expect_answer(client, request, FAILS if number is None else ResultCode.NOT_FOUND)
        return found

    def _update_queue(self, client: ModelClient, request: RequestFrame) -> None:
        queue = self._queue(client, request, by_payload=False)
        if queue is None:
            return
        made = options_of(self._codec, QueueOptions, queue.channel.options, request)
        if made is None:
            self._expect_answer(client, request, FAILS)
            return
        queue.options, queue.given = made[0], made[1] | queue.channel.given
        self._deliveries.change(queue)
        self._notices.queue(b"QueueUpdated", queue)
        self._world.settle(queue.channel)
        self._expect_answer(client, request, ResultCode.OK)

    def _delete_queue(self, client: ModelClient, request: RequestFrame) -> None:
        queue = self._queue(client, request)
        if queue is not None:
            del queue.channel.queues[queue.number]
            self._notices.queue(b"QueueRemoved", queue)
            self._world.settle(queue.channel)
            self._expect_answer(client, request, ResultCode.OK)

    def _list_queues(self, client: ModelClient, request: RequestFrame) -> None:
        channel = self._world.channel(request.target)
        if channel is None:
            self._expect_answer(client, request, ResultCode.NOT_FOUND)
        else:
            rows = [queue_body(self._world, one) for one in channel.queues.values()]
            self._expect_answer(client, request, ResultCode.OK, Rows("Id", rows, exact=True))

    def _queue_info(self, client: ModelClient, request: RequestFrame) -> None:
        queue = self._queue(client, request)
        if queue is not None:
            self._expect_answer(client, request, ResultCode.OK, queue_body(self._world, queue, counted=True))

    def _list_clients(self, client: ModelClient, request: RequestFrame) -> None:
        there = self._world.clients
        rows = [
            Body({"Id": one.id, "Name": as_text(one.name), "Type": as_text(one.type)})
            for one in there
            if passes(request.target, one.type)
        ]
        self._expect_answer(client, request, ResultCode.OK, Rows("Id", rows, self._world.is_strict))

    def _list_nodes(self, client: ModelClient, request: RequestFrame) -> None:
        self._expect_answer(client, request, ResultCode.OK, Rows("Id", (), self._world.is_strict))

    def _unknown(self, client: ModelClient, request: RequestFrame) -> None:
        answer(self._world, client, request, FAILS, "TMQP-RESPONSE-3", is_certain=False)
