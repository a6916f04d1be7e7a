"""The state that all connections of one server share, and the types of handlers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from wireproof.protocols.messages import Reply, Request
from wireproof.protocols.profile import Profile
from wireproof.protocols.tmqp import Codec, Header, ResultCode
from wireproof.protocols.tmqp.frames import RequestFrame
from wireproof.protocols.tmqp.replies import Confirmation, Response
from wireproof.reference_server.clock import Clock
from wireproof.reference_server.scheduler import Scheduler
from wireproof.reference_server.service import Ids, Limits
from wireproof.reference_server.tmqp.channel import Channel
from wireproof.reference_server.tmqp.client import Client, Clients
from wireproof.reference_server.tmqp.config import read_config
from wireproof.reference_server.tmqp.rules import Rules
from wireproof.reference_server.tmqp.settings import DELIVERIES, ChannelSettings, QueueSettings
from wireproof.reference_server.tmqp.stored import Awaited, StoredMessage

if TYPE_CHECKING:
    from wireproof.reference_server.tmqp.nodes import Node
    from wireproof.reference_server.tmqp.queue import Messages
    from wireproof.reference_server.tmqp.session import TmqpSession

__all__ = ["Answer", "Handler", "Handlers", "RefusedError", "State"]

Answer = Reply | bytes | tuple[Reply, ...] | None
"""Replies, or bytes that are written instead (mutants send what has no message)."""
Handler = Callable[[Any, Any, int], Answer]
"""(request, session, now in monotonic ns) -> the answer; may raise RefusedError."""
Handlers = dict[type[Request], Handler]

NACK = b"Nack-Reason"
RETIRED = 1000
"""Dropped messages that are let go of in one turn of the loop."""


class RefusedError(Exception):
    """Raised by a handler that closes the connection; the message says why."""


class State:
    """One server's clients, channels and queues, under the rules of its profile."""

    def __init__(
        self,
        profile: Profile,
        variant: str,
        clock: Clock,
        ids: Ids,
        limits: Limits,
        options: Mapping[str, Any],
        rules: Rules,
    ) -> None:
        self.codec = Codec.of(profile, variant)
        self.rules = rules
        self.clock, self.limits, self.options = clock, limits, options
        self.config = read_config(options["config"])
        self.put_back_limit: int = options["put_back_limit"]
        self._room: int = options["max_stored"]
        self.clients = Clients()
        self.channels: dict[bytes, Channel] = {}
        """Name in lower case -> channel."""
        self.queues = 0
        """How many queues there are."""
        self.spent = 0
        """Deliveries that were made: what one turn of the loop may do is limited by them."""
        self.held = 0
        """Bytes of messages that are stored, or wait for an acknowledgement."""
        self.subscribers: dict[tuple[bytes, bytes, int], dict[Client, None]] = {}
        """Event, channel in lower case, queue -> who is notified."""
        self.nodes: dict[Node, None] = {}
        """Servers that are linked, in either direction."""
        self.sessions: dict[TmqpSession, None] = {}
        """Open connections, oldest first."""
        self.touched: list[TmqpSession] = []
        """Connections that have frames to write once the current requests are handled."""
        self.settings = ChannelSettings(
            queues=QueueSettings(
                delivery=DELIVERIES[self.config.delivery],
                ack_timeout=round(options["acknowledge_timeout"] * 1000),
                size_limit=options["message_size_limit"],
            )
        )
        self._ids = ids
        self._times: Scheduler[StoredMessage | Awaited] = Scheduler(clock, self._due, tick_ns=1_000_000)

    def new_id(self) -> bytes:
        """Return an id of 32 hexadecimal digits."""
        return self._ids().hex().encode()

    def wall_ms(self) -> int:
        """Return ms since the Unix epoch."""
        return self.clock.wall_ns() // 1_000_000

    def channel(self, name: bytes) -> Channel | None:
        """Return the channel of that name."""
        return self.channels.get(name.lower())

    def later(self, work: Callable[[], object]) -> None:
        """Do work in the next turn of the loop, and write what comes of it."""

        def run() -> None:
            work()
            self.flush()

        self.clock.call_at(self.clock.monotonic_ns(), run)

    def flush(self) -> None:
        """Write the frames that are queued for connections."""
        touched, self.touched = self.touched, []
        for session in touched:
            session.flush()

    def answer(
        self, request: RequestFrame, client: Client, code: int, payload: bytes = b"", *, always: bool = False
    ) -> Answer:
        """Return the answers that the flags of an operation ask for (E11); `always`: released servers answer anyway."""
        if not request.id and (self.rules.answers_as_asked or not always):
            return None
        response = Response(
            request.one_delivery,
            request.high_priority,
            id=request.id,
            target=client.id,
            content_type=code,
            payload=payload,
        )
        if not self.rules.answers_as_asked:
            is_asked = request.pending_response or (payload and self.rules.answers_information_alike)
            return response if is_asked or always else None
        answers: list[Reply] = [response] if request.pending_response else []
        if request.pending_ack:
            answers.append(self._confirmation(request, client.id, code, code))
        return tuple(answers)

    def refuse_push(self, request: RequestFrame, code: int) -> Answer:
        """Return the notice to a producer that its message was not taken (E29); its target is the channel."""
        if not request.id:
            return None
        if request.pending_ack and self.rules.refuses_by_acknowledgement:
            return self._confirmation(request, request.target, request.content_type, code)
        flags = request.one_delivery, request.high_priority
        return Response(*flags, id=request.id, target=request.target, content_type=code)

    def _confirmation(self, request: RequestFrame, target: bytes, content_type: int, code: int) -> Confirmation:
        headers = (Header(NACK, reason(code)),) if code else ()
        flags = request.one_delivery, request.high_priority
        return Confirmation(*flags, id=request.id, target=target, content_type=content_type, headers=headers)

    def confirm(self, message: StoredMessage, *, first: bool, nack: bytes = b"") -> None:
        """Acknowledge a message to its producer; `first`: before anybody got it (E38)."""
        if not message.id or (self.rules.acknowledges_when_asked and not message.is_asked_for):
            return
        frame = message.frame
        confirmation = Confirmation(
            one_delivery=int(first),
            high_priority=frame.high_priority if self.rules.marks_confirmations else 0,
            id=message.id,
            target=frame.target,
            content_type=frame.content_type,
            headers=(Header(NACK, nack),) if nack else (),
        )
        message.producer.push(self.codec.encode(confirmation))

    def hops(self, ttl: int) -> int:
        """Return the TTL of what is relayed (E36)."""
        return max(ttl - 1, 1 if self.rules.never_sends_dead_messages else 0)

    def relay(self, request: RequestFrame, source: bytes) -> None:
        """Send what a client sent to the masters, as it came."""
        masters = [node for node in self.nodes if not node.is_slave] if self.nodes else ()
        if masters:
            frame = self.codec.encode(replace(request, source=source))
            for node in masters:
                node.push(frame)

    def has_room(self, size: int) -> bool:
        """Say whether a message of `size` bytes may be kept."""
        return self.held + size <= self._room

    def hold(self, message: StoredMessage) -> None:
        """Count a message that is kept."""
        self.held += message.size

    def release(self, message: StoredMessage) -> None:
        """Count a message that is no longer stored."""
        self.held -= message.size
        if message.bucket is not None:
            self._times.cancel(message)

    def retire(self, items: Messages | dict[tuple[bytes, Client], Awaited]) -> None:
        """Let go of messages, or of acknowledgements that are waited for, some at a time."""
        for _ in range(min(len(items), RETIRED)):
            key, value = items.popitem()
            if isinstance(key, StoredMessage):
                self.release(key)
            while value is not None:
                self.settled(value)
                value = value.then
        if items:
            self.later(lambda: self.retire(items))

    def expire(self, message: StoredMessage, when_ns: int) -> None:
        """Drop a stored message at an instant."""
        self._times.schedule(message, when_ns)

    def await_acknowledge(self, awaited: Awaited, after_ms: int) -> None:
        """Wait for an acknowledgement; 0: as long as the server says."""
        self.held += awaited.message.size
        after_ns = (after_ms or self.settings.queues.ack_timeout or 1) * 1_000_000
        self._times.schedule(awaited, self.clock.monotonic_ns() + after_ns)

    def settled(self, awaited: Awaited) -> None:
        """Wait for an acknowledgement no longer."""
        self.held -= awaited.message.size
        if awaited.bucket is not None:
            self._times.cancel(awaited)

    def close(self) -> None:
        """Cancel every timer and drop what is stored."""
        self._times.close()
        self.channels.clear()
        self.clients.clear()

    def _due(self, item: StoredMessage | Awaited) -> None:
        if isinstance(item, Awaited):
            item.message.queue.missed(item)
        else:
            item.queue.expired(item)
        self.flush()


def reason(code: int) -> bytes:
    """Return what a negative acknowledgement says of a result."""
    return ResultCode(code).name.lower().replace("_", "-").encode()
