"""The operations that every pair is put through, made from the layouts alone: each request is visited in its role.

A request that gives a record its time to live makes records; one whose reply has fields of those reads them, and so on
(`Roles`). A scene is played on connections of its own, with names of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from wireproof.conformance.sdk.samples import Samples
from wireproof.protocols.fields import Nested, Raw
from wireproof.protocols.messages import Message, Request
from wireproof.protocols.plain import Plain

__all__ = ["ScenarioStep", "Scene", "ids_in", "marked", "request_of", "scenes"]

SUBSCRIBE = "subscribe"
FIRST, SECOND = "a", "b"
ORDINARY = 100
SMALL = 5
SOON = 200
"""A time to live that ends during a scene, in the unit that makes it about as many milliseconds."""
LATE = 0.4
"""Seconds after its end at which a record must be gone."""


@dataclass(frozen=True, slots=True)
class ScenarioStep:
    """One operation on one connection."""

    operation: str
    change: Mapping[str, Any] = field(default_factory=dict)
    """Field -> value, where an ordinary one will not do."""
    connection: str = FIRST
    wait: float = 0.0
    """Seconds to let pass before."""


@dataclass(frozen=True, slots=True)
class Scene:
    """Some operations in order."""

    name: str
    steps: tuple[ScenarioStep, ...]

    @property
    def connections(self) -> list[str]:
        """The connections it needs, in order."""
        return sorted({FIRST, *(one.connection for one in self.steps)})


def marked(mark: str, scene: str) -> bytes:
    """Return the name that all is called by in a scene, and that is in nothing else."""
    return f"wp-{mark}-{scene}.".encode()


class Roles:
    """Which request is for what."""

    def __init__(self, plain: Plain) -> None:
        self.plain = plain
        self._samples = Samples(plain)
        everything = plain.operations
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
        self.publishers = [
            one for one in channel if self.is_flag(one) and len(self.fields(one)) > 1 and one not in self.carriers
        ]
        self.onlookers = [one for one in channel if not self.is_flag(one) and one not in self.carriers]
        self.leavers = [one for one in channel if self.is_flag(one) and one not in (*self.publishers, SUBSCRIBE)]

    def fields(self, operation: str) -> set[str]:
        """Return the names of an operation's fields."""
        return {name for name, _ in self.plain.layout(self.plain.operations[operation]).fields}

    def reply(self, operation: str) -> type[Message]:
        """Return the fullest reply to an operation."""
        return self.plain.profile.replies[self.plain.operations[operation]][-1]

    def is_flag(self, operation: str) -> bool:
        """Say whether an operation is answered with a flag and nothing else."""
        return self.plain.is_flag(self.reply(operation))

    def name_of(self, operation: str) -> str | None:
        """Return the field that names what an operation is about."""
        return self._samples.named_field(self.plain.operations[operation])

    def reads(self, reader: str, maker: str) -> bool:
        """Say whether the reply to one operation is made of what another one stored."""
        detail = {name for name, _ in self.plain.layout(self.reply(reader)).fields}
        return not self.is_flag(reader) and detail <= self.fields(maker)

    def changes(self, changer: str, maker: str) -> Iterator[Mapping[str, Any]]:
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

    def _words(self, operation: str) -> dict[str, Any]:
        """Return the fields of an operation whose values are names of fields, with those values."""
        stored = {name for maker in self.makers for name in self.fields(maker)}
        known = self.plain.protocol.names
        named = [one for one in self.fields(operation) if one in known]
        return {one: known[one] for one in named if stored & {member.name.lower() for member in known[one]}}

    def _carried(self, operation: str) -> bool:
        return any(isinstance(kind, Nested) for _, kind in self.plain.layout(self.reply(operation)).fields)


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
        found += [Scene("channel", tuple(self._channel())), Scene("carried", tuple(self._carried()))]
        yield from (one for one in found if one.steps)

    def _named(self, operation: str, scene: str) -> dict[str, Any]:
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

    def _channel(self) -> Iterator[ScenarioStep]:
        roles = self.roles
        looks = self._about([*roles.onlookers], "channel")
        publish = [self._published(one) for one in roles.publishers]
        yield from publish
        yield from self._about(roles.subscribers, "channel")
        yield from looks
        yield from (ScenarioStep(one) for one in roles.tables)
        yield from publish * 2
        yield from self._about(roles.leavers, "channel")
        yield from publish

    def _published(self, operation: str) -> ScenarioStep:
        named = self._named(operation, "channel")
        bodies = dict.fromkeys(self.roles.fields(operation) - named.keys(), marked(self.mark, "channel"))
        return ScenarioStep(operation, {**named, **bodies}, SECOND)

    def _carried(self) -> Iterator[ScenarioStep]:
        codec = self.plain.protocol.codec(self.plain.profile, self.plain.variant.name)
        inside = codec.encode(self.plain.protocol.link.sync_request())
        for one in self.roles.carriers:
            name = self.roles.name_of(one)
            bodies = [each for each in self.roles.fields(one) if each != name]
            yield ScenarioStep(one, {**self._named(one, "carried"), **dict.fromkeys(bodies, inside)})


def request_of(samples: Samples, plain: Plain, step: ScenarioStep) -> Request:
    """Return the request of a step; ids are those that the server sent."""
    made = samples.of(plain.operations[step.operation])
    found: Request = type(made)(**{**{name: getattr(made, name) for name in made.__struct_fields__}, **step.change})
    return found


def ids_in(plain: Plain, message: Message) -> dict[str, bytes]:
    """Return the ids among the fields of a message."""
    fields = plain.layout(type(message)).fields
    return {name: getattr(message, name) for name, kind in fields if isinstance(kind, Raw)}
