"""The operations that every pair is put through, made from the layouts alone: each request is visited in its role.

A request that gives a record its time to live makes records; one whose reply has fields of those reads them, and so on
(`Roles`). A scene is played on connections of its own, with names of its own.

Where servers have a listener for a harness, channels are also made there, one scene for each way to make one and to
subscribe it, and what is published comes from there, too: clients of such a protocol may not be able to publish. Three
connections subscribe it, one after the other; the first one leaves, and the others go on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from wireproof.conformance.sdk.samples import Samples
from wireproof.protocols.errors import LocalProtocolError
from wireproof.protocols.fields import Raw, Word, is_bytes
from wireproof.protocols.json_values import JsonDict, JsonObject
from wireproof.protocols.messages import Message, Request
from wireproof.protocols.plain import Plain

__all__ = ["SUBSCRIBE", "Roles", "ScenarioStep", "Scene", "asked_class", "ids_in", "marked", "request_of", "scenes"]

SUBSCRIBE = "subscribe"
FIRST, SECOND = "a", "b"
OTHERS = ("c", "d")
"""The connections that subscribe a channel of a harness beside the first one."""
NOTHING: JsonObject = {}
ORDINARY = 100
SMALL = 5
SOON = 200
"""A time to live that ends during a scene, in the unit that makes it about as many milliseconds."""
NEXT = 2
"""The number for a subscriber that says from which message on: not the first one."""
LATE = 0.4
"""Seconds after its end at which a record must be gone."""


@dataclass(frozen=True, slots=True)
class ScenarioStep:
    """One operation on one connection."""

    operation: str
    change: JsonObject = field(default_factory=dict)
    """Field -> value, where an ordinary one will not do."""
    connection: str = FIRST
    wait: float = 0.0
    """Seconds to let pass before."""
    link: str = ""
    """The link on which the harness itself asks it; "": the client is commanded to."""


@dataclass(frozen=True, slots=True)
class Scene:
    """Some operations in order."""

    name: str
    steps: tuple[ScenarioStep, ...]

    @property
    def connections(self) -> list[str]:
        """The connections it needs, in order."""
        return sorted({FIRST, *(one.connection for one in self.steps if not one.link)})

    @property
    def links(self) -> frozenset[str]:
        """The links on which the harness asks something."""
        return frozenset(one.link for one in self.steps if one.link)


def marked(mark: str, scene: str) -> bytes:
    """Return the name that all is called by in a scene, and that is in nothing else."""
    return f"wp-{mark}-{scene}.".encode()


class Roles:
    """Which request is for what."""

    def __init__(self, plain: Plain) -> None:
        self.plain = plain
        self._samples = Samples(plain)
        everything = plain.operations
        self.harness = {one.NAME.lower(): link for one, link in plain.protocol.harness_requests.items()}
        """Operation that the harness carries out -> its link."""
        timed = plain.protocol.time_left.keys()
        self.makers = [one for one in everything if self.name_of(one) and timed & self.fields(one)]
        names = {self.name_of(one) for one in self.makers}
        self.tables = [one for one in everything if not self.fields(one)]
        self.by_id = [one for one in everything if self.fields(one) and self.name_of(one) is None]
        about_records = [one for one in everything if self.name_of(one) in names and one not in self.makers]
        self.readers = [one for one in about_records if any(self.reads(one, maker) for maker in self.makers)]
        self.changers = [one for one in about_records if self._words(one)]
        self.removers = [one for one in about_records if len(self.fields(one)) == 1 and self.is_flag(one)]
        self.describers = [one for one in about_records if one not in (*self.readers, *self.changers, *self.removers)]
        channel = [one for one in everything if self.name_of(one) not in (None, *names)]
        self.subscribers = [one for one in channel if one == SUBSCRIBE]
        self.carriers = [one for one in channel if self._carried(one)]
        self.publishers = [one for one in channel if self._publishes(one) and one not in self.carriers]
        rest = [one for one in channel if one not in (*self.publishers, *self.carriers, *self.subscribers)]
        self.leavers = [one for one in rest if any(self._answered_as(one, other) for other in self.subscribers)]
        self.onlookers = [one for one in rest if one not in self.leavers]
        self.creators = [one for one in self.harness if not self._bodies(one)]
        self.harness_publishers = [one for one in self.harness if self._bodies(one)]

    def fields(self, operation: str) -> set[str]:
        """Return the names of an operation's fields."""
        return set(self._layout(operation))

    def reply(self, operation: str) -> type[Message] | None:
        """Return the fullest reply to an operation; None where it has none."""
        replies = self.plain.profile.replies[asked_class(self.plain, operation)]
        return max(reversed(replies), key=lambda one: len(self.plain.layout(one).fields), default=None)

    def is_flag(self, operation: str) -> bool:
        """Say whether an operation is answered with a flag and nothing else."""
        reply = self.reply(operation)
        return reply is not None and self.plain.is_flag(reply)

    def name_of(self, operation: str) -> str | None:
        """Return the field that names what an operation is about."""
        return self._samples.named_field(asked_class(self.plain, operation))

    def ways(self, operation: str) -> Iterator[dict[str, int]]:
        """Yield the fields of an operation that are words or numbers, in every way that can be written.

        A number is `NEXT` where its words have one.
        """
        words = self.plain.protocol.names
        kinds = {name: kind for name, kind in self._layout(operation).items() if not is_bytes(kind)}
        named = [name for name, kind in kinds.items() if isinstance(kind, Word)]
        numbers = [name for name in kinds if name not in named]
        for chosen in product(*(words[name] for name in named)):
            some = ({**dict(zip(named, chosen, strict=True)), **dict.fromkeys(numbers, one)} for one in (NEXT, 0))
            fields = next((one for one in some if self._is_written(operation, one)), None)
            if fields is not None:
                yield fields

    def _is_written(self, operation: str, fields: Mapping[str, int]) -> bool:
        codec = self.plain.protocol.codec(self.plain.profile, self.plain.variant.name)
        try:
            codec.encode(request_of(self._samples, self.plain, ScenarioStep(operation, fields)))
        except LocalProtocolError:
            return False
        return True

    def _layout(self, operation: str) -> JsonDict:
        return dict(self.plain.layout(asked_class(self.plain, operation)).fields)

    def _bodies(self, operation: str) -> set[str]:
        """Return the bytes that an operation carries besides a name."""
        return {one for one, kind in self._layout(operation).items() if is_bytes(kind)} - {self.name_of(operation)}

    def _publishes(self, operation: str) -> bool:
        """Say whether an operation carries bytes, and is answered by a flag or not at all."""
        is_short = self.reply(operation) is None or self.is_flag(operation)
        return is_short and bool(self._bodies(operation))

    def _answered_as(self, operation: str, other: str) -> bool:
        """Say whether the replies to two operations have the same fields."""
        replies = self.reply(operation), self.reply(other)
        fields = [self.plain.layout(one).fields if one is not None else () for one in replies]
        return [*fields[0]] == [*fields[1]]

    def reads(self, reader: str, maker: str) -> bool:
        """Say whether the reply to one operation is made of what another one stored."""
        reply = self.reply(reader)
        detail = {name for name, _ in self.plain.layout(reply).fields} if reply is not None else set()
        return bool(detail) and not self.is_flag(reader) and detail <= self.fields(maker)

    def changes(self, changer: str, maker: str) -> Iterator[JsonObject]:
        """Yield the fields of every change that an operation can make to what another one stored."""
        words = self.plain.protocol.names
        for name, members in self._words(changer).items():
            others = [one for one in self.fields(changer) if one in words and one != name]
            numbers = dict.fromkeys(self._samples.wide_fields(self.plain.operations[changer]), SMALL)
            for member in members:
                if member.name.lower() in self.fields(maker):
                    for other in others:
                        for how in words[other]:
                            yield {name: member, other: how, **numbers}

    def number_of(self, maker: str) -> str | None:
        """Return the number that a record made so holds."""
        wide = self._samples.wide_fields(self.plain.operations[maker])
        return next((one for one in wide if one not in self.plain.protocol.time_left), None)

    def _words(self, operation: str) -> JsonDict:
        """Return the fields of an operation whose values are names of fields, with those values."""
        stored = {name for maker in self.makers for name in self.fields(maker)}
        known = self.plain.protocol.names
        named = [one for one in self.fields(operation) if one in known]
        return {one: known[one] for one in named if stored & {member.name.lower() for member in known[one]}}

    def _carried(self, operation: str) -> bool:
        reply = self.reply(operation)
        return reply is not None and self.plain.has_nested(reply)


