"""How messages go through queues in the model: stored, sent, acknowledged, put back, dropped."""

from __future__ import annotations

from collections.abc import Sequence

from wireproof.protocols.tmqp.enums import DEFAULT_TTL, QueueStatus
from wireproof.protocols.tmqp.replies import Confirmation, QueueMessage
from wireproof.reference_server.tmqp.oracle.expected import Headers, Refusal, Shape, Spelled
from wireproof.reference_server.tmqp.oracle.world import Awaited, Item, ModelClient, ModelQueue, World

__all__ = ["Deliveries"]

SENDING = (QueueStatus.BROADCAST, QueueStatus.PUSH, QueueStatus.ROUND_ROBIN)
TRAVELLING = ("after-acknowledged", "put-back-start", "put-back-end")
"""Deliveries under which acknowledgements of consumers travel to the producer."""
OF_STATES = {
    QueueStatus.BROADCAST: "TMQP-BROADCAST-",
    QueueStatus.PUSH: "TMQP-PUSH-",
    QueueStatus.ROUND_ROBIN: "TMQP-ROUND_ROBIN-",
}
"""State -> its clauses: 1 says who is sent what is pushed, 2 what becomes of it where nobody is."""
OF_CONFIRMATIONS = dict.fromkeys(("source", "target", "content_type"), "TMQP-CONFIRMATION-1")
"""Field of an acknowledgement of the server -> the clause that fixes it, whenever it comes."""
Added = Sequence[tuple[bytes, bytes]]


def _now(queue: ModelQueue) -> tuple[bool, bool]:
    """Return whether a queue asks consumers to acknowledge, and whether it hides names."""
    return queue.requests_ack, bool(queue.options["HideClientNames"])


