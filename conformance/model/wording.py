"""Messages and patterns in words for people, and the byte of a message that a field begins at."""

from __future__ import annotations

from collections.abc import Mapping

from wireproof.protocols import Layout, Message

BY_NAME = {"any": "a message of any kind", "push": "a push"}
"""Patterns of one word that say little by themselves."""


def describe(value: object) -> str:
    """Return a short text of a message or value for people: bytes as hex with printable text beside."""
    if isinstance(value, Message):
        named = (f"{name}={describe(getattr(value, name))}" for name in value.__struct_fields__)
        return f"{value.NAME}({', '.join(named)})"
    if isinstance(value, bytes):
        text = f' "{value.decode()}"' if value and value.isascii() and value.decode().isprintable() else ""
        return (value.hex() if len(value) <= 40 else f"{value[:32].hex()}… ({len(value)} bytes)") + text
    if isinstance(value, tuple):
        shown = ", ".join(describe(one) for one in value[:4])
        return f"[{shown}{', …' if len(value) > 4 else ''}]"
    return str(value)


def wording(spec: object) -> str:
    """Return a pattern as people read it, for a message that never came."""
    match spec:
        case {"any_of": [*options]}:
            return " or ".join(map(wording, options))
        case {"push": fields}:
            return f"a push{shown_fields(fields or {})}"
        case str():
            return BY_NAME.get(spec, spec)
        case Mapping() if len(spec) == 1:
            ((name, fields),) = spec.items()
            return f"{name}{shown_fields(fields or {})}"
    return str(spec)


def shown_fields(fields: Mapping[str, object]) -> str:
    """Return the fields of a pattern in brackets, or nothing."""
    return f"({', '.join(f'{name}={value}' for name, value in fields.items())})" if fields else ""


def first_byte(layout: Layout, message: Message, field: str) -> int:
    """Return the offset within the message of the first byte that `field` occupies: its size, for an empty blob.

    A table's rows begin with their count; 0 when the message itself is another one.
    """
    if not field:
        return 0
    places = [one for one in layout.places(message) if one.field == field]
    if not places:
        return len(layout.lead)
    return next((one.start for one in places if one.body and one.stop > one.start), places[0].start)


def number_of(count: int, noun: str) -> str:
    """Return a count with its noun: "1 case", "2 cases"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
