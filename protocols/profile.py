"""A profile says which document or release is spoken; a variant, what changes the layout within it.

A profile is data plus overrides: `derive` makes a new one from an old one and the differences, so no code anywhere
asks for a profile by its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, NamedTuple

from wireproof.protocols.errors import ErrorCode
from wireproof.protocols.fields import (
    BYTES,
    Atom,
    Bits,
    Blob,
    Flag,
    Json,
    JsonRows,
    Kind,
    Lines,
    Raw,
    Repeated,
    Rest,
    Rows,
    Split,
    Terminated,
    UInt,
    Word,
    resolve,
)
from wireproof.protocols.messages import Message, Push, Reply, Request, declared_layout
from wireproof.protocols.sexp_writing import is_record, spans, written_tokens


@dataclass(frozen=True, slots=True, eq=False)
class Variant:
    """A named choice of the symbolic sizes, in bytes: `Variant("uint16", {"value": 2})`."""

    name: str
    sizes: Mapping[str, int]


class Place(NamedTuple):
    """Where a field, or the body that it announces, lies within a message."""

    field: str
    start: int
    stop: int
    body: bool = False


@dataclass(frozen=True, slots=True)
class Layout:
    """One message on the wire: the bytes it begins with, then its fields in wire order, every size known."""

    message: type[Message]
    lead: bytes
    fields: tuple[tuple[str, Kind], ...]
    size: int = 0
    """Bytes of a number before the lead that says how many follow it."""

    @property
    def fixed_size(self) -> int:
        """Bytes before the first body: the lead and the fixed parts (for rows, the size of one row)."""
        return self.size + len(self.lead) + sum(fixed_size(kind) for _, kind in self.fields)

    @property
    def is_packed(self) -> bool:
        """Parts of it have forms that depend on their values (`wireproof.protocols.packed`)."""
        return any(isinstance(kind, Bits | Lines) for _, kind in self.fields)

    @property
    def is_json(self) -> bool:
        """It is the text of a JSON value."""
        return any(isinstance(kind, Json | JsonRows) for _, kind in self.fields)

    @property
    def is_sexp(self) -> bool:
        """It is the text of an s-expression."""
        return any(isinstance(kind, Atom | Word) for _, kind in self.fields)

    @property
    def in_one_pass(self) -> bool:
        """Every field stands where it is declared, sizes and bodies are not apart."""
        return bool(self.size) or any(isinstance(kind, Terminated) for _, kind in self.fields)

    def places(self, message: Message) -> list[Place]:
        """Return where the fixed parts and bodies of `message` lie, in the order of the wire; tables have no bodies."""
        if self.is_sexp:
            return self._atoms(message)
        at, found, bodies = self.size + len(self.lead), list[Place](), list[str]()
        for name, kind in self.fields:
            if self.in_one_pass and isinstance(kind, Terminated | Rest):
                size = len(getattr(message, name))
                found.append(Place(name, at, at + size, body=True))
                at += size + isinstance(kind, Terminated)
                continue
            if isinstance(kind, Bits):
                found.append(Place(name, kind.at // 8, kind.at // 8 + 1))
            elif not isinstance(kind, Rest | Lines):
                size = kind.size.taken(len(getattr(message, name))) if isinstance(kind, Blob) else fixed_size(kind)
                found.append(Place(name, at, at + size))
                at += size
            if isinstance(kind, BYTES | Lines) and not isinstance(kind, Raw):
                bodies.append(name)
        kinds = dict(self.fields)
        for name in bodies:
            kind, value = kinds[name], getattr(message, name)
            size = lines_size(kind, value) if isinstance(kind, Lines) else len(value)
            found.append(Place(name, at, at + size, body=True))
            at += size + isinstance(kind, Split)
        return found

    def _atoms(self, message: Message) -> list[Place]:
        """Return where the values of an s-expression lie; nothing for a message that has no text."""
        before = self.size + len(self.lead) if is_record(self.fields) else 0
        try:
            tokens = written_tokens(self.lead, self.fields, message)
        except (TypeError, ValueError, OverflowError):
            return []
        return [Place(name, before + start, before + stop, body=True) for name, start, stop in spans(tokens)]


def lines_size(kind: Lines, rows: tuple[Message, ...]) -> int:
    """Return the bytes of a block of lines, with the size before it."""
    values = [getattr(row, name) for row in rows for name in row.__struct_fields__]
    return kind.count.width + sum(map(len, values)) + 3 * len(rows) if rows else 0


def fixed_size(kind: Kind) -> int:
    """Return the bytes that a field takes among the fixed parts."""
    match kind:
        case Lines():
            return 0
        case UInt():
            return kind.width
        case Raw(size):
            return size
        case Blob(size) | Split(size):
            return size.width
        case Rows(_, count) | Repeated(_, count):
            return count.width
        case Flag():
            return 1
    return 0


@dataclass(frozen=True, eq=False)
class Profile:
    """What one document or release says, as data."""

    name: str
    byte_order: str
    """`<` or `>`, as `struct` writes it."""
    variants: Mapping[str, Variant]
    leads: Mapping[type[Message], bytes]
    """The bytes each message begins with: a type byte, a status byte, or nothing."""
    replies: Mapping[type[Request], tuple[type[Reply], ...]]
    """Every request of the profile and the replies it may get, in order of preference; none = never answered."""
    sized: Mapping[type[Message], int] = field(default_factory=dict)
    """Message -> the bytes of a number before all else that says how many follow it."""
    pushes: tuple[type[Push], ...] = ()
    inner: tuple[type[Message], ...] = ()
    """What travels inside other messages only, but is written by name in cases."""
    overrides: Mapping[tuple[type[Message], str], Kind] = field(default_factory=dict)
    """(message, field) -> the kind it has here instead of the declared one."""
    orders: Mapping[type[Message], tuple[str, ...]] = field(default_factory=dict)
    """Message -> its fields in wire order, where that is not the declared one."""
    clauses: Mapping[ErrorCode, str] = field(default_factory=dict)
    """The clause that each wire error breaks."""
    unsegmented: frozenset[type[Message]] = frozenset()
    """Requests that servers of this profile take with a single read: no segmentation cuts them."""

    def derive(self, name: str, *, without: tuple[type[Message], ...] = (), **changes: Any) -> Profile:
        """Return a profile called `name` that differs from this one only by `changes` (mappings are merged)."""
        merged: dict[str, Any] = {}
        for key, value in changes.items():
            old = getattr(self, key)
            merged[key] = {**old, **value} if isinstance(old, Mapping) else value
        replies = merged.get("replies", self.replies)
        merged["replies"] = {request: answers for request, answers in replies.items() if request not in without}
        return replace(self, name=name, **merged)

    @cache  # noqa: B019 - profiles live as long as the process
    def layout(self, message: type[Message], variant: Variant) -> Layout:
        """Return the resolved layout of `message` under `variant`."""
        declared = declared_layout(message)
        fields = tuple(
            (name, resolve(self.overrides.get((message, name), declared[name]), variant.sizes))
            for name in self.orders.get(message, declared)
        )
        return Layout(message, self.leads.get(message, b""), fields, self.sized.get(message, 0))

    @cached_property
    def messages(self) -> dict[str, type[Message]]:
        """Name -> class of everything that cases may name: requests, replies, pushes, what travels inside them."""
        found: dict[str, type[Message]] = {}
        for request, answers in self.replies.items():
            for message in (request, *answers):
                found[message.NAME] = message
        for one in (*self.pushes, *self.inner):
            found.setdefault(one.NAME, one)
        return found
