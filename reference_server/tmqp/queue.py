"""A queue: what is stored, who gets it, and which acknowledgements are waited for.

Messages are stored in two lists, high priority first. Sending what is stored is sliced: after some messages the other
connections get their turn.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from wireproof.protocols.tmqp.enums import QueueStatus
from wireproof.reference_server.tmqp.headers import Headers
from wireproof.reference_server.tmqp.settings import QueueSettings
from wireproof.reference_server.tmqp.stored import Awaited, StoredMessage

if TYPE_CHECKING:
    from wireproof.reference_server.tmqp.channel import Channel
    from wireproof.reference_server.tmqp.client import Client
    from wireproof.reference_server.tmqp.state import State

__all__ = ["Counters", "Queue"]

SLICE = 128
"""Deliveries of stored messages in one turn of the loop, about."""
MS = 1_000_000
Messages = OrderedDict[StoredMessage, None]
AUTOMATIC = (QueueStatus.BROADCAST, QueueStatus.PUSH, QueueStatus.ROUND_ROBIN)


@dataclass(slots=True)
class Counters:
    """What has happened in a queue; instants in ms since the Unix epoch, 0 = never."""

    received: int = 0
    sent: int = 0
    deliveries: int = 0
    acks: int = 0
    negative_acks: int = 0
    timeouts: int = 0
    removed: int = 0
    last_received: int = 0
    last_sent: int = 0


class Queue:
    """One queue of a channel."""

    def __init__(self, channel: Channel, number: int, settings: QueueSettings, state: State) -> None:
        self.channel, self.number, self.settings = channel, number, settings
        self.counters = Counters()
        self._state = state
        self._high: Messages = OrderedDict()
        self._normal: Messages = OrderedDict()
        self._awaited: dict[tuple[bytes, Client], Awaited] = {}
        self._turn = 0
        self._is_draining = False
        self._pulls: deque[Callable[[], bool]] = deque()
        """Pulls that are served one after another; the first one is begun."""

    @property
    def high(self) -> int:
        """Stored messages of high priority."""
        return len(self._high)

    @property
    def normal(self) -> int:
        """Stored messages of normal priority."""
        return len(self._normal)

    @property
    def stored(self) -> int:
        """Stored messages."""
        return len(self._high) + len(self._normal)

    @property
    def holds_back(self) -> bool:
        """Whether a message waits for the acknowledgements of the one before."""
        return self.settings.wait_ack and self._state.rules.waits_for_acknowledge

    @property
    def requests_ack(self) -> bool:
        """Whether consumers must acknowledge."""
        return self.settings.request_ack or self.holds_back

    def push(self, message: StoredMessage) -> None:
        """Send a message that was accepted, or store it, as the status says."""
        self.counters.received += 1
        message.produced_ns = self._state.clock.monotonic_ns()
        self.counters.last_received = self._state.wall_ms()
        if not self._state.rules.decides_when_sent:
            message.asks = self.requests_ack
            message.source = b"" if self.settings.hide_names else message.source
        status = self.settings.status
        if status is QueueStatus.BROADCAST:
            self.send(message, self._receivers())
            return
        if status is QueueStatus.CACHE:
            self.clear()
            if not self._state.rules.keeps_cached:
                return
        if status in AUTOMATIC and not self.stored and self._may_send():
            self.send(message, self._receivers())
        else:
            self.store(message)
            self.drain()

    def store(self, message: StoredMessage, *, first: bool = False) -> None:
        """Store a message, before all others of its priority or after them."""
        messages = self._high if message.priority else self._normal
        messages[message] = None
        self.channel.is_used = True
        if first:
            messages.move_to_end(message, last=False)
        self._state.hold(message)
        if self.settings.message_timeout:
            self._state.expire(message, message.produced_ns + self.settings.message_timeout * MS)

    def take(self, *, last: bool = False) -> StoredMessage | None:
        """Take the next message out, or the newest; high priority goes first."""
        for messages in (self._high, self._normal):
            if messages:
                message, _ = messages.popitem(last=last)
                self._state.release(message)
                return message
        return None

    def newest(self) -> StoredMessage | None:
        """Return the message that was stored last, without taking it."""
        return next(reversed(self._normal or self._high), None)

    def drain(self) -> None:
        """Send what is stored, as far as somebody takes it."""
        if self._is_draining:
            return
        sent = 0
        while self.stored and self.settings.status in AUTOMATIC and self._may_send():
            if sent >= SLICE:
                self._is_draining = True
                self._state.later(self._drain_on)
                return
            message = self.take()
            assert message is not None
            receivers = self._receivers()
            sent += len(receivers)
            self.send(message, receivers)

    def _drain_on(self) -> None:
        self._is_draining = False
        if not self.channel.is_removed:
            self.drain()

    def send(self, message: StoredMessage, receivers: list[Client], headers: Headers = ()) -> None:
        """Send a message to consumers; without any it is lost."""
        if not receivers:
            self.counters.removed += 1
            return
        state = self._state
        if message.asks is not None and self.settings.status is QueueStatus.PULL:
            message.asks = self.requests_ack
        requests_ack = self.requests_ack and message.asks is not False
        is_first = state.rules.marks_again or not message.put_backs
        frame = state.codec.encode(message.delivered(first=is_first, headers=headers))
        others = state.codec.encode(message.delivered(first=False, headers=headers)) if len(receivers) > 1 else b""
        for client in receivers:
            client.push(frame)
            frame = others
            if requests_ack:
                self._await(message, client)
        state.spent += len(receivers)
        counters = self.counters
        counters.sent += 1
        counters.deliveries += len(receivers)
        counters.last_sent = state.wall_ms()
        counters.removed += not requests_ack or not state.rules.counts_settled
        if self.settings.delivery.acknowledges == "sent":
            state.confirm(message, first=False)

    def serve(self, pull: Callable[[], bool]) -> None:
        """Serve a pull once those before it are: `pull` sends some messages and returns whether it is over."""
        self._pulls.append(pull)
        if len(self._pulls) == 1:
            self._serve_on()

    def _serve_on(self) -> None:
        limit = self._state.spent + SLICE
        while self._pulls and self._state.spent < limit:
            if self._pulls[0]():
                self._pulls.popleft()
        if self._pulls:
            self._state.later(self._serve_on)

    def clear(self, *, high: bool = True, normal: bool = True) -> None:
        """Drop stored messages."""
        if high:
            self._state.retire(self._high)
            self._high = OrderedDict()
        if normal:
            self._state.retire(self._normal)
            self._normal = OrderedDict()

    def close(self) -> None:
        """Drop everything: the queue is removed."""
        self.clear()
        self._forget()

    def _forget(self) -> None:
        """Wait for no acknowledgement any more."""
        self._state.retire(self._awaited)
        self._awaited = {}

    def kept_bytes(self) -> int:
        """Return the bytes of what is stored, and of what waits for each acknowledgement."""
        awaited = (one.message for first in self._awaited.values() for one in _chain(first))
        return sum(message.size for message in (*self._high, *self._normal, *awaited))

    def change(self, settings: QueueSettings) -> None:
        """Work otherwise from now on; a queue that stops drops its messages, one that starts sends them."""
        rules, is_same = self._state.rules, settings.status is self.settings.status
        self.settings = settings
        if not (is_same or rules.turns_by_count):
            self._turn = 0
        if settings.status is QueueStatus.STOPPED:
            self.clear()
            if not rules.keeps_awaited_when_stopped:
                self._forget()
        newest = self.newest() if settings.status is QueueStatus.CACHE and rules.keeps_cached else None
        if newest is not None:
            messages = self._high if newest.priority else self._normal
            del messages[newest]
            self._state.release(newest)
            self.clear()
            self.store(newest)
        if rules.sends_on_every_update or not is_same:
            self.drain()

    def expired(self, message: StoredMessage) -> None:
        """Drop a message that waited too long."""
        messages = self._high if message.priority else self._normal
        if message in messages:
            del messages[message]
            self._state.release(message)
            self.counters.timeouts += 1
            self.counters.removed += 1
            self.channel.settle()

    def acknowledged(self, client: Client, id_: bytes, *, negative: bool) -> StoredMessage | None:
        """Follow the acknowledgement of a consumer; return its message, None if none is waited for."""
        self.counters.negative_acks += negative
        self.counters.acks += not negative
        awaited = self._awaited.pop((id_, client), None) or self._of_namesake(id_, client)
        if awaited is None:
            return None
        self._settle(awaited)
        self._follow(awaited.message, negative=negative)
        return awaited.message

    def _of_namesake(self, id_: bytes, client: Client) -> Awaited | None:
        """Return what a client with that id was sent before, and who may acknowledge it now (E61)."""
        if self._state.rules.acknowledges_by_connection:
            return None
        found = next((key for key in self._awaited if key[0] == id_ and key[1].id == client.id), None)
        return None if found is None else self._awaited.pop(found)

    def missed(self, awaited: Awaited) -> None:
        """Follow an acknowledgement that did not come in time."""
        key = awaited.message.id, awaited.client
        if (first := self._awaited.get(key)) is None:
            return
        if first is awaited:
            del self._awaited[key]
        elif (before := next((one for one in _chain(first) if one.then is awaited), None)) is not None:
            before.then, awaited.then = awaited.then, None
        else:  # it was forgotten, and its id is awaited anew
            return
        self._settle(awaited)
        self.counters.negative_acks += 1
        if self.settings.delivery.acknowledges == "acknowledged" and self._state.rules.reports_timeouts:
            self._state.confirm(awaited.message, first=False, nack=b"timeout")
        self._follow(awaited.message, negative=True)

    def _follow(self, message: StoredMessage, *, negative: bool) -> None:
        """Put a message back, or let it go; then send on."""
        where = self.settings.delivery.puts_back
        is_stopped = self.settings.status is QueueStatus.STOPPED or self.channel.is_removed
        is_stored = message in self._high or message in self._normal
        goes_back = negative and where != "never" and message.put_backs < self._state.put_back_limit
        if goes_back and not is_stopped and not is_stored:
            message.put_backs += 1
            self.store(message, first=where == "start")
        elif not (message.awaited or is_stored) and self._state.rules.counts_settled:
            self.counters.removed += 1
        if self._state.rules.sends_put_backs:
            self.drain()

    def _await(self, message: StoredMessage, client: Client) -> None:
        awaited = Awaited(message, client)
        first = self._awaited.setdefault((message.id, client), awaited)
        if first is not awaited:
            *_, last = _chain(first)
            last.then = awaited
        message.awaited += 1
        self._state.await_acknowledge(awaited, self.settings.ack_timeout)

    def _settle(self, awaited: Awaited) -> None:
        awaited.message.awaited -= 1
        self._state.settled(awaited)
        if awaited.then is not None:
            self._awaited[awaited.message.id, awaited.client] = awaited.then

    def _may_send(self) -> bool:
        return bool(self.channel.members) and not (self.holds_back and self._awaited)

    def _receivers(self) -> list[Client]:
        """Return who gets the next message."""
        members = self.channel.members
        if self.settings.status is QueueStatus.ROUND_ROBIN and members:
            if not self._state.rules.turns_by_count and self._turn >= len(members):
                self._turn = 0
            turn, self._turn = self._turn % len(members), self._turn + 1
            return list(islice(members, turn, turn + 1))
        return list(islice(members, 1)) if self.settings.only_first else list(members)


def _chain(first: Awaited) -> Iterator[Awaited]:
    """Yield what waits for acknowledgements with one id of one client, the oldest first."""
    one: Awaited | None = first
    while one is not None:
        yield one
        one = one.then
