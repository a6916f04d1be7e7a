"""How a message gets into a queue: checks, the decision of the delivery, events, confirmations, copies."""

from __future__ import annotations

from msgspec.structs import replace

from wireproof.protocols.tmqp import ResultCode
from wireproof.protocols.tmqp.enums import DEFAULT_TTL, QueueStatus
from wireproof.protocols.tmqp.requests import Produce
from wireproof.reference_server.tmqp.channel import Channel
from wireproof.reference_server.tmqp.channels import Channels
from wireproof.reference_server.tmqp.client import Client
from wireproof.reference_server.tmqp.headers import Headers, is_channel_name, whole
from wireproof.reference_server.tmqp.queue import Queue
from wireproof.reference_server.tmqp.state import RefusedError, State
from wireproof.reference_server.tmqp.stored import OVERHEAD, StoredMessage

__all__ = ["Pushing"]

CC = b"cc"


class Pushing:
    """Puts messages into queues."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._channels = Channels(state)

    def queue(self, name: bytes, number: int) -> tuple[Channel | None, Queue | None]:
        """Return a channel and a queue of it; what the server creates by itself is created."""
        state, options = self._state, self._state.options
        channel = state.channel(name)
        if channel is None and options["auto_channels"] and is_channel_name(name):
            channel = self._channels.create(name, state.settings)
        if channel is None:
            return None, None
        queue = channel.queues.get(number)
        if queue is None and options["auto_queues"]:
            has_room = state.queues < options["max_queues"] and self._channels.may_create_queue(channel, number)
            queue = self._channels.create_queue(channel, number, channel.settings.queues) if has_room else None
        return channel, queue

    def push(self, request: Produce, client: Client, *, ttl: int | None = None) -> int:
        """Push a message into its queue; return the result: OK, or why it was not taken.

        `ttl`: that of what is delivered, by default what is left of the request's.
        """
        _, queue = self.queue(request.target, request.content_type)
        if queue is None:
            return ResultCode.NOT_FOUND
        if refused := self._refused(queue, request):
            return refused
        state, settings = self._state, queue.settings
        is_asked_for = bool(request.pending_ack and request.id)
        if not request.id and settings.use_id:
            request = replace(request, id=state.new_id(), pending_response=0)
        message = StoredMessage(
            request, queue, client, client.id, state.hops(request.ttl) if ttl is None else ttl, is_asked_for
        )
        delivery = settings.delivery
        nack = b"none" if delivery.is_negative else b""
        if not delivery.accepts:
            state.confirm(message, first=True, nack=nack)
            return ResultCode.OK
        self._channels.events.of_message(message)
        if delivery.acknowledges == "received":
            state.confirm(message, first=True, nack=nack)
        queue.push(message)
        return ResultCode.OK

    def copy(self, request: Produce, client: Client) -> None:
        """Push the copies that headers ask for. Raises `RefusedError` for one that a release closes on."""
        wanted = [one.value for one in request.headers if one.name.lower() == CC]
        if not wanted:
            return
        rest = tuple(one for one in request.headers if one.name.lower() != CC)
        for value in wanted:
            name, number, id_ = _copied(value)
            found = request.content_type if number is None else whole(number)
            if found is None:
                if not self._state.rules.skips_bad_copies:
                    raise RefusedError("a copy to a queue id that is no number")
                continue
            self._push_copy(request, client, name, found, id_ or self._state.new_id(), rest)

    def _push_copy(
        self, request: Produce, client: Client, name: bytes, number: int, id_: bytes, headers: Headers
    ) -> None:
        _, queue = self.queue(name, number)
        if queue is None or len(id_) > 255 or self._refused(queue, request) or not queue.settings.delivery.accepts:
            return
        copy = replace(request, id=id_, headers=headers, pending_ack=0)
        if self._state.rules.addresses_copies:
            copy = replace(copy, target=queue.channel.name, content_type=number)
        message = StoredMessage(copy, queue, client, client.id, DEFAULT_TTL, is_asked_for=False)
        self._channels.events.of_message(message)
        queue.push(message)

    def _refused(self, queue: Queue, request: Produce) -> int:
        """Return why a queue does not take a message, 0 if it does."""
        settings, state = queue.settings, self._state
        if settings.status is QueueStatus.STOPPED:
            return ResultCode.UNAUTHORIZED if state.rules.stopped_is_unauthorized else ResultCode.UNACCEPTABLE
        keeps = settings.status not in (QueueStatus.BROADCAST, QueueStatus.CACHE)
        is_full = keeps and 0 < settings.message_limit <= queue.stored
        if is_full or 0 < settings.size_limit < len(request.payload):
            return ResultCode.LIMIT_EXCEEDED
        return 0 if state.has_room(len(request.payload) + OVERHEAD) else ResultCode.LIMIT_EXCEEDED


def _copied(value: bytes) -> tuple[bytes, bytes | None, bytes]:
    """Return channel, queue id and message id of a copy; None and nothing where they are left out."""
    parts = [one.strip() for one in value.split(b";")]
    return parts[0], parts[1] if len(parts) > 1 else None, parts[2] if len(parts) > 2 else b""
