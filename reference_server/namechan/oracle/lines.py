"""One connection as the model follows it: what it is answered, its subscriptions, its pings and its end."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from wireproof.protocols.messages import Message
from wireproof.protocols.namechan.replies import Error, Ping
from wireproof.protocols.namechan.replies import Message as Delivered
from wireproof.reference_server.namechan.oracle.queues import Membership

__all__ = ["DueAnswer", "ModelLine"]


@dataclass(slots=True)
class DueAnswer:
    """One answer that must come; fields that are None may have any value."""

    kind: type[Message]
    clause: str
    fields: dict[str, object] = field(default_factory=dict)
    member: Membership | None = None
    """The subscription that begins or ends with it."""
    is_certain: bool = True

    def allows(self, message: Message) -> bool:
        """Say whether a message is this answer."""
        if type(message) is not self.kind:
            return False
        if isinstance(message, Error) and not (message.text and is_utf8(message.text)):
            return False
        return all(wanted in (None, getattr(message, name)) for name, wanted in self.fields.items())

    def __repr__(self) -> str:
        """Return what is wanted."""
        wanted = ", ".join(f"{name}={value!r}" for name, value in self.fields.items() if value is not None)
        return f"{self.kind.NAME}({wanted})"


@dataclass(eq=False)
class ModelLine:
    """One connection."""

    name: str
    is_hook: bool
    opened: int
    """ns"""
    stage: str = "new"
    """`new` before its version, `greeted` before its Connect, then `open`."""
    last_input: int = 0
    """When its last line came, in ns."""
    greeted: int = 0
    """When its version was answered, in ns."""
    pings: int = 0
    ping_time: int | None = None
    """The time of the last Ping, in seconds."""
    answers: deque[DueAnswer] = field(default_factory=deque)
    memberships: list[Membership] = field(default_factory=list)
    """Those that are not over, and those whose Unsubscribed has not come."""
    errors: list[str] = field(default_factory=list)
    """The clauses of the Errors that came since all was settled: one may have stood for another that is missing."""
    surplus: list[Message] = field(default_factory=list)
    ending: str = ""
    """Why it must be ended by the server."""
    clause: str = ""
    """Which clause says so."""
    may_end: bool = False
    is_leaving: bool = False
    """Its client has ended its side."""

    def member(self, name: bytes) -> Membership | None:
        """Return the subscription of a topic."""
        return next((one for one in self.memberships if one.queue.name == name and not one.is_over), None)

    def has_as_many(self, subscriptions: int | None) -> bool:
        """Say whether it has so many subscriptions, or more; None: nobody has as many."""
        return subscriptions is not None and sum(not one.is_over for one in self.memberships) >= subscriptions

    def expect(self, kind: type[Message], clause: str, member: Membership | None = None, **fields: object) -> None:
        """Expect an answer."""
        self.answers.append(DueAnswer(kind, clause, fields, member))

    def answered(self, message: Message) -> DueAnswer | None:
        """Follow an answer that came; None where none is due that is like it."""
        while self.answers and not self.answers[0].is_certain and not self.answers[0].allows(message):
            self.answers.popleft()
        if not self.answers or not self.answers[0].allows(message):
            return None
        found = self.answers.popleft()
        if found.kind is Error:
            self.errors.append(found.clause)
        if found.member is not None:
            found.member.is_announced = True
            is_left = found.member.is_over and found.kind.NAME == "UNSUBSCRIBED"
            if is_left and found.member in self.memberships:  # an error after it in one write ends all of them
                self.memberships.remove(found.member)
        return found

    def pinged(self, ping: Ping) -> bool:
        """Follow a Ping; return whether it may come."""
        self.pings += 1
        before, self.ping_time = self.ping_time, ping.time
        return self.stage != "new" and not self.is_hook and (before is None or ping.time >= before)

    def leave(self) -> None:
        """Follow that the client has ended its side: messages may come, and need not."""
        self.is_leaving = True
        for one in (one for member in self.memberships for one in member.due):
            one.is_certain = False

    def due(self) -> Iterator[tuple[str, str]]:
        """Yield what must still come, with its clause."""
        yield from ((repr(one), self._missing(one)) for one in self.answers if one.is_certain)
        for member in self.memberships:
            yield from ((text, _clause(member)) for text in _due_messages(member))

    def due_turn(self) -> tuple[str, str] | None:
        """Return what waits for this connection alone, with its clause."""
        for member in self.memberships:
            queue = member.queue
            if queue.waiting and not (queue.is_broadcast or self.is_leaving) and queue.members == [member]:
                number = min(queue.waiting)
                return f"message {number} of {queue.name!r}: {queue.waiting[number]!r}", "NCH-ROUND_ROBIN-3"
        return None

    def due_instead_of(self, message: Message) -> str:
        """Return what must come where a message came that must not: of its queue, if that has any; "" for nothing."""
        if isinstance(message, Delivered):
            for member in self.memberships:
                if member.queue.topic == message.topic and (texts := list(_due_messages(member))):
                    return texts[0]
        return next((text for text, _ in self.due()), "")

    def _missing(self, answer: DueAnswer) -> str:
        """Return the clause of an answer that is missing: Errors look alike, so it may be an earlier one."""
        others = [one for one in self.errors if one != answer.clause] if answer.kind is Error else []
        return others[-1] if others else answer.clause


def _due_messages(member: Membership) -> Iterator[str]:
    what = (one for one in member.due if one.is_certain)
    yield from (f"message {one.id} of {member.queue.name!r}: {one.body!r}" for one in what)


def _clause(member: Membership) -> str:
    return "NCH-REPLAY-1" if member.start else "NCH-BROADCAST-1"


def is_utf8(text: bytes) -> bool:
    """Say whether bytes are UTF-8."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
