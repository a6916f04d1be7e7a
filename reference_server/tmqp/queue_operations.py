"""Handlers of the server operations about queues; their id is a header, in releases sometimes the payload (E12)."""

from __future__ import annotations

from dataclasses import replace

from wireproof.protocols.errors import MalformedFrameError
from wireproof.protocols.tmqp import ResultCode
from wireproof.protocols.tmqp.bodies import QueueInformation, QueueList, QueueOptions
from wireproof.protocols.tmqp.frames import RequestFrame
from wireproof.protocols.tmqp.requests import (
    ClearQueue,
    CreateQueue,
    DeleteQueue,
    ListQueues,
    QueueInfo,
    UpdateQueue,
)
from wireproof.reference_server.tmqp.channel import Channel
from wireproof.reference_server.tmqp.channels import Channels
from wireproof.reference_server.tmqp.events import status_name
from wireproof.reference_server.tmqp.headers import header, is_channel_name, text, whole
from wireproof.reference_server.tmqp.operations import wrong
from wireproof.reference_server.tmqp.queue import Queue
from wireproof.reference_server.tmqp.session import TmqpSession
from wireproof.reference_server.tmqp.settings import QueueSettings, SettingsError
from wireproof.reference_server.tmqp.state import Answer, Handlers, RefusedError, State

__all__ = ["QueueOperations"]

QUEUE_ID = b"queue-id"
YES = b"yes"


