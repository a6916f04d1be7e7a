"""Queues as the document describes them: what each subscriber must get, and what it may get.

A message that was published in the write that is not settled yet is *fresh*: it may be out already or not, so a
subscriber that comes or goes in the same write may get it or not.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from wireproof.protocols.namechan.enums import Replay, Sync
from wireproof.protocols.namechan.requests import Subscribe

__all__ = ["DueMessage", "Membership", "ModelQueue"]


@dataclass(slots=True)
class DueMessage:
    """A message on its way to one subscriber."""

    id: int
    body: bytes
    is_certain: bool = True


@dataclass(eq=False, slots=True)
class Membership:
    """One subscription of one connection, from Subscribed to Unsubscribed."""

    line: str
    queue: ModelQueue
    start: int
    """The smallest id that it gets."""
    due: deque[DueMessage] = field(default_factory=deque)
    """Of a broadcast queue, in order."""
    last: int = 0
    """The last id that came."""
    is_announced: bool = False
    """Subscribed has come."""
    is_over: bool = False
    """It was ended, and Unsubscribed is due."""

    def takes(self, number: int, body: bytes) -> bool:
        """Follow a message that came; False where it must not come now."""
        if not self.is_announced or number <= self.last or not self._takes(number, body):
            return False
        self.last = number
        return True

    def _takes(self, number: int, body: bytes) -> bool:
        if not self.queue.is_broadcast:
            return self.queue.taken(self, number, body)
        at = next((at for at, one in enumerate(self.due) if one.is_certain or one.id == number), None)
        if at is None or (self.due[at].id, self.due[at].body) != (number, body):
            return False
        for _ in range(at + 1):
            self.due.popleft()
        for one in self.due:
            one.is_certain = not self.is_over
        return True

    def broken_by(self, number: int, body: bytes) -> str:
        """Return the clause that a message breaks which must not come now."""
        wanted = {one.id: one.body for one in self.due} if self.queue.is_broadcast else self.queue.waiting
        if number in wanted and wanted[number] != body:
            return "NCH-MESSAGE-2"
        if self.is_announced and number > self.last and number not in wanted and body in wanted.values():
            return "NCH-MESSAGE-4"
        return "NCH-MESSAGE-5" if self.queue.is_broadcast or number in wanted else "NCH-ROUND_ROBIN-1"

    def end(self) -> None:
        """End it: what is on the way may still come before Unsubscribed."""
        self.is_over = True
        for one in self.due:
            one.is_certain = False


@dataclass(eq=False)
class ModelQueue:
    """One queue."""

    name: bytes
    settings: tuple[int, int, int]
    """Delivery, persistence, sync."""
    is_broadcast: bool
    is_persistent: bool
    topic: int | None = None
    """Its topic id, once somebody saw it."""
    last: int = 0
    stored: dict[int, bytes] = field(default_factory=dict)
    """What can be replayed."""
    waiting: dict[int, bytes] = field(default_factory=dict)
    """What went to nobody yet, of a round-robin queue."""
    fresh: dict[int, bytes] = field(default_factory=dict)
    members: list[Membership] = field(default_factory=list)
    turns: dict[Membership, int] = field(default_factory=dict)
    """Messages that each subscriber got since subscribers last changed."""
    has_changed: bool = False
    """Subscribers changed in the write that is not settled."""

    @property
    def must_be_kept(self) -> bool:
        """Whether each of its messages that is out is on disk (N18), and what went to whom is not written later."""
        has_turns = not self.is_broadcast and len(self.waiting) < self.last
        return self.settings[2] != Sync.ASYNC and not has_turns

    def clause_of(self, request: Subscribe) -> str:
        """Return the clause by which a Subscribe is accepted."""
        if request.replay == Replay.FROM_MESSAGE:
            return "NCH-REPLAY-7" if request.message > self.last else "NCH-REPLAY-2"
        return "NCH-REPLAY-1" if request.replay == Replay.FROM_BEGINNING else "NCH-SUBSCRIBE-1"

    def publish(self, body: bytes) -> None:
        """Follow a message."""
        self.last += 1
        self.fresh[self.last] = body
        if not self.is_broadcast:
            self.waiting[self.last] = body
            return
        if self.is_persistent:
            self.stored[self.last] = body
        for one in self.members:
            if self.last >= one.start:
                one.due.append(DueMessage(self.last, body))

    def join(self, line: str, start: int | None) -> Membership:
        """Subscribe a connection, for messages from `start` on; None: from now on."""
        found = Membership(line, self, start if start is not None else 0)
        if start is not None:
            found.due.extend(DueMessage(*one) for one in self.stored.items() if one[0] >= start)
        elif self.is_broadcast:
            found.due.extend(DueMessage(*one, is_certain=False) for one in self.fresh.items())
        self.members.append(found)
        self.has_changed = True
        return found

    def leave(self, member: Membership) -> None:
        """End a subscription."""
        self.members.remove(member)
        self.has_changed = True
        member.end()

    def restarted(self) -> None:
        """Begin anew with what is stored and what waits; nobody is subscribed."""
        self.turns.clear()
        self.fresh.clear()
        self.has_changed = False

    def taken(self, member: Membership, number: int, body: bytes) -> bool:
        """Follow that a message of a round-robin queue came to a subscriber; False where it does not wait."""
        if self.waiting.get(number) != body:
            return False
        del self.waiting[number]
        self.turns[member] = self.turns.get(member, 0) + 1
        return True

    def unsettled(self) -> tuple[str, str] | None:
        """Return what is wrong now that all came, and the clause; then begin anew."""
        wrong = None
        if self.members and self.waiting and not self.is_broadcast:
            wrong = f"message {min(self.waiting)} of {self.name!r} comes to no subscriber", "NCH-ROUND_ROBIN-1"
        elif not self.has_changed and self.members and not self.is_broadcast:
            counts = [self.turns.get(one, 0) for one in self.members]
            if max(counts) - min(counts) > 1:
                wrong = f"subscribers of {self.name!r} got {counts} messages, not in turns", "NCH-ROUND_ROBIN-2"
        if self.has_changed:
            self.turns.clear()
        self.has_changed = False
        self.fresh.clear()
        for one in self.members:
            while one.due and not one.due[0].is_certain:
                one.due.popleft()
        return wrong
