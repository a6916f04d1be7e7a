"""Messages in the model: pushed, pulled, acknowledged, sent to clients; and subscriptions to events."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec.structs import asdict, replace

from wireproof.protocols.tmqp.enums import DEFAULT_TTL, SUBSCRIBE, QueueStatus, ResultCode
from wireproof.protocols.tmqp.frames import PushFrame, ReplyFrame, RequestFrame
from wireproof.protocols.tmqp.replies import Confirmation, DirectMessage, QueueMessage, Response
from wireproof.protocols.tmqp.requests import Acknowledge, Produce, Pull, Respond, Route, SendDirect, Subscribe
from wireproof.reference_server.tmqp.oracle.deliveries import TRAVELLING, Deliveries
from wireproof.reference_server.tmqp.oracle.expected import FAILS, Headers, Made, Refusal, Shape, Spelled
from wireproof.reference_server.tmqp.oracle.notices import OF_CHANNELS, OF_QUEUES, OF_SERVERS, Notices
from wireproof.reference_server.tmqp.oracle.operations import Handler, answer, first_header, number_in
from wireproof.reference_server.tmqp.oracle.world import Item, ModelClient, ModelQueue, World

__all__ = ["Traffic"]

MOST = 1 << 30
"""The largest count of a pull."""
CONFIGURED = b"wireproof-"
"""What the names of a target's routers begin with, where its configuration is not known (vectors/tmqp/config.yaml)."""
CLEARED = {b"all": (True, True), b"high-priority": (True, False), b"default-priority": (False, True)}
FLAGS = ("one_delivery", "high_priority", "pending_response", "pending_ack")


def relayed_ttl(request: RequestFrame) -> int:
    """Return the TTL of what is sent on (E36)."""
    return max(request.ttl - 1, 1)


