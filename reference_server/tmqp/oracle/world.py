"""Clients, channels, queues and connections in the model."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from wireproof.protocols.messages import Message
from wireproof.protocols.tmqp.enums import QueueStatus
from wireproof.protocols.tmqp.frames import RequestFrame
from wireproof.protocols.tmqp.replies import Confirmation, QueueMessage, ServerPing
from wireproof.reference_server.tmqp.oracle.expected import Expected, Made, Shape
from wireproof.reference_server.tmqp.rules import Rules

__all__ = ["Awaited", "Item", "Line", "ModelChannel", "ModelClient", "ModelQueue", "Options", "World"]

MS = 10**6
SLACK = 2 * MS
"""Nanoseconds by which time-outs may be late in a server that is ours."""
CHECKED = 10**9
"""The same in any server: releases look once a second."""
REMEMBERED = 256
"""Messages of a queue that are known if they come once more."""
Options = dict[str, object]
"""The options of a queue or channel, by their names in JSON; times in ms."""

Mistaken = tuple[Options, str]
"""Options that something would have by a mistake, and the clause that it breaks."""


@dataclass(eq=False)
class Line:
    """One connection."""

    name: str
    last_input: int
    """When the client last sent something, ns."""
    stage: str = "new"
    """new, greeted, open, spoiled (the first frame was no hello)."""
    client: ModelClient | None = None
    is_pinged: bool = False
    owed: bytes = b""
    """The eight bytes that come with the answer to the first frame (E6)."""
    asked: str = ""
    """The clause of the last request since a ping: that the ping is answered proves that it was handled."""
    ending: str = ""
    """Why the server must have ended it."""
    due: list[Expected] = field(default_factory=list)
    surplus: list[Message] = field(default_factory=list)
    loose: set[bytes] = field(default_factory=set)
    """Ids of requests whose answers are free."""
    either: list[tuple[Expected, Message]] = field(default_factory=list)
    """What messages were taken off that could have been taken off something else, too."""
    requests: dict[bytes, RequestFrame] = field(default_factory=dict)
    """Id -> the last request of the client that had it."""
    unanswered: dict[bytes, str] = field(default_factory=dict)
    """Id of a request that must not be answered -> the clause that says so."""

    def expect(self, wanted: Expected) -> None:
        """Expect a message; one that came before it was expected counts."""
        self.due.append(wanted)
        for place, message in enumerate(self.surplus):
            if self._taken(message):
                del self.surplus[place]
                return

    def came(self, message: Message) -> Expected | None:
        """Take a message off those that are expected; return what it was expected as."""
        found = self._taken(message)
        if found is None:
            self.surplus.append(message)
        return found

    def _taken(self, message: Message) -> Expected | None:
        """Take a message off the first that it can be, and return it: one that must come, or else one that may."""
        fitting = self._fitting(message)
        found = next(fitting, None)
        if found is None:
            return self._exchanged(message)
        if found.stream is None and next(fitting, None) is not None:
            self.either.append((found, message))
        found.learn(message)
        self.due.remove(found)
        return found

    def _fitting(self, message: Message) -> Iterator[Expected]:
        """Yield what a message can be: first what must come, of one stream the first alone, then what may."""
        for is_certain in (True, False):
            blocked: list[object] = []
            for one in self.due:
                if one.stream is not None and one.stream in blocked:
                    continue
                if one.is_certain is is_certain and one.fits(message):
                    yield one
                if one.stream is not None and one.is_certain:
                    blocked.append(one.stream)

    def _exchanged(self, message: Message) -> Expected | None:
        """Take a message for what another one was taken for that may as well be something that is still expected."""
        for place, (wanted, before) in enumerate(self.either):
            if wanted.fits(message):
                for other in self.due:
                    if other.stream is None and other.fits(before):
                        self.either[place] = wanted, message
                        self.due.remove(other)
                        return other
        return None


@dataclass(eq=False)
class ModelClient:
    """A client whose hello was accepted."""

    line: Line
    id: Made
    name: bytes
    type: bytes
    is_admin: bool = True
    """Whether it may use the operations of administrators."""
    is_gone: bool = False


@dataclass(eq=False)
class Item:
    """A message that a queue took."""

    frame: RequestFrame
    id: Made
    producer: ModelClient
    is_asked_for: bool
    ttl: int
    produced: int
    """When the queue took it, ns: its time-out begins then, also where it is put back."""
    put_backs: int = 0
    asks: bool | None = None
    """Whether consumers must acknowledge it, and `hides` whether its source is hidden, once that is decided (E60)."""
    hides: bool = False
    by: str = ""
    """The clause by which it came into its queue, where nobody pushed it there: a copy, or what a router sends."""
    is_copy: bool = False
    """Whether it is acknowledged to its producer is free then (E50)."""
    expires: tuple[int, int] | None = None
    """When it is dropped if it is still stored: not before, and at the latest; ns."""
    again: str = ""
    """The clause that is broken if it is sent once more."""
    receivers: Sequence[ModelClient] = ()
    """Who was sent it last, and `members` and `left` those who were members then and those who were no longer."""
    members: frozenset[ModelClient] = frozenset()
    left: frozenset[ModelClient] = frozenset()

    @property
    def acknowledged_id(self) -> Made:
        """Its id in an acknowledgement to its producer; where that is free, no id is known by it."""
        return Made() if self.is_copy and self.id.value is None else self.id


@dataclass(eq=False)
class Awaited:
    """An acknowledgement of a consumer that is waited for."""

    item: Item
    client: ModelClient
    early: int
    late: int


@dataclass(eq=False)
class ModelQueue:
    """A queue of a channel."""

    channel: ModelChannel
    number: int
    options: Options
    given: set[str]
    """The options that somebody has named."""
    spelled: bytes = b""
    """The name of its channel in the request that created it."""
    high: list[Item] = field(default_factory=list)
    normal: list[Item] = field(default_factory=list)
    awaited: list[Awaited] = field(default_factory=list)
    sent: deque[Item] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    """The last messages that it has sent."""
    unwaited: set[bytes] = field(default_factory=set)
    """Ids that somebody acknowledged when nobody waited for it."""
    turn: int = 0
    last_members: list[ModelClient] = field(default_factory=list)
    """Who were members at the last turn: where others are now, whose turn it is is open."""
    was_cache: bool = False
    counts: Counter[str] = field(default_factory=Counter)
    is_vague: bool = False
    """What it holds is uncertain: nothing about it is judged."""
    mistaken: list[Mistaken] = field(default_factory=list)
    """Options that it would have if something had been done wrongly; the last one counts first."""

    @property
    def status(self) -> QueueStatus:
        """Its state."""
        return QueueStatus(int(str(self.options["Status"])))

    @property
    def delivery(self) -> str:
        """The key of its delivery."""
        return str(self.options["MessageDeliveryHandler"])

    @property
    def stored(self) -> int:
        """How many messages it stores."""
        return len(self.high) + len(self.normal)

    def ms(self, name: str) -> int:
        """Return a number among its options."""
        return int(str(self.options[name]))

    @property
    def requests_ack(self) -> bool:
        """Whether consumers must acknowledge."""
        return bool(self.options["RequestAcknowledge"] or self.options["WaitForAcknowledge"])


@dataclass(eq=False)
class ModelChannel:
    """A channel."""

    name: bytes
    options: Options
    given: set[str]
    members: list[ModelClient] = field(default_factory=list)
    queues: dict[int, ModelQueue] = field(default_factory=dict)
    is_used: bool = False
    """Whether it has had a member or a stored message."""
    again: set[ModelClient] = field(default_factory=set)
    """Who joined once more while it was a member."""
    left: set[ModelClient] = field(default_factory=set)
    """Who was a member, and left or ended."""
    mistaken: list[Mistaken] = field(default_factory=list)
    """As of a queue."""

    @property
    def key(self) -> bytes:
        """Its name as it is compared."""
        return self.name.lower()


Key = tuple[bytes, bytes, int]
"""Event, channel in lower case, queue."""


@dataclass(eq=False)
class World:
    """Everything that the server knows."""

    is_strict: bool
    """Nobody else uses the server, and what the document only recommends is required."""
    tolerance: int
    """Nanoseconds."""
    defaults: Options
    put_back_limit: int
    rules: Rules
    """What the profile does otherwise than the document: data alone."""
    now: int = 0
    is_lost: bool = False
    """Something happened that the model does not follow: nothing is judged any more."""
    clients: list[ModelClient] = field(default_factory=list)
    channels: dict[bytes, ModelChannel] = field(default_factory=dict)
    subscriptions: list[tuple[Key, ModelClient]] = field(default_factory=list)
    most_subscriptions: int | None = None
    """Those that a client may have; None where none has as many."""
    former_ids: set[bytes] = field(default_factory=set)
    """Ids of clients that have ended."""
    removed: set[tuple[bytes, int | None]] = field(default_factory=set)
    """Channels, in lower case, that were removed, and queues of them by their numbers."""
    routers: dict[bytes, str] = field(default_factory=dict)
    """Name of a router -> the clause that says whom it reaches."""
    destroyed: set[bytes] = field(default_factory=set)
    """Those of them that went because they were empty (DestroyWhenEmpty)."""
    unjoined: set[bytes] = field(default_factory=set)
    """Channels, in lower case, that somebody wanted to join while they were not there."""
    ids: set[bytes] = field(default_factory=set)
    """Ids of messages that were sent, or made by the server: it makes each once."""
    remove: Callable[[ModelChannel], None] | None = None
    """Removes a channel with its queues."""
    end: Callable[[ModelClient, str], None] | None = None
    """Follows that the server ends a connection, and why."""
    spelled: set[bytes] = field(default_factory=set)
    """Names of channels, as they were written where one was created, or should have been."""
    proven: set[str] = field(default_factory=set)
    """Clauses that a message has shown to hold: what comes otherwise later has another cause."""

    def client(self, id_: bytes) -> ModelClient | None:
        """Return the client of an id."""
        return next((one for one in self.clients if one.id.value == id_), None)

    def channel(self, name: bytes) -> ModelChannel | None:
        """Return the channel of a name."""
        return self.channels.get(name.lower())

    def has_as_many(self, client: ModelClient) -> bool:
        """Say whether a client has as many subscriptions as it may."""
        held = sum(one is client for _, one in self.subscriptions)
        return self.most_subscriptions is not None and held >= self.most_subscriptions

    def refuse(self, client: ModelClient, why: str) -> None:
        """Follow that the server ends the connection of a client, for what the document answers with an error (E27)."""
        assert self.end is not None
        self.end(client, why)

    def forget(self, channel: bytes, number: int | None = None) -> None:
        """Let subscriptions end with a channel, in lower case, or with one queue of it, where they do (E58)."""
        if not self.rules.keeps_subscriptions:
            gone = [
                one
                for one in self.subscriptions
                if one[0][1] == channel
                and (number is None or (one[0][0] == b"MessageProduced" and one[0][2] == number))
            ]
            self.subscriptions = [one for one in self.subscriptions if one not in gone]

    def settle(self, channel: ModelChannel) -> None:
        """Let a channel go whose options say so and that is empty: a member left, or a stored message is gone."""
        is_there = self.channels.get(channel.key) is channel
        if not (channel.options.get("DestroyWhenEmpty") and is_there and channel.is_used) or channel.members:
            return
        queues = list(channel.queues.values())
        if any(one.is_vague for one in queues):
            self.is_lost = True
        elif self.remove is not None and not any(one.stored for one in queues):
            self.remove(channel)
            self.destroyed.add(channel.key)

    def after(self, ms: int, since: int | None = None) -> tuple[int, int]:
        """Return when a time of `ms` is over that began at `since`, now by default: not before, and at the latest."""
        due = (self.now if since is None else since) + ms * MS
        return due - self.tolerance, due + (SLACK if self.is_strict else CHECKED + 2 * self.tolerance)

    def expect(
        self,
        client: ModelClient,
        clause: str,
        *shapes: Shape,
        queue: ModelQueue | None = None,
        is_certain: bool = True,
        is_ordered: bool = True,
        of_fields: Mapping[str, str] | None = None,
        by: str = "",
    ) -> None:
        """Expect that a client gets a message, one of some shapes; with a queue, in its order; `by`: as in `Item`."""
        if client.is_gone:
            return
        certain = is_certain and not self.is_lost and not (queue is not None and queue.is_vague)
        stream = queue if is_ordered else None
        client.line.expect(Expected(shapes, clause, stream, certain, queue, of_fields or {}, by))

    def is_free(self, line: Line, message: Message) -> bool:
        """Say whether a message may come at any time as far as the model knows."""
        if self.is_lost or line.stage == "spoiled" or getattr(message, "id", None) in line.loose:
            return True
        if isinstance(message, ServerPing):
            return not self.is_strict
        if not isinstance(message, QueueMessage | Confirmation):
            return False
        channel = self.channel(message.target)
        queue = None if channel is None else channel.queues.get(message.content_type)
        return queue is not None and queue.is_vague
