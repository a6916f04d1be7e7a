"""Resolves a pattern as cases write it into one that needs no case: bytes as `{"hex": …}`, every other value a number.

What a field holds (bytes or a number) is known from the layouts of the profile's replies. It must be done at the moment
a message is met: later the variables of a repetition have moved on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

from wireproof.conformance.suite.symbolic import value_of
from wireproof.conformance.suite.symbols import DATA_FORMS, SymbolError, Symbols
from wireproof.conformance.suite.values import Node
from wireproof.protocols import Message, Profile
from wireproof.protocols.fields import BYTES, Kind, Repeated, Rows
from wireproof.protocols.messages import declared_layout

SAFE_INTEGER = (1 << 53) - 1
"""The largest integer every JSON reader keeps exact."""
COUNTS = frozenset({"size", "count", "times", "position", "numbering", "per_part"})
"""Keys of patterns whose values are numbers whatever the field is."""


def plain(value: object) -> Node:
    """Return a message, row or value as JSON: bytes as hex, integers beyond 2^53 - 1 as decimal strings.

    Raises `TypeError` for a value of another type.
    """
    match value:
        case Message():
            return {name: plain(getattr(value, name)) for name in value.__struct_fields__}
        case bytes():
            return value.hex()
        case tuple() | list():
            return [plain(one) for one in value]
        case bool() | None:
            return value
        case int():
            return value if value <= SAFE_INTEGER else str(value)
        case float() | str():
            return value
    raise TypeError(f"expected a message or a value, got {type(value).__name__}")


def resolved(spec: Node, symbols: Symbols, field: str = "") -> Node:
    """Return a pattern, as it is written, with every name resolved; what the message is yet to save stays a name."""
    fields = _fields(symbols.protocol.profiles[symbols.profile])
    match spec:
        case dict() if not set(spec) & DATA_FORMS or ("of" in spec and "call" not in spec):
            return {
                key: value
                if key == "save"
                else resolved(value, symbols, key if key in fields or key in COUNTS else field)
                for key, value in spec.items()
            }
        case list():
            return [resolved(one, symbols, field) for one in spec]
        case "any" | bool() | None:
            return spec
    if isinstance(spec, dict) or fields.get(field) is bytes:
        return _quiet(lambda: {"hex": symbols.data(value_of(spec)).hex()}, spec)
    if field or not isinstance(spec, str):
        return _quiet(lambda: plain(symbols.number(value_of(spec), field)), spec)
    return spec


def _quiet(make: Callable[[], Node], otherwise: Node) -> Node:
    try:
        return make()
    except SymbolError:
        return otherwise


@cache
def _fields(profile: Profile) -> dict[str, type[bytes] | type[int]]:
    """Return field name -> what it holds, over all replies, pushes and the rows inside them."""
    replies = {answer for answers in profile.replies.values() for answer in answers}
    pairs = [pair for message in (*replies, *profile.pushes) for pair in _declared(message)]
    return {name: bytes if isinstance(kind, BYTES) else int for name, kind in pairs}


def _declared(message: type[Message]) -> Iterator[tuple[str, Kind]]:
    for name, kind in declared_layout(message).items():
        if isinstance(kind, Rows):
            yield from _declared(kind.row)
        elif isinstance(kind, Repeated):
            yield from _declared(kind.part)
        else:
            yield name, kind