class Traffic:
    """Follows messages."""

    def __init__(
        self,
        world: World,
        deliveries: Deliveries,
        notices: Notices,
        *,
        size_limit: int,
        routers: Collection[bytes] | None,
    ) -> None:
        """`size_limit`: bytes of the longest message of a queue, 0: any; `routers`: those that there are, if known."""
        self._world, self._deliveries, self._notices = world, deliveries, notices
        self._size_limit, self._routers = size_limit, routers
        self.handlers: Mapping[type, Handler] = {
            Produce: self._produce,
            Pull: self._pull,
            Acknowledge: self._acknowledge,
            SendDirect: self._send_direct,
            Respond: self._respond,
            Subscribe: self._event,
            Route: self._route,
        }

    def _queue(self, name: bytes, number: int) -> ModelQueue | None:
        channel = self._world.channel(name)
        return None if channel is None else channel.queues.get(number)

    def _produce(self, client: ModelClient, request: RequestFrame) -> None:
        queue = self._queue(request.target, request.content_type)
        code = ResultCode.NOT_FOUND if queue is None else self._refused(queue, request)
        if queue is not None and queue.is_vague:
            client.line.loose.add(request.id)
        if queue is None or code is not None:
            self._refuse(client, request, code)
        else:
            self._push(client, request, queue)
        self._copy(client, request)

    def _refused(self, queue: ModelQueue, request: RequestFrame) -> object:
        """Return why a queue does not take a message; None if it does."""
        if queue.status is QueueStatus.STOPPED:
            return FAILS
        keeps = queue.status not in (QueueStatus.BROADCAST, QueueStatus.CACHE)
        if keeps and 0 < queue.ms("MessageLimit") <= queue.stored:
            return FAILS
        return FAILS if 0 < self._size_limit < len(request.payload) else None

    def _refuse(self, client: ModelClient, request: RequestFrame, code: object) -> None:
        """Expect the notice to a producer that its message was not taken (E29)."""
        if not request.id:
            return
        world, common = self._world, {"id": request.id, "source": b""}
        answer = Shape(Response, {**common, "content_type": code})
        nack = Shape(Confirmation, {**common, "headers": Refusal(fails=True)})
        if request.pending_ack:
            shapes = (nack,) if world.is_strict else (nack, answer)
            world.expect(client, "TMQP-PRODUCE-5", *shapes)
            world.expect(client, "TMQP-PRODUCE-4", answer, is_certain=False)
        else:
            is_asked = bool(request.pending_response)
            world.expect(client, "TMQP-PRODUCE-4", answer, is_certain=is_asked)

    def _push(self, client: ModelClient, request: RequestFrame, queue: ModelQueue) -> None:
        is_asked, id_ = bool(request.pending_ack and request.id), Made(request.id)
        if not request.id and queue.options["UseMessageId"]:
            id_, request = Made(), replace(request, pending_response=0)
        item = Item(request, id_, client, is_asked, relayed_ttl(request), self._world.now)
        if queue.delivery == "refuse":
            self._deliveries.confirm(queue, item, nack=True)
            return
        self._notices.message(queue, item)
        if queue.delivery == "after-received":
            self._deliveries.confirm(queue, item)
        self._deliveries.push(queue, item)

    def _copy(self, client: ModelClient, request: RequestFrame) -> None:
        """Push the copies that headers ask for (E13)."""
        rest = tuple(one for one in request.headers if one.name.lower() != b"cc")
        for one in request.headers:
            if one.name.lower() != b"cc":
                continue
            name, number, id_, *_ = [*(part.strip() for part in one.value.split(b";")), None, None, None]
            found = request.content_type if number is None else number_in(number)
            queue = None if found is None or name is None else self._queue(name, found)
            if queue is None or len(id_ or b"") > 255 or queue.delivery == "refuse":
                continue
            if self._refused(queue, request) is not None:
                continue
            changed = {"headers": rest, "pending_ack": 0, "target": queue.channel.name, "content_type": queue.number}
            made = Made(id_ or None, other_than=request.id)
            item = Item(replace(request, **changed), made, client, False, DEFAULT_TTL, self._world.now)
            self._notices.message(queue, item)
            if request.pending_ack and request.id:  # whether copies are acknowledged is free (E50)
                shape = Shape(Confirmation, {"id": item.id, "target": Spelled(queue.channel.name)})
                self._world.expect(client, "TMQP-CONFIRMATION-1", shape, is_certain=False)
            self._deliveries.push(queue, item)

    def _pull(self, client: ModelClient, request: RequestFrame) -> None:
        channel = self._world.channel(request.target)
        queue = self._queue(request.target, request.content_type)
        if queue is not None and queue.is_vague:
            client.line.loose.add(request.id)
        if not request.id or channel is None or queue is None:
            why = b"Id-Required" if not request.id else b"No-Channel" if channel is None else b"No-Queue"
            self._without_content(client, request, why, clause="TMQP-PULL-10", or_not_found=True)
        elif queue.status is QueueStatus.CACHE:
            self._pull_from_cache(client, request, queue)
        elif queue.status is not QueueStatus.PULL:
            self._without_content(client, request, b"Unacceptable", queue, clause="TMQP-PULL-7")
        elif client not in channel.members:
            self._without_content(client, request, b"Unauthorized", queue, clause="TMQP-PULL-9")
        elif not (count := number_in(first_header(request, b"count"), MOST)):
            self._without_content(client, request, b"Unacceptable", queue, clause="TMQP-PULL-8")
        elif not queue.stored:
            self._without_content(client, request, b"Empty", queue, clause="TMQP-PULL-6")
        else:
            self._serve(client, request, queue, min(count, queue.stored))

    def _pull_from_cache(self, client: ModelClient, request: RequestFrame, queue: ModelQueue) -> None:
        """Expect a response, with the message, which stays (E10)."""
        common: dict[str, object] = {"id": request.id, "source": b""}
        if client not in queue.channel.members:
            fields, clause = common | {"content_type": FAILS}, "TMQP-CACHE-3"
        elif not queue.stored:
            fields, clause = common | {"content_type": ResultCode.NOT_FOUND}, "TMQP-CACHE-3"
        else:
            payload = (queue.high or queue.normal)[-1].frame.payload
            fields, clause = common | {"content_type": ResultCode.OK, "payload": payload}, "TMQP-CACHE-2"
        self._world.expect(client, clause, Shape(Response, fields), queue=queue, is_ordered=False)

    def _serve(self, client: ModelClient, request: RequestFrame, queue: ModelQueue, count: int) -> None:
        """Expect the messages of a pull, and what ends it."""
        is_newest = (first_header(request, b"order") or b"").strip().upper() == b"LIFO"
        reports_end = (first_header(request, b"info") or b"").strip().lower() == b"yes"
        for index in range(1, count + 1):
            item = (queue.high or queue.normal).pop(-1 if is_newest else 0)
            added = [(b"Request-Id", request.id), (b"Count", b"%d" % count), (b"Index", b"%d" % index)]
            if reports_end:
                added += [(b"Priority-Messages", b"%d" % len(queue.high)), (b"Messages", b"%d" % len(queue.normal))]
            self._deliveries.send(queue, item, [client], added)
        clear = (first_header(request, b"clear") or b"").strip().lower()
        high, normal = CLEARED.get(clear, (False, False))
        self._deliveries.clear(queue, high=high, normal=normal)
        self._without_content(client, request, b"End", queue, clause="TMQP-PULL-2")

    def _without_content(
        self,
        client: ModelClient,
        request: RequestFrame,
        why: bytes,
        queue: ModelQueue | None = None,
        *,
        clause: str,
        or_not_found: bool = False,
    ) -> None:
        """Expect the message that says what became of a pull; a release answers 404 where nothing is (E16)."""
        answer = [(b"Request-Id", request.id)] if request.id else []
        fields = {
            "id": request.id,
            "target": Spelled(request.target),
            "content_type": request.content_type,
            "headers": Headers([*answer, (b"No-Content", why)], exact=False),
            "payload": b"",
        }
        shapes = [Shape(QueueMessage, fields)]
        if or_not_found and not self._world.is_strict:
            shapes.append(Shape(Response, {"id": request.id, "content_type": ResultCode.NOT_FOUND}))
        self._world.expect(client, clause, *shapes, queue=queue)

    def _acknowledge(self, client: ModelClient, request: RequestFrame) -> None:
        channel = None if request.high_priority else self._world.channel(request.target)
        if channel is None:
            certain = bool(request.high_priority) or self._world.is_strict
            self._relay(client, self._receivers(request.target), request, Confirmation, "TMQP-ACKNOWLEDGE-2", certain)
            return
        queue = channel.queues.get(request.content_type)
        if queue is None:
            return
        is_negative = first_header(request, b"nack-reason") is not None
        item = self._deliveries.acknowledged(queue, client, request.id, nack=is_negative)
        if item is None or queue.delivery not in TRAVELLING or not item.is_asked_for:
            return
        headers = [(one.name, one.value) for one in request.headers]
        fields: dict[str, object] = {
            "id": request.id,
            "source": b"" if queue.options["HideClientNames"] else client.id,
            "target": Spelled(request.target),
            "content_type": request.content_type,
            "headers": Headers(headers, exact=self._world.is_strict),
        }
        if self._world.is_strict:
            fields["ttl"] = relayed_ttl(request)
        shape = Shape(Confirmation, fields)
        self._world.expect(item.producer, "TMQP-CONFIRMATION-3", shape, queue=queue, is_ordered=False)

    def _receivers(self, target: bytes) -> list[ModelClient]:
        found = self._world.client(target) if target else None
        return [] if found is None else [found]

    def _relay(
        self,
        client: ModelClient,
        receivers: Sequence[ModelClient],
        request: RequestFrame,
        kind: type[ReplyFrame] | type[PushFrame],
        clause: str,
        certain: bool = True,
    ) -> None:
        """Expect that clients get what a client sent."""
        fields = {name: value for name, value in asdict(request).items() if name in kind.__struct_fields__}
        fields |= {"source": client.id, "ttl": relayed_ttl(request)}
        fields["headers"] = Headers([(one.name, one.value) for one in request.headers], exact=self._world.is_strict)
        if not self._world.is_strict:
            for name in ("ttl", *(() if kind is DirectMessage else FLAGS)):
                del fields[name]
        for one in receivers:
            self._world.expect(one, clause, Shape(kind, fields), is_certain=certain)

    def _send_direct(self, client: ModelClient, request: RequestFrame) -> None:
        target, world = request.target, self._world
        if not target:
            return
        receivers = self._receivers(target)
        for prefix, field in ((b"@name:", "name"), (b"@type:", "type")):
            if target.startswith(prefix):
                receivers = [one for one in world.clients if getattr(one, field) == target[len(prefix) :]]
        if request.one_delivery:
            receivers = receivers[:1]
        self._relay(client, receivers, request, DirectMessage, "TMQP-SEND_DIRECT-1")
        if not receivers and request.id:
            common = {"id": request.id, "source": b""}
            answer = Shape(Response, {**common, "content_type": ResultCode.NOT_FOUND})
            world.expect(client, "TMQP-SEND_DIRECT-4", answer, is_certain=bool(request.pending_response))
            if request.pending_ack:
                nack = Shape(Confirmation, {**common, "headers": Refusal(fails=True)})
                world.expect(client, "TMQP-SEND_DIRECT-4", nack, is_certain=False)

    def _respond(self, client: ModelClient, request: RequestFrame) -> None:
        self._relay(client, self._receivers(request.target), request, Response, "TMQP-RESPOND-1")

    def _event(self, client: ModelClient, request: RequestFrame) -> None:
        name, world = request.target, self._world
        if name not in (*OF_SERVERS, *OF_CHANNELS, *OF_QUEUES):
            answer(world, client, request, FAILS, "TMQP-EVENT-3", is_certain=False)
            return
        key, number = b"", 0
        if name not in OF_SERVERS:
            channel = world.channel(first_header(request, b"channel-name") or b"")
            found = number_in(first_header(request, b"queue-id")) if name in OF_QUEUES else 0
            if channel is None or found is None:
                answer(world, client, request, FAILS, "TMQP-EVENT-3")
                return
            key, number = channel.key, found
        wanted = ((name, key, number), client)
        if wanted in world.subscriptions:
            world.subscriptions.remove(wanted)
        if request.content_type == SUBSCRIBE:
            world.subscriptions.append(wanted)
        answer(world, client, request, ResultCode.OK, "TMQP-EVENT-1")

    def _route(self, client: ModelClient, request: RequestFrame) -> None:
        """Expect that there is no such router; those of a configuration are not followed."""
        is_there = request.target.startswith(CONFIGURED) if self._routers is None else request.target in self._routers
        if is_there or not request.target:
            self._world.is_lost = True
            return
        common = {"id": request.id, "source": b""}
        answer = Shape(Response, {**common, "content_type": ResultCode.NOT_FOUND})
        nack = Shape(Confirmation, {**common, "headers": Refusal(fails=True)})
        if request.id and (request.pending_response or request.pending_ack):
            self._world.expect(client, "TMQP-ROUTE-4", answer, nack)
            self._world.expect(client, "TMQP-ROUTE-4", answer, nack, is_certain=False)
