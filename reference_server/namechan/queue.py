"""One queue: its ids, its subscribers, and who gets what when."""

# Strategy
#
# A message has an id from the moment when it is published, and is *out* from the moment when subscribers may have it:
# at once for transient and Async queues, after the commit for Strong and Weak ones. `last` is the id of the last
# message that is out; ids are given in the order in which messages go out, so `last + 1` is always the next one.
#
# Replay (N17). A subscriber that asks for earlier messages has a cursor: the next id that it is to get. It is fed from
# the store, a chunk in each turn of the loop and only while its client reads. Meanwhile live messages pass it by: they
# are in the store, and the cursor will reach them. Once the cursor is beyond `last` it is removed, in the same turn in
# which that was seen, and from then on messages come live. So there is no message that neither way delivers, and none
# that both do.
#
# Round robin. `position` is the id of the last message that went to a subscriber. What is beyond it waits: in memory
# for a transient queue (`kept`), in the store for a persistent one.

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wireproof.protocols.namechan.replies import Message
from wireproof.reference_server.namechan.settings import Settings

if TYPE_CHECKING:
    from wireproof.reference_server.namechan.session import NamechanSession
    from wireproof.reference_server.namechan.state import State

__all__ = ["Queue", "Subscription"]


@dataclass(eq=False, slots=True)
class Subscription:
    """One subscriber of one queue."""

    session: NamechanSession
    start: int = 0
    """The smallest id that it wants."""
    cursor: int | None = None
    """The next id to read from the store; None: it gets messages as they go out."""
    is_ended: bool = False


class Queue:
    """One queue."""

    def __init__(
        self, state: State, topic: int, name: bytes, settings: Settings, last: int = 0, position: int = 0
    ) -> None:
        self._state = state
        self.topic, self.name, self.settings = topic, name, settings
        self.last = last
        self.position = position
        self.subscribers: dict[NamechanSession, Subscription] = {}
        """In the order in which they subscribed; for round robin, who is next stands first."""
        self.kept: deque[tuple[int, bytes]] = deque()
        """Messages that are out and wait for a subscriber, of a transient round-robin queue."""

    def subscribe(self, session: NamechanSession, start: int | None) -> Subscription:
        """Return a new subscription, for messages from `start` on; None: for those that go out from now on."""
        found = Subscription(session, start or 0)
        if start is not None and start <= self.last:
            found.cursor = start
        self.subscribers[session] = session.subscriptions[self.name] = found
        return found

    def unsubscribe(self, session: NamechanSession) -> None:
        """End a subscription."""
        self.subscribers.pop(session).is_ended = True
        del session.subscriptions[self.name]

    def is_full(self) -> bool:
        """Say whether no more can be kept while nobody subscribes (N15)."""
        if self.settings.is_broadcast or self.settings.is_persistent or self.subscribers:
            return False
        return len(self.kept) >= self._state.max_kept

    def out(self, body: bytes) -> int:
        """Send a message, which is written if that comes first; return its id."""
        self.last += 1
        number = self.last
        if self.settings.is_broadcast:
            frame = self._frame(number, body)
            for one in list(self.subscribers.values()):
                if one.cursor is None and number >= one.start:
                    one.session.push(frame)
        elif not self.settings.is_persistent:
            self.kept.append((number, body))
            self.drain()
        elif self.position == number - 1 and self.subscribers:
            self._send_in_turn(number, body)
        return number

    def drain(self) -> None:
        """Send what waits for a subscriber, in turns; what is persistent is read a chunk at a time."""
        while self.kept and self.subscribers:
            self._send_in_turn(*self.kept.popleft())
        if self.settings.is_persistent and self.position < self.last and self.subscribers:
            for number, body in self.stored(self.position + 1):
                self._send_in_turn(number, body)
            if self.position < self.last:
                self._state.later(self.drain)

    def feed(self, subscription: Subscription) -> None:
        """Send earlier messages to a subscriber, a chunk of them, as far as it reads."""
        cursor = subscription.cursor
        if cursor is None or subscription.is_ended or subscription.session.closed:
            return
        if subscription.session.is_slow:
            subscription.session.waiting.append(lambda: self.feed(subscription))
            return
        following = self.last + 1
        for number, body in self.stored(cursor):
            subscription.session.push(self._frame(number, body))
            following = number + 1
        subscription.cursor = None if following > self.last else following
        if subscription.cursor is not None:
            self._state.later(lambda: self.feed(subscription))

    def stored(self, first: int) -> list[tuple[int, bytes]]:
        """Return (id, body) of messages that are out, from `first` on; a chunk of them."""
        self._state.save()
        return self._state.store.read(self.topic, first)

    def _send_in_turn(self, number: int, body: bytes) -> None:
        session, subscription = next(iter(self.subscribers.items()))
        del self.subscribers[session]
        self.subscribers[session] = subscription
        self.position = number
        if self.settings.is_persistent:
            self._state.moved(self)
        session.push(self._frame(number, body))

    def _frame(self, number: int, body: bytes) -> bytes:
        return self._state.codec.encode(Message(number, self.topic, body))
