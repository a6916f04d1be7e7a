"""The server operations in the model: channels, queues, clients and nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from wireproof.protocols.tmqp import Codec
from wireproof.protocols.tmqp.bodies import ChannelOptions, QueueOptions
from wireproof.protocols.tmqp.enums import ResultCode
from wireproof.protocols.tmqp.frames import RequestFrame
from wireproof.protocols.tmqp.replies import Confirmation, Response
from wireproof.protocols.tmqp.requests import (
    ChannelInfo,
    ClearQueue,
    CreateChannel,
    CreateQueue,
    DeleteChannel,
    DeleteQueue,
    Join,
    Leave,
    ListChannels,
    ListClients,
    ListConsumers,
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
from wireproof.reference_server.tmqp.oracle.reading import first_header, is_name, number_in, passes
from wireproof.reference_server.tmqp.oracle.world import ModelChannel, ModelClient, ModelQueue, Options, World

__all__ = ["ModelOperations", "answer"]

NAME_REFUSED = frozenset({ResultCode.BAD_REQUEST, ResultCode.UNACCEPTABLE})


def answer(
    world: World,
    client: ModelClient,
    request: RequestFrame,
    code: object,
    clause: str,
    payload: object = None,
    *,
    is_certain: bool = True,
    always: bool = False,
) -> None:
    """Expect the answers to an operation that its flags ask for (E11); `always`: releases answer whatever they are."""
    if not request.id:
        return
    rules = world.rules
    own = {"target": client.id} if world.is_strict else {}
    flags = {"one_delivery": request.one_delivery, "high_priority": request.high_priority} if world.is_strict else {}
    body = {} if payload is None else {"payload": payload}
    common = {"id": request.id, "source": b"", **own, **flags}
    alike = not rules.answers_as_asked and (always or (payload is not None and rules.answers_information_alike))
    if request.pending_response or alike:
        shape = Shape(Response, {**common, "content_type": code, **body})
        world.expect(client, clause, shape, is_certain=is_certain)
    if request.pending_ack and rules.answers_as_asked:
        headers = Refusal(fails=code != ResultCode.OK)
        only = is_certain and not request.pending_response
        world.expect(client, "TMQP-RESPONSE-4", Shape(Confirmation, {**common, "headers": headers}), is_certain=only)


Handler = Callable[[ModelClient, RequestFrame], None]


class ModelOperations:
    """Follows server operations."""

    def __init__(self, world: World, codec: Codec, deliveries: Deliveries, notices: Notices) -> None:
        self._world, self._codec, self._deliveries, self._notices = world, codec, deliveries, notices
        world.remove = self._remove
        of_administrators: Mapping[type, Handler] = {
            DeleteChannel: self._delete_channel,
            ListChannels: self._list_channels,
            ChannelInfo: self._channel_info,
            UpdateQueue: self._update_queue,
            DeleteQueue: self._delete_queue,
            ListQueues: self._list_queues,
            QueueInfo: self._queue_info,
            ClearQueue: self._clear_queue,
            ListConsumers: self._list_consumers,
            ListClients: self._list_clients,
            ListNodes: self._list_nodes,
        }
        self.handlers: Mapping[type, Handler] = {
            CreateChannel: self._create_channel,
            Join: self._join,
            Leave: self._leave,
            CreateQueue: self._create_queue,
            Operation: self._unknown,
            **{kind: self._permitted(handler) for kind, handler in of_administrators.items()},
        }

    def _permitted(self, handler: Handler) -> Handler:
        """Return a handler that does nothing for who is no administrator but to expect 401."""

        def handle(client: ModelClient, request: RequestFrame) -> None:
            if client.is_admin:
                handler(client, request)
            else:
                answer(self._world, client, request, ResultCode.UNAUTHORIZED, "TMQP-RESPONSE-9")

        return handle

    def _expect_answer(
        self,
        client: ModelClient,
        request: RequestFrame,
        code: object,
        payload: object = None,
        *,
        clause: int = 1,
        always: bool = False,
    ) -> None:
        """Expect the answers to an operation; `clause` is the number of one within its group."""
        answer(self._world, client, request, code, f"TMQP-{request.NAME}-{clause}", payload, always=always)

    def _wrong(self, client: ModelClient, request: RequestFrame, code: object, clause: str) -> None:
        """Expect the answer to what cannot be done; a release ends the connection instead (E27)."""
        if self._world.rules.answers_bad_requests:
            answer(self._world, client, request, code, clause)
        else:
            self._world.refuse(client, f"its {request.NAME} cannot be done")

    def _create_channel(self, client: ModelClient, request: RequestFrame) -> None:
        if not is_name(request.target):
            number = 4 if set(request.target) & set(b" ;") or not request.target else 5
            self._wrong(client, request, NAME_REFUSED, f"TMQP-CREATE_CHANNEL-{number}")
            return
        made = options_of(self._world, self._codec, ChannelOptions, self._world.defaults, request)
        channel = self._world.channel(request.target)
        if channel is not None:
            channel.mistaken += [(made[0], "TMQP-CREATE_CHANNEL-2")] if made and made[1] else []
            if self._world.rules.answers_duplicates:
                self._expect_answer(client, request, ResultCode.DUPLICATE, clause=2)
            else:
                client.line.unanswered[request.id] = "TMQP-CREATE_CHANNEL-3"
        elif made is None:
            self._wrong(client, request, FAILS, "TMQP-CREATE_CHANNEL-7")
        else:
            channel = self._make_channel(request.target, *made)
            channel.mistaken.append((self._world.defaults, f"TMQP-CREATE_CHANNEL-{self._of_profile(6, 10)}"))
            self._expect_answer(client, request, ResultCode.OK)
            if request.payload and not self._world.rules.keeps_after_options:
                self._world.refuse(client, "it created a channel with options")

    def _of_profile(self, document: int, release: int) -> int:
        """Return the number of the clause of this profile, of two that differ in them."""
        return document if self._world.rules.keeps_after_options else release

    def _make_channel(self, name: bytes, options: Options, given: set[str]) -> ModelChannel:
        channel = ModelChannel(name, options, given)
        self._world.channels[channel.key] = channel
        self._notices.channel(b"ChannelCreated", channel)
        return channel

    def _delete_channel(self, client: ModelClient, request: RequestFrame) -> None:
        channel = self._world.channel(request.target)
        if channel is None:
            self._expect_answer(client, request, ResultCode.NOT_FOUND, clause=2, always=True)
            return
        self._remove(channel)
        self._expect_answer(client, request, ResultCode.OK)

    def _remove(self, channel: ModelChannel) -> None:
        for queue in list(channel.queues.values()):
            self._remove_queue(queue)
        channel.members.clear()
        del self._world.channels[channel.key]
        self._world.removed.add((channel.key, None))
        self._world.destroyed.discard(channel.key)
        self._notices.channel(b"ChannelRemoved", channel)
        self._world.forget(channel.key)

    def _remove_queue(self, queue: ModelQueue) -> None:
        del queue.channel.queues[queue.number]
        self._world.removed.add((queue.channel.key, queue.number))
        self._notices.queue(b"QueueRemoved", queue)
        self._world.forget(queue.channel.key, queue.number)

    def _list_channels(self, client: ModelClient, request: RequestFrame) -> None:
        wanted = first_header(request, b"channel-name") or b""
        if self._world.rules.filters_by_target:
            wanted = request.target or wanted
        if self._is_refused(client, wanted, [one.name for one in self._world.channels.values()]):
            return
        there = list(self._world.channels.values())
        rows = [channel_body(self._world, one) for one in there if passes(wanted, one.name)]
        others = [as_text(one.name) for one in there if not passes(wanted, one.name)]
        self._expect_answer(client, request, ResultCode.OK, Rows("Name", rows, self._world.is_strict, others))

    def _is_refused(self, client: ModelClient, wanted: bytes, names: Sequence[bytes]) -> bool:
        """Follow that a release ends the connection for the filter `*`, where there is a name to pass it (E30)."""
        refused = wanted == b"*" and any(names) and not self._world.rules.takes_star_filter
        if refused:
            self._world.refuse(client, "its filter is *")
        return refused

    def _channel_info(self, client: ModelClient, request: RequestFrame) -> None:
        channel = self._world.channel(request.target)
        if channel is None:
            self._expect_answer(client, request, ResultCode.NOT_FOUND, clause=2, always=True)
        else:
            self._expect_answer(client, request, ResultCode.OK, channel_body(self._world, channel))

    def _join(self, client: ModelClient, request: RequestFrame) -> None:
        channel = self._world.channel(request.target)
        if channel is None:
            self._world.unjoined.add(request.target.lower())
            self._expect_answer(client, request, ResultCode.NOT_FOUND, clause=3)
            return
        limit = int(str(channel.options.get("ClientLimit", 0)))
        is_member = client in channel.members
        if is_member:
            channel.again.add(client)
        else:
            if 0 < limit <= len(channel.members):
                self._expect_answer(client, request, ResultCode.LIMIT_EXCEEDED, clause=4)
                return
            channel.members.append(client)
            channel.left.discard(client)
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
        channel.left.add(client)
        self._notices.member(b"ClientLeft", channel, client)
        self._world.settle(channel)

    def _create_queue(self, client: ModelClient, request: RequestFrame) -> None:
        number, channel = number_in(first_header(request, b"queue-id")), self._world.channel(request.target)
        if first_header(request, b"queue-id") is None:
            self._expect_answer(client, request, ResultCode.UNACCEPTABLE, clause=3, always=True)
            if not self._world.rules.makes_queue_without_id:
                return
            number = 0  # what a release does then (E44)
        before = self._world.defaults if channel is None else channel.options
        made = options_of(self._world, self._codec, QueueOptions, before, request)
        if number is None or not is_name(request.target):
            self._wrong(client, request, FAILS, "TMQP-CREATE_QUEUE-8")
        elif channel is not None and number in channel.queues:
            channel.queues[number].mistaken += [(made[0], "TMQP-CREATE_QUEUE-2")] if made and made[1] else []
            self._expect_answer(client, request, ResultCode.DUPLICATE, clause=2)
        elif channel is not None and not self._may_have(channel, number):
            if self._world.rules.answers_refused_queues:
                self._expect_answer(client, request, FAILS, clause=6)
            else:
                client.line.unanswered[request.id] = "TMQP-CREATE_QUEUE-10"
        elif made is None:
            self._wrong(client, request, FAILS, "TMQP-CREATE_QUEUE-8")
        else:
            channel = channel or self._make_channel(request.target, dict(self._world.defaults), set())
            given = made[1] | channel.given
            queue = channel.queues[number] = ModelQueue(channel, number, made[0], given, request.target)
            named = {name: made[0][name] for name in made[1]}
            queue.mistaken.append((before, "TMQP-CREATE_QUEUE-5"))
            if self._world.rules.has_limits:
                queue.mistaken.append(({**self._world.defaults, **named}, "TMQP-CREATE_QUEUE-9"))
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
        rules = self._world.rules
        if not by_payload and first_header(request, b"queue-id") is None and rules.makes_queue_without_id:
            self._expect_answer(client, request, ResultCode.UNACCEPTABLE, always=True)
            number = 0  # what a release does then (E44)
        if channel is None:
            self._expect_missing(client, request, always=by_payload)
            return None
        if by_payload and (number is None or not rules.reads_queue_id_header):
            number = int.from_bytes(request.payload[:2], "little") if len(request.payload) > 1 else None
        if number is None:
            self._wrong(client, request, FAILS, f"TMQP-{request.NAME}-1")
            return None
        found = channel.queues.get(number)
        if found is None:
            self._expect_missing(client, request, always=by_payload)
        return found

    def _expect_missing(self, client: ModelClient, request: RequestFrame, *, always: bool) -> None:
        """Expect the answer to an operation about a queue that is not there."""
        clause = "TMQP-DELETE_QUEUE-3" if isinstance(request, ClearQueue) else f"TMQP-{request.NAME}-2"
        answer(self._world, client, request, ResultCode.NOT_FOUND, clause, always=always)

    def _update_queue(self, client: ModelClient, request: RequestFrame) -> None:
        queue = self._queue(client, request, by_payload=False)
        if queue is None:
            return
        stays = not self._world.rules.updates_from_channel
        if stays and not request.payload:
            self._world.is_lost = True  # what a release does then is not asserted (E40)
            return
        before = queue.options if stays else queue.channel.options
        made = options_of(self._world, self._codec, QueueOptions, before, request)
        if made is None:
            self._wrong(client, request, FAILS, "TMQP-CREATE_QUEUE-8")
            return
        was = queue.status
        named = {name: made[0][name] for name in made[1]}
        queue.mistaken.append((queue.options, "TMQP-UPDATE_QUEUE-1"))
        others = queue.channel.options if stays else queue.options
        queue.mistaken.append(({**others, **named}, f"TMQP-UPDATE_QUEUE-{4 if stays else 3}"))
        kept = {"MessageDeliveryHandler": queue.delivery} if stays else {}
        queue.options = {**made[0], **kept}
        queue.given = made[1] | (queue.given if stays else queue.channel.given)
        self._deliveries.change(queue, was)
        self._notices.queue(b"QueueUpdated", queue)
        self._world.settle(queue.channel)
        self._expect_answer(client, request, ResultCode.OK)

    def _delete_queue(self, client: ModelClient, request: RequestFrame) -> None:
        queue = self._queue(client, request)
        if queue is not None:
            self._remove_queue(queue)
            self._world.settle(queue.channel)
            self._expect_answer(client, request, ResultCode.OK)

    def _clear_queue(self, client: ModelClient, request: RequestFrame) -> None:
        queue = self._queue(client, request, by_payload=False)
        if queue is not None:
            high, normal = (
                (first_header(request, name) or b"").strip().lower() == b"yes"
                for name in (b"priority-messages", b"messages")
            )
            self._deliveries.clear(queue, high=high, normal=normal)
            answer(self._world, client, request, ResultCode.OK, "TMQP-DELETE_QUEUE-3")

    def _list_queues(self, client: ModelClient, request: RequestFrame) -> None:
        channel = self._world.channel(request.target)
        if channel is None:
            self._expect_missing(client, request, always=True)
        else:
            rows = [queue_body(self._world, one) for one in channel.queues.values()]
            self._expect_answer(client, request, ResultCode.OK, Rows("Id", rows, exact=True))

    def _queue_info(self, client: ModelClient, request: RequestFrame) -> None:
        queue = self._queue(client, request)
        if queue is not None:
            self._expect_answer(client, request, ResultCode.OK, queue_body(self._world, queue, counted=True))

    def _list_consumers(self, client: ModelClient, request: RequestFrame) -> None:
        channel = self._world.channel(request.target)
        clause = "TMQP-CHANNEL_INFO-5"
        if channel is None:
            answer(self._world, client, request, ResultCode.NOT_FOUND, clause)
        else:
            answer(self._world, client, request, ResultCode.OK, clause, _rows(channel.members, exact=True))

    def _list_clients(self, client: ModelClient, request: RequestFrame) -> None:
        if self._is_refused(client, request.target, [one.type for one in self._world.clients]):
            return
        there = [one for one in self._world.clients if passes(request.target, one.type)]
        self._expect_answer(client, request, ResultCode.OK, _rows(there, exact=self._world.is_strict))

    def _list_nodes(self, client: ModelClient, request: RequestFrame) -> None:
        self._expect_answer(client, request, ResultCode.OK, Rows("Id", (), self._world.is_strict))

    def _unknown(self, client: ModelClient, request: RequestFrame) -> None:
        if self._world.rules.answers_bad_requests:
            answer(self._world, client, request, FAILS, "TMQP-RESPONSE-3", is_certain=False)


def _rows(clients: Sequence[ModelClient], *, exact: bool) -> Rows:
    """Return what is reported of clients."""
    rows = [Body({"Id": one.id, "Name": as_text(one.name), "Type": as_text(one.type)}) for one in clients]
    return Rows("Id", rows, exact)