class QueueOperations:
    """The handlers of queues."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._channels = Channels(state)

    def handlers(self) -> Handlers:
        """Return request class -> handler."""
        return {
            CreateQueue: self.create_queue,
            UpdateQueue: self.update_queue,
            DeleteQueue: self.delete_queue,
            ClearQueue: self.clear_queue,
            ListQueues: self.list_queues,
            QueueInfo: self.queue_info,
        }

    def create_queue(self, request: CreateQueue, session: TmqpSession, now: int) -> Answer:
        """Create a queue, and its channel if that is not there.

        Raises `RefusedError` for what released servers close on.
        """
        state, client = self._state, session.known
        given = header(request.headers, QUEUE_ID)
        number = whole(given)
        if given is None and state.rules.makes_queue_without_id:
            session.answer(state.answer(request, client, ResultCode.UNACCEPTABLE, always=True))
            number = 0
        if number is None:
            return wrong(state, request, client, ResultCode.UNACCEPTABLE, "expected a header Queue-Id")
        if not is_channel_name(request.target):
            return wrong(state, request, client, ResultCode.UNACCEPTABLE, "a name that no channel may have")
        channel = state.channel(request.target)
        refused = self._refused(channel, number)
        if refused:
            silent = refused != ResultCode.DUPLICATE and not state.rules.answers_refused_queues
            return None if silent else state.answer(request, client, refused)
        try:
            settings = self._settings((channel.settings if channel else state.settings).queues, request)
        except (MalformedFrameError, SettingsError) as error:
            return wrong(state, request, client, ResultCode.BAD_REQUEST, error)
        channel = channel or self._channels.create(request.target, state.settings)
        if channel is None:
            return state.answer(request, client, ResultCode.LIMIT_EXCEEDED)
        self._channels.create_queue(channel, number, settings)
        return state.answer(request, client, ResultCode.OK)

    def update_queue(self, request: UpdateQueue, session: TmqpSession, now: int) -> Answer:
        """Give a queue other options, defaults for those left out; what it stores may be sent before the answer."""
        refused, queue = self._found(request, session)
        if queue is None:
            return refused
        try:
            settings = self._updated(queue, request)
        except (MalformedFrameError, SettingsError) as error:
            return wrong(self._state, request, session.known, ResultCode.BAD_REQUEST, error)
        queue.change(settings)
        self._channels.events.of_queue(b"QueueUpdated", queue)
        queue.channel.settle()
        return self._state.answer(request, session.known, ResultCode.OK)

    def delete_queue(self, request: DeleteQueue, session: TmqpSession, now: int) -> Answer:
        """Delete a queue and its messages. Raises `RefusedError` as `_found`."""
        refused, queue = self._found(request, session, by_payload=True)
        if queue is None:
            return refused
        self._channels.remove_queue(queue)
        queue.channel.settle()
        return self._state.answer(request, session.known, ResultCode.OK)

    def clear_queue(self, request: ClearQueue, session: TmqpSession, now: int) -> Answer:
        """Drop the messages of a queue."""
        refused, queue = self._found(request, session)
        if queue is None:
            return refused
        high, normal = (
            (header(request.headers, name) or b"").strip().lower() == YES
            for name in (b"priority-messages", b"messages")
        )
        queue.clear(high=high, normal=normal)
        queue.channel.settle()
        return self._state.answer(request, session.known, ResultCode.OK)

    def list_queues(self, request: ListQueues, session: TmqpSession, now: int) -> Answer:
        """Describe the queues of a channel."""
        refused, channel = self._channel(request, session)
        if channel is None:
            return refused
        rows = tuple(self._described(queue) for queue in channel.queues.values())
        return self._state.answer(request, session.known, ResultCode.OK, self._state.codec.encode(QueueList(rows)))

    def queue_info(self, request: QueueInfo, session: TmqpSession, now: int) -> Answer:
        """Describe a queue. Raises `RefusedError` as `_found`."""
        refused, queue = self._found(request, session, by_payload=True)
        if queue is None:
            return refused
        payload = self._state.codec.encode(self._described(queue))
        return self._state.answer(request, session.known, ResultCode.OK, payload)

    def _refused(self, channel: Channel | None, number: int) -> int:
        """Return why a queue cannot be created, 0 if it can."""
        if channel is not None and number in channel.queues:
            return ResultCode.DUPLICATE
        if channel is not None and not self._channels.may_create_queue(channel, number):
            return ResultCode.LIMIT_EXCEEDED
        return ResultCode.LIMIT_EXCEEDED if self._state.queues >= self._state.options["max_queues"] else 0

    def _settings(self, before: QueueSettings, request: RequestFrame) -> QueueSettings:
        if not request.payload:
            return before
        options = self._state.codec.decode(QueueOptions, request.payload)
        assert isinstance(options, QueueOptions)
        return before.changed(options, has_limits=self._state.rules.has_limits)

    def _updated(self, queue: Queue, request: RequestFrame) -> QueueSettings:
        if self._state.rules.updates_from_channel:
            return self._settings(queue.channel.settings.queues, request)
        if not request.payload:
            raise SettingsError("expected options")
        return replace(self._settings(queue.settings, request), delivery=queue.settings.delivery)

    def _channel(
        self, request: RequestFrame, session: TmqpSession, *, always: bool = True
    ) -> tuple[Answer, Channel | None]:
        """Return the channel in target, or the answer where there is none or the client is no administrator."""
        state, client = self._state, session.known
        if not client.is_admin:
            return state.answer(request, client, ResultCode.UNAUTHORIZED), None
        channel = state.channel(request.target)
        refused = state.answer(request, client, ResultCode.NOT_FOUND, always=always) if channel is None else None
        return refused, channel

    def _found(
        self, request: RequestFrame, session: TmqpSession, *, by_payload: bool = False
    ) -> tuple[Answer, Queue | None]:
        """Return the addressed queue, or the answer where there is none or the client is no administrator.

        Raises `RefusedError` where a release finds no id in the payload.
        """
        state, client = self._state, session.known
        given = header(request.headers, QUEUE_ID)
        number = whole(given)
        if given is None and not by_payload and state.rules.makes_queue_without_id and client.is_admin:
            session.answer(state.answer(request, client, ResultCode.UNACCEPTABLE, always=True))
            number = 0
        refused, channel = self._channel(request, session, always=by_payload)
        if channel is None:
            return refused, None
        if by_payload and (number is None or not state.rules.reads_queue_id_header):
            number = int.from_bytes(request.payload[:2], "little") if len(request.payload) > 1 else None
            if number is None and not state.rules.answers_bad_requests:
                raise RefusedError("expected a queue id of two bytes")
        if number is None:
            return wrong(state, request, client, ResultCode.UNACCEPTABLE, "expected a header Queue-Id"), None
        queue = channel.queues.get(number)
        if queue is None:
            return state.answer(request, client, ResultCode.NOT_FOUND, always=by_payload), None
        return None, queue

    def _described(self, queue: Queue) -> QueueInformation:
        settings, counters = queue.settings, queue.counters
        shown = settings if self._state.rules.reports_options_of_queue else queue.channel.settings.queues
        return QueueInformation(
            Channel=text(queue.channel.name),
            Id=queue.number,
            PriorityMessages=queue.high,
            Messages=queue.normal,
            Status=status_name(settings.status).lower(),
            OnlyFirstAcquirer=shown.only_first,
            RequestAcknowledge=shown.request_ack,
            AcknowledgeTimeout=shown.ack_timeout,
            MessageTimeout=shown.message_timeout,
            UseMessageId=shown.use_id,
            WaitForAcknowledge=shown.wait_ack,
            HideClientNames=shown.hide_names,
            ReceivedMessages=counters.received,
            SentMessages=counters.sent,
            Deliveries=counters.deliveries,
            NegativeAcks=counters.negative_acks,
            Acks=counters.acks,
            TimeoutMessages=counters.timeouts,
            SavedMessages=0,
            RemovedMessages=counters.removed,
            Errors=0,
            LastMessageReceived=counters.last_received,
            LastMessageSent=counters.last_sent,
            MessageLimit=shown.message_limit,
            MessageSizeLimit=shown.size_limit,
        )
