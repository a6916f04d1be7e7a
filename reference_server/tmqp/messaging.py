"""Handlers of what is pushed into queues, pulled from them and acknowledged."""

from __future__ import annotations

from collections import deque

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
from wireproof.reference_server.tmqp.stored import StoredMessage

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
            return Response(id=request.id, target=client.id, content_type=ResultCode.NOT_FOUND)
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
        headers = (Header(b"Request-Id", request.id), Header(b"No-Content", why))
        message = QueueMessage(id=request.id, target=request.target, content_type=request.content_type, headers=headers)
        client.push(self._state.codec.encode(message))
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
        """Take the messages that are asked for, and send them, some at a time."""
        rules, given = self._state.rules, header(request.headers, b"count")
        count = whole(given, MOST)
        if count is None and given is not None and not rules.answers_bad_requests:
            raise RefusedError("Count: expected a number")
        if not count:
            return self._empty(request, b"Unacceptable", client)
        if not queue.stored:
            return self._empty(request, b"Empty", client)
        is_lifo = (header(request.headers, b"order") or b"").strip().upper() == b"LIFO"
        tells = (header(request.headers, b"info") or b"").strip().lower() == b"yes"
        taken: deque[tuple[StoredMessage, Headers]] = deque()
        total = min(count, queue.stored) if rules.counts_what_there_is else count
        while len(taken) < count and (message := queue.take(last=is_lifo)) is not None:
            headers = [
                Header(b"Request-Id", request.id),
                Header(b"Count", b"%d" % total),
                Header(b"Index", b"%d" % (len(taken) + 1)),
            ]
            if tells:
                headers.append(Header(b"Priority-Messages", b"%d" % queue.high))
                headers.append(Header(b"Messages", b"%d" % queue.normal))
            taken.append((message, tuple(headers)))
        if rules.loses_one_after_pull and len(taken) == count:
            queue.take(last=is_lifo)
        high, normal = CLEARED.get((header(request.headers, b"clear") or b"").strip().lower(), (False, False))
        queue.clear(high=high, normal=normal)
        self._send(request, queue, client, taken)
        return None

    def _send(self, request: Pull, queue: Queue, client: Client, taken: deque[tuple[StoredMessage, Headers]]) -> None:
        """Send what a pull took, and at last that it is over."""
        for _ in range(min(SLICE, len(taken))):
            message, headers = taken.popleft()
            queue.send(message, [client], headers)
        if taken:
            self._state.later(lambda: self._send(request, queue, client, taken))
        else:
            self._empty(request, b"End", client)
