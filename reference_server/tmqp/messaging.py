"""Handlers of what is pushed into queues, pulled from them and acknowledged."""

from __future__ import annotations

from msgspec.structs import replace

from wireproof.protocols.tmqp import Header, ResultCode
from wireproof.protocols.tmqp.enums import QueueStatus
from wireproof.protocols.tmqp.replies import Confirmation, QueueMessage, Response
from wireproof.protocols.tmqp.requests import Acknowledge, Produce, Pull
from wireproof.reference_server.tmqp.client import Client
from wireproof.reference_server.tmqp.headers import Headers, header, whole
from wireproof.reference_server.tmqp.pushing import Pushing
from wireproof.reference_server.tmqp.queue import SLICE, Queue
from wireproof.reference_server.tmqp.relaying import relayed
from wireproof.reference_server.tmqp.session import TmqpSession
from wireproof.reference_server.tmqp.state import Answer, Handlers, RefusedError, State

__all__ = ["Messaging"]

MOST = 1 << 30
"""The largest count that a pull may name."""
CLEARED = {b"all": (True, True), b"high-priority": (True, False), b"default-priority": (False, True)}
"""Value of Clear, in lower case -> whether high and normal priority are dropped."""


class Messaging:
    """The handlers of messages in queues."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._pushing = Pushing(state)

    def handlers(self) -> Handlers:
        """Return request class -> handler."""
        return {Produce: self.produce, Pull: self.pull, Acknowledge: self.acknowledge}

    def produce(self, request: Produce, session: TmqpSession, now: int) -> Answer:
        """Push a message, and its copies; only a message that is not taken is answered here.

        Raises `RefusedError` for a copy that a release closes on.
        """
        code = self._pushing.push(request, session.known)
        if code != ResultCode.NOT_FOUND or self._state.rules.copies_what_is_nowhere:
            self._pushing.copy(request, session.known)
        return self._state.refuse_push(request, code) if code else None

    def pull(self, request: Pull, session: TmqpSession, now: int) -> Answer:
        """Serve a pull, or say why not. Raises `RefusedError` for a count that a release closes on."""
        state, rules, client = self._state, self._state.rules, session.known
        channel = state.channel(request.target)
        queue = None if channel is None else channel.queues.get(request.content_type)
        if not request.id and rules.describes_missing_queues:
            return self._empty(request, b"Id-Required", client)
        if channel is None or queue is None:
            if rules.describes_missing_queues:
                return self._empty(request, b"No-Channel" if channel is None else b"No-Queue", client)
            flags = request.one_delivery, request.high_priority
            return Response(*flags, id=request.id, target=client.id, content_type=ResultCode.NOT_FOUND)
        if not request.id:
            request = replace(request, id=state.new_id())
        is_cache = queue.settings.status is QueueStatus.CACHE and rules.serves_caches
        if not is_cache and queue.settings.status is not QueueStatus.PULL:
            return self._empty(request, b"Unacceptable", client)
        if is_cache:
            return self._cached(request, queue, client)
        if client not in channel.members:
            return self._empty(request, b"Unauthorized", client)
        return self._served(request, queue, client)

    def acknowledge(self, request: Acknowledge, session: TmqpSession, now: int) -> Answer:
        """Take an acknowledgement, or relay one of a direct message; what nobody waits for is dropped."""
        state, client = self._state, session.known
        channel = None if request.high_priority else state.channel(request.target)
        if channel is None:
            receiver = state.clients.get(request.target)
            if receiver is not None:
                receiver.push(state.codec.encode(relayed(Confirmation, request, client.id, state)))
            return None
        queue = channel.queues.get(request.content_type)
        if queue is None:
            return None
        is_negative = header(request.headers, b"nack-reason") is not None
        travels = queue.settings.delivery.acknowledges == "acknowledged"
        message = queue.acknowledged(client, request.id, negative=is_negative)
        if message is not None and travels and (message.is_asked_for or not state.rules.acknowledges_when_asked):
            source = b"" if queue.settings.hide_names else client.id
            message.producer.push(state.codec.encode(relayed(Confirmation, request, source, state)))
        return None

    def _empty(self, request: Pull, why: bytes, client: Client) -> Answer:
        """Send the message without content that says what became of a pull."""
        client.push(self._state.codec.encode(without_content(request, why)))
        return None

    def _cached(self, request: Pull, queue: Queue, client: Client) -> Answer:
        """Answer with the message of a cache, which stays (E10)."""
        message, code = queue.newest(), ResultCode.OK
        if client not in queue.channel.members:
            message, code = None, ResultCode.UNAUTHORIZED
        elif message is None:
            code = ResultCode.NOT_FOUND
        payload = b"" if message is None else message.frame.payload
        headers = () if message is None else message.frame.headers
        return Response(id=request.id, target=client.id, content_type=code, headers=headers, payload=payload)

    def _served(self, request: Pull, queue: Queue, client: Client) -> Answer:
        """Serve a pull once those before it are. Raises `RefusedError` for a count that a release closes on."""
        given = header(request.headers, b"count")
        count = whole(given, MOST)
        if count is None and given is not None and not self._state.rules.answers_bad_requests:
            raise RefusedError("Count: expected a number")
        if not count:
            return self._empty(request, b"Unacceptable", client)
        client.pulls += 1
        pull = Pulled(self._state, request, queue, client, count)
        queue.serve(pull.send)
        return None


class Pulled:
    """One pull: messages are taken and sent some at a time, and no other pull of the queue comes between."""

    def __init__(self, state: State, request: Pull, queue: Queue, client: Client, count: int) -> None:
        self._state, self._request, self._queue, self._client, self._count = state, request, queue, client, count
        self._total = 0
        """What the header Count says; 0 until it begins."""
        self._sent = 0
        self._is_lifo = (header(request.headers, b"order") or b"").strip().upper() == b"LIFO"
        self._reports_end = (header(request.headers, b"info") or b"").strip().lower() == b"yes"

    def send(self) -> bool:
        """Send some messages, or what ends the pull; return whether it is over."""
        queue, count = self._queue, self._count
        if not self._total:
            if not queue.stored:
                self._end(b"Empty")
                return True
            self._total = min(count, queue.stored) if self._state.rules.counts_what_there_is else count
        for _ in range(min(SLICE, count - self._sent)):
            message = queue.take(last=self._is_lifo) if self._client.write is not None else None
            if message is None:
                break
            self._sent += 1
            queue.send(message, [self._client], self._headers())
        else:
            if self._sent < count:
                return False
        self._finish()
        return True

    def _headers(self) -> Headers:
        found = (
            Header(b"Request-Id", self._request.id),
            Header(b"Count", b"%d" % self._total),
            Header(b"Index", b"%d" % self._sent),
        )
        if not self._reports_end:
            return found
        left = Header(b"Priority-Messages", b"%d" % self._queue.high), Header(b"Messages", b"%d" % self._queue.normal)
        return (*found, *left)

    def _finish(self) -> None:
        """Clear what is left, if that was asked for, and say that the pull is over."""
        clear = (header(self._request.headers, b"clear") or b"").strip().lower()
        high, normal = CLEARED.get(clear, (False, False))
        self._queue.clear(high=high, normal=normal)
        if self._state.rules.loses_one_after_pull and self._sent == self._count:
            self._queue.take(last=self._is_lifo)
        self._end(b"End")
        self._queue.channel.settle()

    def _end(self, why: bytes) -> None:
        client = self._client
        client.push(self._state.codec.encode(without_content(self._request, why)))
        client.pulls -= 1
        if client.served is not None:
            client.served()


def without_content(request: Pull, why: bytes) -> QueueMessage:
    """Return the message that says what became of a pull."""
    headers = (Header(b"Request-Id", request.id), Header(b"No-Content", why))
    return QueueMessage(id=request.id, target=request.target, content_type=request.content_type, headers=headers)
