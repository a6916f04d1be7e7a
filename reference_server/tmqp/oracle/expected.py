"""What a client must get, as far as the document fixes it: kinds, fields, headers, members of JSON bodies."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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
]


class Made:
    """Bytes that the server may choose: unknown until they are first seen."""

    __slots__ = ("taken", "value")

    def __init__(self, value: bytes | None = None, *, taken: set[bytes] | None = None) -> None:
        """`taken`: what the server makes is something else, and is taken then."""
        self.value, self.taken = value, set() if taken is None else taken

    def may_be(self, got: object) -> bool:
        """Say whether these are the bytes, or may be them as far as is known."""
        return got == self.value if self.value is not None else got != b"" and got not in self.taken

    def learn(self, value: bytes) -> None:
        """Know them from now on."""
        if self.value is None:
            self.value = value
            self.taken.add(value)

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

    def first_differing(self, got: object) -> bytes:
        """Return the name, in lower case, of the first header that is not as wanted; nothing where others are there."""
        there = [(one.name.lower(), one.value) for one in got if isinstance(one, Header)]  # type: ignore[attr-defined]
        return next((one[0] for one in self.wanted if one not in there), b"")

    def __repr__(self) -> str:
        """Return the headers."""
        return repr(self.wanted)


class Refusal:
    """Headers that say whether something failed: with Nack-Reason, or without."""

    def __init__(self, *, fails: bool) -> None:
        self.fails = fails

    def __call__(self, got: object) -> bool:
        """Say whether headers say so."""
        there = any(one.name.lower() == b"nack-reason" for one in got)  # type: ignore[attr-defined]
        return there == self.fails

    def __repr__(self) -> str:
        """Return what is wanted."""
        return "a Nack-Reason" if self.fails else "no Nack-Reason"


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
        return not any(self.differing(found))

    def differing(self, found: Mapping[str, object]) -> Iterator[str]:
        """Yield the members in which an object differs."""
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
        return got == as_text(wanted.value) if wanted.value is not None else got not in ("", None)
    if wanted == "" and got is None:
        return True  # what a client does not send is null, or made up
    if isinstance(wanted, str) and isinstance(got, str):
        return wanted.lower() == got.lower()
    return got == wanted and isinstance(got, bool) == isinstance(wanted, bool)


def _fits(wanted: object, got: object) -> bool:
    if isinstance(wanted, Made):
        return wanted.may_be(got)
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
            if isinstance(wanted, Made):
                wanted.learn(getattr(message, name))

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
    of_fields: Mapping[str, str] = field(default_factory=dict)
    """Field -> the clause that is broken where it differs, where that is another than for other such messages."""
    by: str = ""
    """The clause by which its message came into a queue, where nobody pushed it there."""

    def fits(self, message: Message) -> bool:
        """Say whether a message is one of the shapes."""
        return any(shape.fits(message) for shape in self.shapes)

    def learn(self, message: Message) -> None:
        """Take from a message what the server chose."""
        next(one for one in self.shapes if one.fits(message)).learn(message)

    def __repr__(self) -> str:
        """Return the shapes."""
        return " or ".join(map(repr, self.shapes))