def scenes(plain: Plain, mark: str, most: int) -> list[Scene]:
    """Return the scenes; `mark` is in every name, so that nobody else has it, `most` the largest number to use."""
    return list(_SceneWriter(plain, mark, most).all())


@dataclass(slots=True)
class _SceneWriter:
    plain: Plain
    mark: str
    most: int
    roles: Roles = field(init=False)

    def __post_init__(self) -> None:
        self.roles = Roles(self.plain)

    def all(self) -> Iterator[Scene]:
        """Yield every scene that is about something."""
        tables = [ScenarioStep(one) for one in self.roles.tables]
        found = [Scene("tables", (*tables, *(ScenarioStep(one) for one in self.roles.by_id)))]
        found += [Scene(f"record-{one}", tuple(self._record(one))) for one in self.roles.makers]
        found += [Scene(f"change-{one}", tuple(self._changes(one))) for one in self.roles.makers]
        found += [Scene(f"expiry-{one}", tuple(self._expiry(one))) for one in self.roles.makers]
        found += [Scene("channel", tuple(self._channel("channel"))), Scene("carried", tuple(self._carried()))]
        found += self._made_channels()
        yield from (one for one in found if one.steps)

    def _named(self, operation: str, scene: str) -> JsonDict:
        name = self.roles.name_of(operation)
        return {name: marked(self.mark, scene)} if name else {}

    def _made(self, maker: str, scene: str, number: int) -> ScenarioStep:
        holds = self.roles.number_of(maker)
        return ScenarioStep(maker, {**self._named(maker, scene), **({holds: number} if holds else {})})

    def _about(self, operations: list[str], scene: str, **more: Any) -> list[ScenarioStep]:
        return [ScenarioStep(one, self._named(one, scene), **more) for one in operations]

    def _readers(self, maker: str) -> list[str]:
        return [one for one in self.roles.readers if self.roles.reads(one, maker)]

    def _record(self, maker: str) -> Iterator[ScenarioStep]:
        scene = f"record-{maker}"
        looks = self._about([*self._readers(maker), *self.roles.describers], scene)
        yield from looks
        yield self._made(maker, scene, self.most)
        yield from looks
        yield from (ScenarioStep(one) for one in self.roles.tables)
        yield from self._about(self.roles.removers, scene)
        yield from looks

    def _changes(self, maker: str) -> Iterator[ScenarioStep]:
        scene = f"change-{maker}"
        changes = [(one, fields) for one in self.roles.changers for fields in self.roles.changes(one, maker)]
        if changes:
            yield self._made(maker, scene, ORDINARY)
        for changer, fields in changes:
            yield ScenarioStep(changer, {**self._named(changer, scene), **fields})
            yield from self._about(self._readers(maker), scene)

    def _expiry(self, maker: str) -> Iterator[ScenarioStep]:
        scene = f"expiry-{maker}"
        for time_left, (unit, lengths) in self.plain.protocol.time_left.items():
            word = next((one for one, length in lengths.items() if 10**8 <= length * SOON <= 10**9), None)
            if word is not None and time_left in self.roles.fields(maker):
                made = self._made(maker, scene, ORDINARY)
                yield ScenarioStep(maker, {**made.change, unit: word, time_left: SOON})
                yield from self._about(self._readers(maker), scene, wait=lengths[word] * SOON / 1e9 + LATE)

    def _made_channels(self) -> Iterator[Scene]:
        """Yield a scene for each way to make a channel at the harness's listener and to subscribe it."""
        for creator, subscriber in product(self.roles.creators, self.roles.subscribers):
            for made, asked in product(self.roles.ways(creator), self.roles.ways(subscriber)):
                words = [self.plain.number(name, value) for name, value in (*made.items(), *asked.items())]
                scene = "-".join(["channel", *(one for one in words if not one.isdigit())])
                create = self._by_harness(creator, {**self._named(creator, scene), **made})
                yield Scene(scene, (create, *self._channel(scene, asked, self.roles.harness_publishers)))

    def _channel(self, scene: str, how: JsonObject = NOTHING, more: Sequence[str] = ()) -> Iterator[ScenarioStep]:
        """Yield the steps of one channel, which is subscribed so; `more`: operations of a harness that publish, too."""
        roles = self.roles
        looks = self._about([*roles.onlookers], scene)
        publish = [step for one in roles.publishers for step in (self._published(one, scene), *self._handled(one))]
        publish += [self._by_harness(one, self._published(one, scene).change) for one in more]
        subscribe = [ScenarioStep(one, {**self._named(one, scene), **how}) for one in roles.subscribers]
        yield from publish * (2 if more else 1)
        yield from subscribe
        yield from looks
        yield from (ScenarioStep(one) for one in roles.tables)
        yield from publish * 2
        if more:
            yield from (replace(one, connection=another) for another in OTHERS for one in subscribe)
            yield from publish * (len(OTHERS) + 2)
        yield from self._about(roles.leavers, scene)
        yield from publish * (2 if more else 1)

    def _published(self, operation: str, scene: str) -> ScenarioStep:
        named = self._named(operation, scene)
        bodies = dict.fromkeys(self.roles.fields(operation) - named.keys(), marked(self.mark, scene))
        return ScenarioStep(operation, {**named, **bodies}, SECOND)

    def _handled(self, operation: str) -> Iterator[ScenarioStep]:
        """Yield what shows that an operation without an answer was carried out: one with an answer after it."""
        if self.roles.reply(operation) is None:
            asked = self.plain.protocol.link.sync_request()
            yield ScenarioStep(
                asked.NAME.lower(), {one: getattr(asked, one) for one in asked.__struct_fields__}, SECOND
            )

    def _by_harness(self, operation: str, change: JsonObject) -> ScenarioStep:
        link = self.roles.harness[operation]
        return ScenarioStep(operation, change, link, link=link)

    def _carried(self) -> Iterator[ScenarioStep]:
        codec = self.plain.protocol.codec(self.plain.profile, self.plain.variant.name)
        inside = codec.encode(self.plain.protocol.link.sync_request())
        for one in self.roles.carriers:
            name = self.roles.name_of(one)
            bodies = [each for each in self.roles.fields(one) if each != name]
            yield ScenarioStep(one, {**self._named(one, "carried"), **dict.fromkeys(bodies, inside)})


def asked_class(plain: Plain, operation: str) -> type[Request]:
    """Return the request of an operation, of a client or of a harness."""
    of_harness = {one.NAME.lower(): one for one in plain.protocol.harness_requests}
    return plain.operations[operation] if operation in plain.operations else of_harness[operation]


def request_of(samples: Samples, plain: Plain, step: ScenarioStep) -> Request:
    """Return the request of a step; ids are those that the server sent."""
    made = samples.of(asked_class(plain, step.operation))
    found: Request = type(made)(**{**{name: getattr(made, name) for name in made.__struct_fields__}, **step.change})
    return found


def ids_in(plain: Plain, message: Message) -> dict[str, bytes]:
    """Return the ids among the fields of a message."""
    fields = plain.layout(type(message)).fields
    return {name: getattr(message, name) for name, kind in fields if isinstance(kind, Raw)}
