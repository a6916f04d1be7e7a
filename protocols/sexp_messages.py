"""Messages that are s-expressions: a constructor with its arguments, or a record with its members.

A layout names its fields by `Atom` and `Word`. Its lead is the constructor, `(Subscribe prices From_current)`; without
one it is a record, `((id 3)(topic prices))`. What is written is the compact form; what is read may be any form of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, TypeVar

import msgspec

from wireproof.protocols.fields import Atom, Word
from wireproof.protocols.frames import bad_value
from wireproof.protocols.messages import Message
from wireproof.protocols.profile import Layout
from wireproof.protocols.sexp import Branch, Leaf, SexpError
from wireproof.protocols.sexp_writing import EPOCH, Token, compact, is_record, written_tokens

__all__ = ["message_of", "settled", "text_of", "tokens_of"]

AnyMessage = TypeVar("AnyMessage", bound=Message)
SECOND = 1_000_000
LAST_SECOND = 253_402_300_799
"""9999-12-31 23:59:59, in seconds since 1970."""
_NUMBER = re.compile(rb"-?[0-9]+")
_TIME = re.compile(
    rb"([0-9]{4})-([0-9]{2})-([0-9]{2}) ([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,6}))?"
    rb"(Z|[+-][0-9]{2}:[0-9]{2})?"
)
LONGEST_NUMBER = 24
"""Digits of a number without the zeros it begins with; none that fits has more."""


def message_of(expression: Leaf | Branch | None, layouts: Callable[[bytes], Layout | None]) -> Message:
    """Return the message that an expression is; `layouts` knows those of constructors, of b"" that of records.

    Raises `SexpError` for an expression that is none.
    """
    if not isinstance(expression, Branch) or not expression.items:
        raise SexpError("expected a list that begins with a name", 0 if expression is None else expression.at)
    head = expression.items[0]
    if isinstance(head, Branch):
        found, rest = layouts(b""), expression.items
    else:
        found, rest = layouts(_constructor(head.value)), expression.items[1:]
    if found is None:
        raise SexpError(f"unknown constructor {_shown(head)}", head.at)
    if is_record(found.fields):
        if isinstance(head, Leaf):
            inner = rest[0] if len(rest) == 1 else expression
            if not isinstance(inner, Branch) or inner is expression:
                raise SexpError(f"expected one record after {_shown(head)}", expression.at)
            expression, rest = inner, inner.items
        return found.message(**_members(found, rest, expression.at))
    return found.message(**_arguments(found, rest, expression.at))


def text_of(layout: Layout, message: Message) -> bytes:
    """Return the compact form of a message, without a line end: a space between atoms, none beside parentheses.

    Raises `LocalProtocolError` for a value that it cannot have.
    """
    return compact(tokens_of(layout, message))


def tokens_of(layout: Layout, message: Message) -> list[Token]:
    """Return the parentheses and atoms of a message. Raises `LocalProtocolError` as `text_of`."""
    try:
        if type(message) is not layout.message:
            raise TypeError
        return written_tokens(layout.lead, layout.fields, message)
    except (TypeError, ValueError, IndexError, OverflowError):
        raise bad_value(message, layout) from None


def settled(layout: Layout, message: AnyMessage) -> AnyMessage:
    """Return a message in which no word has an argument that it does not take."""
    names = [name for name, _ in layout.fields]
    omitted = {
        names[at + 1]: 0
        for at, (name, kind) in enumerate(layout.fields)
        if isinstance(kind, Word) and kind.takes >= 0 and getattr(message, name) != kind.takes
    }
    return msgspec.structs.replace(message, **omitted)


def _constructor(name: bytes) -> bytes:
    return name[:1].upper() + name[1:]


def _arguments(layout: Layout, items: list[Leaf | Branch], at: int) -> dict[str, object]:
    values: dict[str, object] = {}
    rest, fields = iter(items), iter(layout.fields)
    for name, kind in fields:
        item = next(rest, None)
        if item is None:
            raise SexpError(f"{layout.message.NAME}: {name} is missing", at)
        if isinstance(kind, Word):
            values[name], argument = _word(kind, item, f"{layout.message.NAME}.{name}")
            if kind.takes >= 0:
                behind, inner = next(fields)
                values[behind] = 0 if argument is None else _value(inner, argument, f"{layout.message.NAME}.{behind}")
        else:
            values[name] = _value(kind, item, f"{layout.message.NAME}.{name}")
    more = next(rest, None)
    if more is not None:
        raise SexpError(f"{layout.message.NAME}: expected ), got {_shown(more)}", more.at)
    return values


def _members(layout: Layout, items: Iterable[Leaf | Branch], at: int) -> dict[str, object]:
    known, values = dict(layout.fields), dict[str, object]()
    for one in items:
        pair = one.items if isinstance(one, Branch) else []
        if len(pair) != 2 or not isinstance(pair[0], Leaf):
            raise SexpError(f"{layout.message.NAME}: expected a list of a name and a value", one.at)
        name = pair[0].value.decode("latin-1")
        if name not in known or name in values:
            raise SexpError(f"{layout.message.NAME}: {'repeated' if name in known else 'unknown'} field {name}", one.at)
        values[name] = _value(known[name], pair[1], f"{layout.message.NAME}.{name}")
    if missing := [name for name in known if name not in values]:
        raise SexpError(f"{layout.message.NAME}: {missing[0]} is missing", at)
    return values


def _word(kind: Word, item: Leaf | Branch, where: str) -> tuple[int, Leaf | Branch | None]:
    """Return the number of a word, and its argument."""
    words = [one.encode() for one in kind.words]
    head = item if isinstance(item, Leaf) else item.items[0] if len(item.items) == 2 else None
    name = _constructor(head.value) if isinstance(head, Leaf) else b""
    number = words.index(name) if name in words else -1
    if number < 0 or (number == kind.takes) != isinstance(item, Branch):
        forms = (f"({one} ...)" if at == kind.takes else one for at, one in enumerate(kind.words))
        raise SexpError(f"{where}: expected {' or '.join(forms)}, got {_shown(item)}", item.at)
    return number, item.items[1] if isinstance(item, Branch) else None


def _value(kind: Any, item: Leaf | Branch, where: str) -> int | bytes:
    if isinstance(kind, Word):
        return _word(kind, item, where)[0]
    if kind.form == "time":
        found = _time(item, where)
        if not kind.minimum <= found <= kind.maximum:
            raise SexpError(f"{where}: expected a time of the years 1 to 9999, got {_shown(item)}", item.at)
        return found
    if isinstance(item, Branch):
        raise SexpError(f"{where}: expected an atom, got a list", item.at)
    return item.value if kind.form == "text" else _number(kind, item, where)


def _number(kind: Atom | Word, item: Leaf, where: str) -> int:
    number = -1
    digits = item.value.lstrip(b"-0")
    fits = len(digits) <= LONGEST_NUMBER and _NUMBER.fullmatch(item.value)
    if fits:
        number = int(digits or b"0") * (-1 if item.value[:1] == b"-" else 1)
    if not fits or not kind.minimum <= number <= kind.maximum:
        detail = f"{where}: expected a whole number from {kind.minimum} to {kind.maximum}, got {_shown(item)}"
        raise SexpError(detail, item.at)
    return number


def _time(item: Leaf | Branch, where: str) -> int:
    """Return a time in microseconds: seconds since 1970, or a date and a time, in one atom or two."""
    wrong = SexpError(f"{where}: expected a time, got {_shown(item)}", item.at)
    if isinstance(item, Branch):
        parts = [one.value for one in item.items if isinstance(one, Leaf)]
        if len(parts) != 2 or len(item.items) != 2:
            raise wrong
        text = b" ".join(parts)
    else:
        text = item.value
    if text.isdigit() and isinstance(item, Leaf):
        digits = text.lstrip(b"0") or b"0"
        if len(digits) > LONGEST_NUMBER or int(digits) > LAST_SECOND:
            raise wrong
        return int(digits) * SECOND
    found = _TIME.fullmatch(text)
    if found is None:
        raise wrong
    year, month, day, hour, minute, second = (int(one) for one in found.groups()[:6])
    zone = found[8] or b"Z"
    try:
        offset = UTC if zone == b"Z" else _zone(zone)
        at = datetime(year, month, day, hour, minute, second, int((found[7] or b"0").ljust(6, b"0")), tzinfo=offset)
        return (at - EPOCH) // timedelta(microseconds=1)
    except (ValueError, OverflowError):
        raise wrong from None


def _zone(text: bytes) -> timezone:
    """Return the zone that `+hh:mm` names. Raises `ValueError`."""
    if text[4:] > b"59":
        raise ValueError
    away = timedelta(hours=int(text[1:3]), minutes=int(text[4:6]))
    return timezone(-away if text[:1] == b"-" else away)


def _shown(item: Leaf | Branch) -> str:
    if isinstance(item, Branch):
        return "a list"
    return item.value[:40].decode("ascii", "backslashreplace") or '""'
