"""What a client must get, as far as the document fixes it: kinds, fields, headers, members of JSON bodies."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wireproof.protocols.messages import Message
from wireproof.protocols.tmqp.frames import Header

__all__ = [
    "FAILS",
    "Body",
    "Expected",
    "Failing",
    "Headers",
    "Made",
    "Numbers",
    "Refusal",
    "Rows",
    "Shape",
    "Spelled",
    "as_text",
    "broken_clause",
]


class Made:
    """Bytes that the server may choose: unknown until they are first seen."""

    __slots__ = ("other_than", "value")

    def __init__(self, value: bytes | None = None, *, other_than: bytes = b"") -> None:
        """`other_than` is taken: what the server makes is something else."""
        self.value, self.other_than = value, other_than

    def __repr__(self) -> str:
        """Return the value, or that it is free."""
        return "made by the server" if self.value is None else repr(self.value)


class Failing:
    """Any result but success."""

    def __call__(self, code: object) -> bool:
        """Say whether a content type is a failure."""
        return code != 0

    def __repr__(self) -> str:
        """Return what is wanted."""
        return "a failure"


FAILS = Failing()


class Spelled:
    """A name; how its letters are written is free."""

    def __init__(self, name: bytes) -> None:
        self.name = name

    def __call__(self, got: object) -> bool:
        """Say whether a name is this one."""
        return isinstance(got, bytes) and got.lower() == self.name.lower()

    def __repr__(self) -> str:
        """Return the name."""
        return repr(self.name)


class Headers:
    """Headers that must be there, in their order; with `exact`, no others. Names differ at most in case."""

    def __init__(self, wanted: Sequence[tuple[bytes, bytes]], *, exact: bool) -> None:
        self.wanted = [(name.lower(), value) for name, value in wanted]
        self._exact = exact

    def __call__(self, got: object) -> bool:
        """Say whether headers are these."""
        there = [(one.name.lower(), one.value) for one in got if isinstance(one, Header)]  # type: ignore[attr-defined]
        if self._exact:
            return there == self.wanted
        left = iter(there)
        return all(any(one == wanted for one in left) for wanted in self.wanted)

    def __repr__(self) -> str:
        """Return the headers."""
        return repr(self.wanted)


class Refusal:
    """Headers that say whether something failed: with Nack-Reason, or without."""

    def __init__(self, *, fails: bool) -> None:
        self._fails = fails

    def __call__(self, got: object) -> bool:
        """Say whether headers say so."""
        there = any(one.name.lower() == b"nack-reason" for one in got)  # type: ignore[attr-defined]
        return there == self._fails

    def __repr__(self) -> str:
        """Return what is wanted."""
        return "a Nack-Reason" if self._fails else "no Nack-Reason"


@dataclass(frozen=True)
class Body:
    """A JSON object that has these members; others, and the order, are free."""

    members: Mapping[str, object]

    def __call__(self, got: object) -> bool:
        """Say whether a payload is such an object."""
        found = _read(got)
        return isinstance(found, dict) and self.holds(found)

    def holds(self, found: Mapping[str, object]) -> bool:
        """Say whether an object has the members."""
        return not any(self._differing(found))

    def broken_clause(self, got: object) -> str | None:
        """Return the clause about the first member that differs; None for one that has none of its own."""
        found = _read(got)
        return OF_MEMBERS.get(next(self._differing(found), "")) if isinstance(found, dict) else None

    def _differing(self, found: Mapping[str, object]) -> Iterator[str]:
        for name, wanted in self.members.items():
            if name not in found or not _is_like(wanted, found[name]):
                yield name


@dataclass(frozen=True)
class Numbers:
    """A JSON array of these numbers, in any order."""

    wanted: frozenset[int]

    def __call__(self, got: object) -> bool:
        """Say whether a member is such an array."""
        return isinstance(got, list) and sorted(map(repr, got)) == sorted(map(repr, self.wanted))


@dataclass(frozen=True)
class Rows:
    """A JSON array with a row for each of these objects; `key` distinguishes them. With `exact` there are no others."""

    key: str
    rows: Sequence[Body]
    exact: bool
    absent: Sequence[object] = ()
    """Values of `key` that no row has."""

    def __call__(self, got: object) -> bool:
        """Say whether a payload is such an array."""
        found = _read(got)
        if not isinstance(found, list) or (self.exact and len(found) != len(self.rows)):
            return False
        if any(_is_like(gone, one.get(self.key)) for one in found for gone in self.absent):
            return False
        return all(any(row.holds(one) for one in found) for row in self.rows)


def as_text(data: bytes) -> str:
    """Return bytes as the text that JSON can hold."""
    return data.decode("utf-8", "replace")


def _read(got: object) -> Any:
    try:
        return json.loads(got) if isinstance(got, bytes) else None
    except ValueError:
        return None


def _is_like(wanted: object, got: object) -> bool:
    if isinstance(wanted, Numbers):
        return wanted(got)
    if isinstance(wanted, Made):
        return (
            got not in ("", None, as_text(wanted.other_than)) if wanted.value is None else got == as_text(wanted.value)
        )
    if wanted == "" and got is None:
        return True  # what a client does not send is null, or made up
    if isinstance(wanted, str) and isinstance(got, str):
        return wanted.lower() == got.lower()
    return got == wanted and isinstance(got, bool) == isinstance(wanted, bool)


def _fits(wanted: object, got: object) -> bool:
    if isinstance(wanted, Made):
        return got not in (b"", wanted.other_than) if wanted.value is None else got == wanted.value
    if isinstance(wanted, frozenset):
        return got in wanted
    return bool(wanted(got)) if callable(wanted) else got == wanted


@dataclass(frozen=True)
class Shape:
    """A message, by the fields that are fixed."""

    kind: type[Message]
    fields: Mapping[str, object]

    def fits(self, message: Message) -> bool:
        """Say whether a message is such a one."""
        return type(message) is self.kind and all(
            _fits(one, getattr(message, name)) for name, one in self.fields.items()
        )

    def differing(self, message: Message) -> list[str]:
        """Return the fields in which a message of this kind differs."""
        return [name for name, one in self.fields.items() if not _fits(one, getattr(message, name))]

    def learn(self, message: Message) -> None:
        """Take from a message what the server chose."""
        for name, wanted in self.fields.items():
            if isinstance(wanted, Made) and wanted.value is None:
                wanted.value = getattr(message, name)

    def __repr__(self) -> str:
        """Return the kind and its fields."""
        return f"{self.kind.NAME}({', '.join(f'{name} {one!r}' for name, one in self.fields.items())})"


@dataclass(eq=False)
class Expected:
    """A message that must come, or may: one of several shapes."""

    shapes: Sequence[Shape]
    clause: str
    stream: object = None
    """Those of one stream come in their order."""
    is_certain: bool = True
    queue: object = None
    """The queue that it is about."""

    def fits(self, message: Message) -> bool:
        """Say whether a message is one of the shapes."""
        return any(shape.fits(message) for shape in self.shapes)

    def learn(self, message: Message) -> None:
        """Take from a message what the server chose."""
        next(one for one in self.shapes if one.fits(message)).learn(message)

    def __repr__(self) -> str:
        """Return the shapes."""
        return " or ".join(map(repr, self.shapes))


OF_FIELDS = {
    **{("MESSAGE", name): "TMQP-MESSAGE-1" for name in ("id", "target", "content_type", "headers", "payload")},
    ("MESSAGE", "source"): "TMQP-MESSAGE-2",
    ("MESSAGE", "one_delivery"): "TMQP-MESSAGE-3",
    ("MESSAGE", "pending_ack"): "TMQP-MESSAGE-4",
    ("MESSAGE", "pending_response"): "TMQP-PRODUCE-6",
    ("MESSAGE", "ttl"): "TMQP-TTL-2",
    ("DIRECT", "source"): "TMQP-SOURCE-1",
    ("DIRECT", "target"): "TMQP-SEND_DIRECT-2",
    ("DIRECT", "ttl"): "TMQP-TTL-2",
    ("DIRECT", "headers"): "TMQP-HEADER-3",
    ("RESPONSE", "source"): "TMQP-RESPONSE-1",
    ("RESPONSE", "target"): "TMQP-RESPONSE-2",
    ("RESPONSE", "one_delivery"): "TMQP-RESPONSE-8",
    ("RESPONSE", "high_priority"): "TMQP-RESPONSE-8",
    ("NOTIFICATION", "target"): "TMQP-NOTIFICATION-1",
    ("NOTIFICATION", "content_type"): "TMQP-NOTIFICATION-1",
}
"""Message and field -> the clause that fixes it, where that is another than what the message is expected by."""
OF_MEMBERS = {
    **dict.fromkeys(("Messages", "PriorityMessages", "Status"), "TMQP-QUEUE_INFO-3"),
    **dict.fromkeys(("ReceivedMessages", "SentMessages", "Deliveries", "Acks", "NegativeAcks"), "TMQP-QUEUE_INFO-5"),
    "TimeoutMessages": "TMQP-QUEUE_INFO-6",
}
"""Member of QUEUE_INFORMATION -> the clause that fixes it."""
INFORMED = "TMQP-QUEUE_INFO-1"
SURPLUS = {"NOTIFICATION": "TMQP-EVENT-2", "CONFIRMATION": "TMQP-PRODUCE-7"}
"""Message -> the clause that is broken where none was to come."""
PULLED = "TMQP-PULL-"
"""Begins the clauses of what a pull is answered: they fix its headers, too."""


def broken_clause(due: Sequence[Expected], message: Message) -> str | None:
    """Return the clause that a message breaks that nothing explains; None for one that is like nothing expected.

    It is compared with what is most like it of all that must come: in the wrong order, with one wrong field, or of
    another kind.
    """
    found: list[tuple[int, str]] = []
    for one in due:
        for shape in one.shapes if one.is_certain else ():
            if type(message) is not shape.kind:
                continue
            wrong = shape.differing(message)
            own = one.clause.startswith(PULLED) and wrong and wrong[0] == "headers"
            clause = OF_FIELDS.get((message.NAME, wrong[0]), one.clause) if wrong else "TMQP-MESSAGE-5"
            body = shape.fields.get("payload")
            if wrong[:1] == ["payload"] and isinstance(body, Body) and clause == INFORMED:
                clause = body.broken_clause(getattr(message, "payload", b"")) or clause
            found.append((len(wrong), one.clause if own else clause))
    if found:
        return min(found, key=lambda one: one[0])[1]
    id_ = getattr(message, "id", None)
    like = (
        one.clause for one in due if one.is_certain and any(id_ == shape.fields.get("id", b"") for shape in one.shapes)
    )
    return next(like, SURPLUS.get(message.NAME))
