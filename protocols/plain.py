"""Messages as plain JSON values, the same in every language: what drivers of SDKs receive and report.

Fields keep the names of their layouts. Bytes are `{"hex": "6b"}`, or `{"text": "k"}` from who has only text; numbers
are strings of decimal digits, those of an enum its name in lower case; a flag is true or false. Fields that a profile
does not have are left out. A table sent in fragments is one list of its rows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import IntEnum
from typing import Any

from wireproof.protocols.fields import Absent, Constant, Flag, Kind, Nested, Repeated, Rows, is_bytes, is_number
from wireproof.protocols.json_values import JsonDict, JsonObject
from wireproof.protocols.messages import Message, Push, Request
from wireproof.protocols.profile import Layout
from wireproof.protocols.registry import Protocol

__all__ = ["STATUS", "Plain", "PlainError", "plain_bytes"]

RESERVED = frozenset({"id", "do", "connection", "event", "push"})
"""Names that a line has for itself beside the fields of a message; a field of that name gets a `_` after it there."""
BYTES_KEYS = frozenset({"hex", "text"})
"""The keys of bytes; a field of such a name gets a `_` after it everywhere, lest its object is taken for bytes."""
SECONDS = re.compile(r"[0-9]+(\.[0-9]+)?")
STATUS = "status"
"""What a reply that is one flag is called."""


class PlainError(ValueError):
    """Raised for plain values that are no request; the message says where, what was expected and what came."""


def plain_bytes(value: object, where: str = "bytes") -> bytes:
    """Return the bytes that `{"hex": ...}` or `{"text": ...}` stands for; `PlainError` for anything else."""
    match value:
        case {"hex": str(digits), **rest} if not rest:
            try:
                return bytes.fromhex(digits)
            except ValueError:
                pass
        case {"text": str(text), **rest} if not rest:
            return text.encode("utf-8", "surrogatepass")
    raise PlainError(f'{where}: expected {{"hex": "..."}} or {{"text": "..."}}, got {_shown(value)}')


class Plain:
    """The requests and replies of one protocol under one profile and variant."""

    def __init__(self, protocol: Protocol, profile: str, variant: str) -> None:
        """Raises `PlainError` naming what is known when there is no such profile or variant."""
        try:
            self.profile = protocol.spoken(profile, variant)
        except ValueError as error:
            raise PlainError(str(error)) from None
        self.variant = self.profile.variants[variant]
        self.protocol = protocol
        hidden = protocol.own_messages
        self.operations: dict[str, type[Request]] = {
            one.NAME.lower(): one for one in self.profile.replies if one not in hidden
        }
        """Name of an operation -> the request that it asks for, the first one where it is several."""
        self.pushes = [one for one in self.profile.pushes if one not in protocol.sdk.own]
        """What is reported as an event."""

    def layout(self, message: type[Message]) -> Layout:
        """Return how `message` lies on the wire here."""
        return self.profile.layout(message, self.variant)

    def fields(self, message: Message) -> JsonDict:
        """Return the fields of a message."""
        found: JsonDict = {}
        for name, kind in self.reported_fields(type(message)):
            value = getattr(message, name)
            match kind:
                case Absent():
                    continue
                case Repeated(part, _):
                    rows = self._rows_field(part)
                    found[rows] = [self.fields(row) for one in value for row in getattr(one, rows)]
                case _:
                    found[_named(name)] = self._value(type(message), name, kind, value)
        return found

    def name_beside(self, name: str) -> str:
        """Return the name of a field as it stands in a line beside the line's own (see `RESERVED`)."""
        return _beside(name)

    def name_within(self, name: str) -> str:
        """Return the name of a field as it stands in an object of its own, such as a result (see `BYTES_KEYS`)."""
        return _named(name)

    def beside(self, message: Message) -> JsonDict:
        """Return the fields of a request or push as they stand in a line beside its own (see `RESERVED`)."""
        return {_beside(name): value for name, value in self.fields(message).items()}

    def event(self, push: Push) -> JsonDict:
        """Return the fields of a push as they stand in an event; `push` says which of several kinds it is."""
        which = {"push": push.NAME.lower()} if len(self.pushes) > 1 else {}
        return which | self.beside(push)

    def result(self, reply: Message) -> JsonDict:
        """Return a reply as the result of an operation: its fields, or `{"status": ...}` where it is one flag."""
        if self.is_flag(type(reply)):
            ((name, _),) = self.reported_fields(type(reply))
            return {STATUS: getattr(reply, name)}
        return self.fields(reply)

    def is_flag(self, reply: type[Message]) -> bool:
        """Say whether a reply is one flag and nothing else."""
        return [type(kind) for _, kind in self.reported_fields(reply)] == [Flag]

    def has_nested(self, reply: type[Message]) -> bool:
        """Say whether a reply holds another one."""
        return any(isinstance(kind, Nested) for _, kind in self.reported_fields(reply))

    def result_name(self, operation: str) -> str:
        """Return the name of the one field that the reply to `operation` consists of, as `result` calls it."""
        reply = self.profile.replies[self.operations[operation]][-1]
        ((name, kind),) = self.reported_fields(reply)
        return self._rows_field(kind.part) if isinstance(kind, Repeated) else _named(name)

    def number(self, name: str, value: int, message: type[Message] | None = None) -> str:
        """Return a number of the field `name`: its name where it has one (in `message`), its digits otherwise."""
        return next((word for word, member in self._words(name, message).items() if member == value), str(value))

    def parts(self, operation: str) -> tuple[type[Request], ...]:
        """Return the requests that `operation` is made of; `PlainError` naming the known ones when there is none."""
        request = self.operations.get(operation)
        if request is None:
            raise PlainError(f"unknown operation {operation!r}: expected one of {', '.join(self.operations)}")
        rest = self.protocol.sdk.continued.get(request)
        return (request,) if rest is None else (request, rest)

    def values(self, operation: str, fields: JsonObject) -> JsonDict:
        """Return the values of the fields of `operation`, given as `beside` gives them, whatever fits on the wire.

        Raises `PlainError` for an operation or a field that is not known, a field missing and a value of another kind.
        """
        layout = [(part, *field) for part in self.parts(operation) for field in self.reported_fields(part)]
        kinds = {_beside(name): kind for _, name, kind in layout}
        wrong = [f"{name} is missing" for name in kinds if name not in fields]
        wrong += [f"{name} is not a field of it" for name in fields if name not in kinds]
        if wrong:
            raise PlainError(f"{operation}: expected {', '.join(kinds) or 'no field'}; {', '.join(wrong)}")
        return {
            name: self._parsed(f"{operation}.{name}", part, name, kind, fields[_beside(name)])
            for part, name, kind in layout
        }

    def connect_values(self, fields: JsonObject) -> JsonDict:
        """Return the values of the protocol's own fields of `connect`; raises as `values`, none has to be there.

        Raises `PlainError` for a field that `connect` does not have.
        """
        known = self.protocol.sdk.connect_fields
        for name in fields:
            if name not in known:
                raise PlainError(f"connect: {name} is not a field of it")
        return {name: _given(f"connect.{name}", known[name], value) for name, value in fields.items()}

    def reported_fields(self, message: type[Message]) -> list[tuple[str, Kind]]:
        """Return the fields that are no business of the SDK alone."""
        sdk = self.protocol.sdk
        hidden = sdk.hidden_fields | sdk.chosen_fields.get(message, frozenset())
        return [
            (name, kind)
            for name, kind in self.layout(message).fields
            if name not in hidden and not isinstance(kind, Constant)
        ]

    def _value(self, message: type[Message], name: str, kind: Kind, value: Any) -> Any:
        if is_number(kind):
            return self.number(name, value, message)
        if is_bytes(kind):
            return {"hex": value.hex()}
        match kind:
            case Rows():
                return [self.fields(row) for row in value or ()]
            case Nested():
                return self.result(value)
        return value

    def _words(self, name: str, message: type[Message] | None = None) -> dict[str, IntEnum]:
        enum = self.protocol.names.get(name)
        if enum is None or message in self.protocol.sdk.unnamed_numbers:
            return {}
        return {member.name.lower(): member for member in enum}

    def _parsed(self, where: str, message: type[Message], name: str, kind: Kind, value: object) -> Any:
        if is_bytes(kind):
            return plain_bytes(value, where)
        if isinstance(kind, Rows):
            if not isinstance(value, list) or not all(isinstance(one, Mapping) for one in value):
                raise PlainError(f"{where}: expected a list of rows, got {_shown(value)}")
            return tuple(self._row(f"{where}.{at}", kind.row, one) for at, one in enumerate(value))
        words = self._words(name, message)
        if isinstance(value, str) and value in words:
            return words[value]
        if isinstance(value, str) and value.isascii() and value.isdigit():
            return int(value)
        detail = f"{', '.join(words)} or a string of decimal digits" if words else "a string of decimal digits"
        raise PlainError(f"{where}: expected {detail}, got {_shown(value)}")

    def _row(self, where: str, row: type[Message], given: Mapping[str, object]) -> Message:
        kinds = dict(self.reported_fields(row))
        if given.keys() != {_named(name) for name in kinds}:
            raise PlainError(f"{where}: expected {', '.join(kinds)}, got {', '.join(given) or 'nothing'}")
        return row(
            **{
                name: self._parsed(f"{where}.{name}", row, name, kind, given[_named(name)])
                for name, kind in kinds.items()
            }
        )

    def _rows_field(self, part: type[Message]) -> str:
        return next(name for name, kind in self.layout(part).fields if isinstance(kind, Rows))


def _given(where: str, kind: str | tuple[str, ...], value: object) -> Any:
    if kind == "bytes":
        return plain_bytes(value, where)
    if kind == "seconds":
        if isinstance(value, str) and SECONDS.fullmatch(value):
            return float(value)
        raise PlainError(f"{where}: expected seconds in decimal digits, got {_shown(value)}")
    if not isinstance(value, str) or (isinstance(kind, tuple) and value not in kind):
        detail = " or ".join(kind) if isinstance(kind, tuple) else f"a {kind}"
        raise PlainError(f"{where}: expected {detail}, got {_shown(value)}")
    return value


def _beside(name: str) -> str:
    return f"{name}_" if name in RESERVED else _named(name)


def _named(name: str) -> str:
    return f"{name}_" if name in BYTES_KEYS else name


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