class Deliveries:
    """Moves messages, and expects what that sends."""

    def __init__(self, world: World) -> None:
        self._world = world
        address = "TMQP-COPY-2" if world.rules.addresses_copies else "TMQP-COPY-5"
        of_copies = dict.fromkeys(("id", "headers"), "TMQP-COPY-3") | dict.fromkeys(("target", "content_type"), address)
        of_routers = {"id": "TMQP-ROUTE-6", "pending_response": "TMQP-ROUTE-6"}
        self._of_fields: dict[str, dict[str, str]] = {"TMQP-COPY-1": of_copies}
        self._of_fields |= {f"TMQP-ROUTE-{number}": of_routers for number in (1, 2, 3)}

    def push(self, queue: ModelQueue, item: Item) -> None:
        """Let a queue take a message."""
        queue.counts["ReceivedMessages"] += 1
        queue.counts[item.by] += 1
        if not self._world.rules.decides_when_sent:
            item.asks, item.hides = _now(queue)
        if queue.status is QueueStatus.BROADCAST:
            self.send(queue, item, self._receivers(queue))
            return
        if queue.status is QueueStatus.CACHE:
            self.clear(queue)
            if not self._world.rules.keeps_cached:
                return
        if queue.status in SENDING and not queue.stored and self._may_send(queue):
            self.send(queue, item, self._receivers(queue))
        else:
            self._store(queue, item)
            self.drain(queue)

    def drain(self, queue: ModelQueue) -> None:
        """Send what is stored, as far as somebody takes it."""
        while queue.stored and queue.status in SENDING and self._may_send(queue):
            self.send(queue, (queue.high or queue.normal).pop(0), self._receivers(queue), is_stored=True)

    def send(
        self,
        queue: ModelQueue,
        item: Item,
        receivers: Sequence[ModelClient],
        added: Added = (),
        *,
        is_stored: bool = False,
    ) -> None:
        """Send a message to clients."""
        if item.asks is not None and queue.status is QueueStatus.PULL:
            item.asks = queue.requests_ack
        for place, client in enumerate(receivers):
            clause = OF_STATES.get(queue.status, "TMQP-PULL-") + ("2" if is_stored else "1")
            if item.by and not (added or is_stored):
                clause = item.by
            elif client is item.producer and not (added or is_stored):
                clause = "TMQP-PRODUCE-3"
            is_marked = place == 0 and (self._world.rules.marks_again or not item.put_backs)
            shape = self._message(queue, item, added, is_marked)
            of_fields = self._of_fields.get(item.by)
            clause = "TMQP-PULL-3" if added else clause
            self._world.expect(client, clause, shape, queue=queue, of_fields=of_fields, by=item.by)
            if queue.requests_ack and item.asks is not False:
                ms = queue.ms("AcknowledgeTimeout") or int(str(self._world.defaults["AcknowledgeTimeout"])) or 1
                queue.awaited.append(Awaited(item, client, *self._world.after(ms)))
        if receivers:
            self._remember(queue, item, receivers)
            queue.counts["SentMessages"] += 1
            queue.counts["Deliveries"] += len(receivers)
            if queue.delivery == "after-sent":
                self.confirm(queue, item)

    def _remember(self, queue: ModelQueue, item: Item, receivers: Sequence[ModelClient]) -> None:
        """Note who was sent a message, and what says that it is sent no more."""
        pulled = "TMQP-PULL-15" if self._world.rules.counts_what_there_is else "TMQP-PULL-16"
        item.again = OF_STATES[queue.status] + "2" if queue.status in OF_STATES else pulled
        channel = queue.channel
        item.receivers, item.members, item.left = receivers, frozenset(channel.members), frozenset(channel.left)
        queue.sent.append(item)

    def _message(self, queue: ModelQueue, item: Item, added: Added, is_first: bool) -> Shape:
        frame, world = item.frame, self._world
        headers = [(one.name, one.value) for one in frame.headers]
        asks, hides = (item.asks, item.hides) if item.asks is not None else _now(queue)
        fields: dict[str, object] = {
            "id": item.id,
            "source": b"" if hides else item.producer.id,
            "target": frame.target if world.is_strict else Spelled(frame.target),
            "content_type": frame.content_type,
            "pending_ack": int(asks),
            "headers": Headers([*headers, *added], exact=world.is_strict),
            "payload": frame.payload,
            "one_delivery": int(is_first),
            "high_priority": frame.high_priority,
            "pending_response": frame.pending_response,
            "ttl": item.ttl,
        }
        return Shape(QueueMessage, fields)

    def confirm(self, queue: ModelQueue, item: Item, *, nack: bool = False, is_certain: bool = True) -> None:
        """Expect that the server acknowledges a message to its producer, if that asked for it (E38)."""
        if not item.is_asked_for:
            return
        fields = {
            "id": item.acknowledged_id,
            "source": b"",
            "target": Spelled(item.frame.target),
            "content_type": item.frame.content_type,
            "headers": Refusal(fails=nack),
        }
        shape = Shape(Confirmation, fields | ({"ttl": DEFAULT_TTL} if self._world.is_strict else {}))
        clause = "TMQP-CONFIRMATION-2" if queue.delivery == "after-sent" else "TMQP-CONFIRMATION-1"
        certain = is_certain and not item.is_copy
        self._world.expect(
            item.producer, clause, shape, queue=queue, is_ordered=False, is_certain=certain, of_fields=OF_CONFIRMATIONS
        )

    def acknowledged(self, queue: ModelQueue, client: ModelClient, id_: bytes, *, nack: bool) -> Item | None:
        """Follow the acknowledgement of a consumer; return its message, None if none is waited for."""
        queue.counts["NegativeAcks" if nack else "Acks"] += 1
        sent = [one for one in queue.awaited if one.item.id.value == id_]
        if not self._world.rules.acknowledges_by_connection:
            sent.sort(key=lambda one: one.client is not client)
        found = next((one for one in sent if self._may_acknowledge(client, one.client)), None)
        if found is None:
            queue.unwaited.add(id_)
            return None
        self._settle(queue, found)
        found.item.again = found.item.again if nack else "TMQP-ACKNOWLEDGE-3"
        self._follow(queue, found.item, nack=nack)
        return found.item

    def _settle(self, queue: ModelQueue, settled: Awaited) -> None:
        """Wait for it no longer; whether two of one id that a client was sent are waited for at once is free (E66)."""
        queue.awaited.remove(settled)
        others = [one for one in queue.awaited if one.client is settled.client]
        queue.is_vague |= any(one.item.id.value == settled.item.id.value for one in others)

    def _may_acknowledge(self, client: ModelClient, receiver: ModelClient) -> bool:
        """Say whether a client may acknowledge what a client was sent (E61)."""
        is_namesake = client.id.value is not None and client.id.value == receiver.id.value
        return client is receiver or (is_namesake and not self._world.rules.acknowledges_by_connection)

    def missed(self, queue: ModelQueue, awaited: Awaited) -> None:
        """Follow an acknowledgement that did not come in time (E31)."""
        self._settle(queue, awaited)
        queue.counts["NegativeAcks"] += 1
        if queue.delivery in TRAVELLING and self._world.rules.reports_timeouts:
            self.confirm(queue, awaited.item, nack=True, is_certain=False)
        self._follow(queue, awaited.item, nack=True)

    def expired(self, queue: ModelQueue, item: Item) -> None:
        """Drop a message that was stored for too long."""
        for some in (queue.high, queue.normal):
            if item in some:
                some.remove(item)
        queue.counts["TimeoutMessages"] += 1
        self._world.settle(queue.channel)

    def clear(self, queue: ModelQueue, *, high: bool = True, normal: bool = True) -> None:
        """Drop what is stored."""
        queue.high, queue.normal = ([] if high else queue.high), ([] if normal else queue.normal)

    def change(self, queue: ModelQueue, before: QueueStatus) -> None:
        """Follow what a queue does whose state may be another now; what becomes of messages there may be open."""
        rules, is_same = self._world.rules, queue.status is before
        is_open = queue.status in (QueueStatus.BROADCAST, QueueStatus.CACHE) or queue.was_cache
        if is_open and rules.keeps_cached:
            queue.is_vague |= bool(queue.stored) and not self._world.is_strict
        queue.was_cache = queue.status is QueueStatus.CACHE
        if not (is_same or rules.turns_by_count):
            queue.turn = 0
        if queue.status is QueueStatus.STOPPED:
            self.clear(queue)
            if not rules.keeps_awaited_when_stopped:
                queue.awaited = []
        if queue.status is QueueStatus.CACHE and queue.stored and rules.keeps_cached:
            newest = (queue.normal or queue.high)[-1]
            self.clear(queue)
            self._store(queue, newest)
        if rules.sends_on_every_update or not is_same:
            self.drain(queue)

    def _store(self, queue: ModelQueue, item: Item, *, first: bool = False) -> None:
        some = queue.high if item.frame.high_priority else queue.normal
        some.insert(0 if first else len(some), item)
        queue.channel.is_used = True
        ms = queue.ms("MessageTimeout")
        item.expires = self._world.after(ms, item.produced) if ms else None

    def _follow(self, queue: ModelQueue, item: Item, *, nack: bool) -> None:
        """Put a message back, or let it go; then send on."""
        returns = nack and queue.delivery.startswith("put-back") and item.put_backs < self._world.put_back_limit
        is_there = queue.channel.queues.get(queue.number) is queue and queue.status is not QueueStatus.STOPPED
        if returns and is_there and item not in queue.high and item not in queue.normal:
            item.put_backs += 1
            self._store(queue, item, first=queue.delivery == "put-back-start")
        if self._world.rules.sends_put_backs:
            self.drain(queue)

    def _may_send(self, queue: ModelQueue) -> bool:
        return bool(queue.channel.members) and not (queue.options["WaitForAcknowledge"] and queue.awaited)

    def _receivers(self, queue: ModelQueue) -> list[ModelClient]:
        members = queue.channel.members
        if queue.status is QueueStatus.ROUND_ROBIN and members and not self._world.rules.turns_by_count:
            place = queue.turn if queue.turn < len(members) else 0
            queue.turn = place + 1
            return [members[place]]
        if queue.status is QueueStatus.ROUND_ROBIN and members:
            is_open = queue.turn > 0 and len(members) > 1 and members != queue.last_members
            queue.is_vague |= is_open and not self._world.is_strict
            queue.last_members = list(members)
            queue.turn += 1
            return [members[(queue.turn - 1) % len(members)]]
        return members[:1] if queue.options["SendOnlyFirstAcquirer"] else list(members)
