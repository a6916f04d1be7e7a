"""The messages of a protocol and their fields, for what cases name: taken from the layouts, over some profiles."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache

from wireproof.protocols import Message, protocol
from wireproof.protocols.fields import JsonRows, Kind, Repeated, Rows
from wireproof.protocols.messages import declared_layout

Shape = Mapping[str, frozenset[str]]
"""Field -> the fields of its rows; none where it holds no table."""
OF_TABLES = ("rows", "numbering", "per_part")
"""What a pattern may name of a table that comes in parts, beside its fields."""


@dataclass(frozen=True)
class Vocabulary:
    """What cases of some profiles may name."""

    protocol: str
    profiles: Collection[str]
    """All that the protocol has."""
    variants: Collection[str]
    messages: Mapping[str, Shape]
    """Name -> its fields; of a message that the profiles have in several forms, those of all."""
    pushes: Shape
    """The fields of all pushes, of other profiles too: `{push: ...}` leaves out those that are not there."""
    connect_fields: Collection[str] = ()
    """What connecting takes that is the protocol's own."""


@cache
def vocabulary(name: str, profiles: tuple[str, ...] = ()) -> Vocabulary:
    """Return the messages and fields of some profiles of a protocol, of all where none is named."""
    spoken = protocol(name)
    found: dict[str, dict[str, frozenset[str]]] = {}
    pushes: dict[str, frozenset[str]] = {}
    for profile in spoken.profiles.values():
        for push in profile.pushes:
            pushes.update(_shape(push))
        if not profiles or profile.name in profiles:
            for one, message in profile.messages.items():
                found.setdefault(one, {}).update(_shape(message))
    variants = dict.fromkeys(name for profile in spoken.profiles.values() for name in profile.variants)
    return Vocabulary(name, tuple(spoken.profiles), tuple(variants), found, pushes, tuple(spoken.sdk.connect_fields))


def _shape(message: type[Message]) -> dict[str, frozenset[str]]:
    layout = declared_layout(message)
    found = {name: frozenset(_rows(kind)) for name, kind in layout.items()}
    for kind in layout.values():
        if isinstance(kind, Repeated):
            found.update(dict.fromkeys(OF_TABLES, frozenset[str]()), rows=_rows_of_parts(kind))
    return found


def _rows(kind: Kind) -> Collection[str]:
    if isinstance(kind, Rows | JsonRows):
        return tuple(declared_layout(kind.row))
    return tuple(declared_layout(kind.part)) if isinstance(kind, Repeated) else ()


def _rows_of_parts(kind: Repeated) -> frozenset[str]:
    return frozenset(name for one in declared_layout(kind.part).values() for name in _rows(one))
