"""Messages in the model: pushed, pulled, acknowledged, sent to clients; and subscriptions to events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import asdict, replace

from wireproof.protocols.tmqp.enums import DEFAULT_TTL, SUBSCRIBE, QueueStatus, ResultCode
from wireproof.protocols.tmqp.frames import PushFrame, ReplyFrame, RequestFrame
from wireproof.protocols.tmqp.replies import Confirmation, DirectMessage, QueueMessage, Response
from wireproof.protocols.tmqp.requests import Acknowledge, Produce, Pull, Respond, Route, SendDirect, Subscribe
from wireproof.reference_server.tmqp.oracle.deliveries import TRAVELLING, Deliveries
from wireproof.reference_server.tmqp.oracle.expected import FAILS, Headers, Made, Refusal, Shape, Spelled
from wireproof.reference_server.tmqp.oracle.notices import OF_CHANNELS, OF_QUEUES, OF_SERVERS, Notices
from wireproof.reference_server.tmqp.oracle.operations import Handler, answer
from wireproof.reference_server.tmqp.oracle.reading import first_header, number_in
from wireproof.reference_server.tmqp.oracle.routing import ModelRouting, Routers
from wireproof.reference_server.tmqp.oracle.world import Item, ModelClient, ModelQueue, World

__all__ = ["Traffic"]

MOST = 1 << 30
"""The largest count of a pull."""
CLEARED = {b"all": (True, True), b"high-priority": (True, False), b"default-priority": (False, True)}
COPIED = "TMQP-COPY-1"
FLAGS = ("one_delivery", "high_priority", "pending_response", "pending_ack")


def relayed_ttl(world: World, request: RequestFrame) -> int:
    """Return the TTL of what is sent on (E36)."""
    return max(request.ttl - 1, 1 if world.rules.never_sends_dead_messages else 0)


def _id_of(request: RequestFrame) -> Made:
    """Return the id of what was pushed; one that the server gave the frame is known once it is seen (E55)."""
    return request.id if isinstance(request.id, Made) else Made(request.id)


class Traffic:
    """Follows messages."""

    def __init__(
        self,
        world: World,
        deliveries: Deliveries,
        notices: Notices,
        *,
        size_limit: int,
        routers: Routers | None,
    ) -> None:
        """`size_limit`: bytes of the longest message of a queue, 0: any; `routers`: the configured ones, if known."""
        self._world, self._deliveries, self._notices = world, deliveries, notices
        self._size_limit = size_limit
        routing = ModelRouting(world, routers, self._queue, self._refused, self._taken)
        self.handlers: Mapping[type, Handler] = {
            Produce: self._produce,
            Pull: self._pull,
            Acknowledge: self._acknowledge,
            SendDirect: self._send_direct,
            Respond: self._respond,
            Subscribe: self._event,
            Route: routing.route,
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
        if queue is not None or self._world.rules.copies_what_is_nowhere:
            self._copy(client, request)

    def _refused(self, queue: ModelQueue, request: RequestFrame) -> object:
        """Return why a queue does not take a message; None if it does."""
        if queue.status is QueueStatus.STOPPED:
            queue.counts["refused"] += 1
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
        if not world.rules.refuses_by_acknowledgement:
            clause = "TMQP-PRODUCE-4" if code is ResultCode.NOT_FOUND else "TMQP-STOPPED-1"
            world.expect(client, clause, answer)
            return
        nack = Shape(Confirmation, {**common, "headers": Refusal(fails=True)})
        if request.pending_ack:
            shapes = (nack,) if world.is_strict else (nack, answer)
            world.expect(client, "TMQP-PRODUCE-5", *shapes)
            world.expect(client, "TMQP-PRODUCE-4", answer, is_certain=False)
        else:
            is_asked = bool(request.pending_response)
            world.expect(client, "TMQP-PRODUCE-4", answer, is_certain=is_asked)

    def _push(self, client: ModelClient, request: RequestFrame, queue: ModelQueue) -> None:
        is_asked = bool(request.pending_ack or not self._world.rules.acknowledges_when_asked) and bool(request.id)
        id_ = _id_of(request)
        if not request.id and queue.options["UseMessageId"]:
            id_, request = Made(taken=self._world.ids), replace(request, pending_response=0)
        self._taken(
            client,
            request,
            queue,
            Item(request, id_, client, is_asked, relayed_ttl(self._world, request), self._world.now),
        )

    def _taken(self, client: ModelClient, request: RequestFrame, queue: ModelQueue, item: Item) -> None:
        """Let a queue take a message, or refuse it as its delivery says."""
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
            if found is None and not self._world.rules.skips_bad_copies:
                self._world.refuse(client, "its copy goes to a queue id that is no number")
                return
            queue = None if found is None or name is None else self._queue(name, found)
            if queue is None or len(id_ or b"") > 255 or queue.delivery == "refuse":
                continue
            if self._refused(queue, request) is not None:
                continue
            frame = replace(request, headers=rest, pending_ack=0)
            if self._world.rules.addresses_copies:
                frame = replace(frame, target=queue.channel.name, content_type=queue.number)
            made = Made(id_ or None, taken=self._world.ids)
            self._world.ids.add(id_ or b"")
            is_asked = not self._world.rules.acknowledges_when_asked
            item = Item(frame, made, client, is_asked, DEFAULT_TTL, self._world.now, by=COPIED, is_copy=True)
            self._notices.message(queue, item)
            if (request.pending_ack or is_asked) and request.id:  # whether copies are acknowledged is free (E50)
                shape = Shape(Confirmation, {"id": item.acknowledged_id, "target": Spelled(item.frame.target)})
                self._world.expect(client, "TMQP-CONFIRMATION-1", shape, is_certain=False)
            self._deliveries.push(queue, item)

    def _pull(self, client: ModelClient, request: RequestFrame) -> None:
        channel = self._world.channel(request.target)
        queue = self._queue(request.target, request.content_type)
        if queue is not None and queue.is_vague:
            client.line.loose.add(request.id)
        rules = self._world.rules
        if (channel is None or queue is None) and not rules.describes_missing_queues:
            shape = Shape(Response, {"id": request.id, "source": b"", "content_type": ResultCode.NOT_FOUND})
            self._world.expect(client, "TMQP-PULL-11", shape)
        elif not request.id or channel is None or queue is None:
            why = b"Id-Required" if not request.id else b"No-Channel" if channel is None else b"No-Queue"
            self._without_content(client, request, why, clause="TMQP-PULL-10", or_not_found=True)
        elif queue.status is QueueStatus.CACHE and rules.serves_caches:
            self._pull_from_cache(client, request, queue)
        elif queue.status is not QueueStatus.PULL:
            self._without_content(client, request, b"Unacceptable", queue, clause="TMQP-PULL-7")
        elif client not in channel.members:
            self._without_content(client, request, b"Unauthorized", queue, clause="TMQP-PULL-9")
        elif not (count := number_in(given := first_header(request, b"count"), MOST)):
            if count is None and given is not None and not rules.answers_bad_requests:
                self._world.refuse(client, "its Count is no number")
            else:
                self._without_content(client, request, b"Unacceptable", queue, clause="TMQP-PULL-8")
        elif not queue.stored:
            self._without_content(client, request, b"Empty", queue, clause="TMQP-PULL-6")
        else:
            self._serve(client, request, queue, count)

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

    def _serve(self, client: ModelClient, request: RequestFrame, queue: ModelQueue, asked: int) -> None:
        """Expect the messages of a pull, and what ends it; a release loses one more where it was served in full."""
        count = min(asked, queue.stored)
        told = count if self._world.rules.counts_what_there_is else asked
        is_newest = (first_header(request, b"order") or b"").strip().upper() == b"LIFO"
        reports_end = (first_header(request, b"info") or b"").strip().lower() == b"yes"
        for index in range(1, count + 1):
            item = (queue.high or queue.normal).pop(-1 if is_newest else 0)
            added = [(b"Request-Id", request.id), (b"Count", b"%d" % told), (b"Index", b"%d" % index)]
            if reports_end:
                added += [(b"Priority-Messages", b"%d" % len(queue.high)), (b"Messages", b"%d" % len(queue.normal))]
            self._deliveries.send(queue, item, [client], added)
        clear = (first_header(request, b"clear") or b"").strip().lower()
        high, normal = CLEARED.get(clear, (False, False))
        self._deliveries.clear(queue, high=high, normal=normal)
        self._without_content(client, request, b"End", queue, clause="TMQP-PULL-2")
        queue.is_vague |= self._world.rules.loses_one_after_pull and count == asked and bool(queue.stored)

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
            fields["ttl"] = relayed_ttl(self._world, request)
        shape = Shape(Confirmation, fields)
        certain = not item.is_copy
        self._world.expect(
            item.producer, "TMQP-CONFIRMATION-3", shape, queue=queue, is_ordered=False, is_certain=certain
        )

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
        of_fields: Mapping[str, str] | None = None,
    ) -> None:
        """Expect that clients get what a client sent."""
        fields = {name: value for name, value in asdict(request).items() if name in kind.__struct_fields__}
        fields |= {"source": client.id, "ttl": relayed_ttl(self._world, request)}
        fields["headers"] = Headers([(one.name, one.value) for one in request.headers], exact=self._world.is_strict)
        if not self._world.is_strict:
            for name in ("ttl", *(() if kind is DirectMessage else FLAGS)):
                del fields[name]
        for one in receivers:
            to_itself = kind is DirectMessage and one is client and request.target == client.id.value
            its = "TMQP-SEND_DIRECT-5" if to_itself else clause
            self._world.expect(one, its, Shape(kind, fields), is_certain=certain, of_fields=of_fields)

    def _send_direct(self, client: ModelClient, request: RequestFrame) -> None:
        target, world = request.target, self._world
        if not target:
            return
        receivers = self._receivers(target)
        meant = 1
        for prefix, field in ((b"@name:", "name"), (b"@type:", "type")):
            if target.startswith(prefix):
                receivers = [one for one in world.clients if getattr(one, field) == target[len(prefix) :]]
                meant = 3 if request.one_delivery else 2
        if request.one_delivery:
            receivers = receivers[:1]
        relayed = dict.fromkeys((*FLAGS, "id", "content_type", "payload"), "TMQP-SEND_DIRECT-1")
        self._relay(client, receivers, request, DirectMessage, f"TMQP-SEND_DIRECT-{meant}", of_fields=relayed)
        if not receivers and request.id:
            common = {"id": request.id, "source": b""}
            answer = Shape(Response, {**common, "content_type": ResultCode.NOT_FOUND})
            is_id = not target.startswith((b"@name:", b"@type:"))
            always = is_id and world.rules.reports_unknown_clients
            clause = "TMQP-SEND_DIRECT-6" if always else "TMQP-SEND_DIRECT-4"
            world.expect(client, clause, answer, is_certain=bool(request.pending_response) or always)
            if request.pending_ack and world.rules.answers_as_asked:
                nack = Shape(Confirmation, {**common, "headers": Refusal(fails=True)})
                world.expect(client, "TMQP-SEND_DIRECT-4", nack, is_certain=False)

    def _respond(self, client: ModelClient, request: RequestFrame) -> None:
        self._relay(client, self._receivers(request.target), request, Response, "TMQP-RESPOND-1")

    def _event(self, client: ModelClient, request: RequestFrame) -> None:
        name, world = request.target, self._world
        if name not in (*OF_SERVERS, *OF_CHANNELS, *OF_QUEUES):
            if world.rules.answers_unknown_events:
                answer(world, client, request, FAILS, "TMQP-EVENT-3", is_certain=False)
            return
        key, number = b"", 0
        if name not in OF_SERVERS:
            channel = world.channel(first_header(request, b"channel-name") or b"")
            found = number_in(first_header(request, b"queue-id")) if name in OF_QUEUES else 0
            is_there = name not in OF_QUEUES or (channel is not None and found in channel.queues)
            if channel is None or found is None or not (is_there or world.rules.keeps_subscriptions):
                clause = "TMQP-EVENT-3" if is_there or world.rules.keeps_subscriptions else "TMQP-EVENT-8"
                answer(world, client, request, FAILS, clause, always=True)
                return
            key, number = channel.key, found
        wanted = ((name, key, number), client)
        if wanted in world.subscriptions:
            world.subscriptions.remove(wanted)
        elif request.content_type == SUBSCRIBE and world.has_as_many(client):
            answer(world, client, request, FAILS, "TMQP-EVENT-3", always=True)
            return
        if request.content_type == SUBSCRIBE:
            world.subscriptions.append(wanted)
        answer(world, client, request, ResultCode.OK, "TMQP-EVENT-1", always=True)
