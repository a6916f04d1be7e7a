"""Bytes and messages in the notation of cases: names become the case's own, so that two plays never share one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from wireproof.fuzz.live.canaries import CANARY
from wireproof.fuzz.live.context import FuzzContext
from wireproof.protocols import Message
from wireproof.protocols.fields import Absent, Repeated, Rows

__all__ = ["Naming"]

PLAIN = re.compile(rb"[A-Za-z][A-Za-z0-9 _.-]*")
OWN = 20
"""Bytes reserved for the case's own name: a name longer than a canary keeps its size and its end."""
LONG = 30
"""Size in bytes from which a name keeps its size."""
SLACK = 20_000_000_000
"""Nanoseconds that a play may take before it asks for a remaining time."""


class Naming:
    """The names of one script in a case."""

    def __init__(self, context: FuzzContext) -> None:
        self._context = context
        self._spoken = context.symbols.protocol
        self._called: dict[bytes, str] = {}
        self._used: dict[str, dict[bytes, None]] = {}
        self._saved_names: dict[bytes, str] = {}

    def request(self, message: Message) -> object:
        """Return a request in the notation of `send`."""
        for field in self._spoken.named_by & set(message.__struct_fields__):
            self._used.setdefault(field, {})[getattr(message, field)] = None
        fields = {
            field: self._value(field, getattr(message, field))
            for field, kind in self._context.symbols.codec.layout(type(message)).fields
            if not isinstance(kind, Absent)
        }
        return {message.NAME: fields} if fields else message.NAME

    def literal(self, message: Message) -> object:
        """Return a request with all names unchanged, for a single frame."""
        fields = {
            field: self._blob(value) if isinstance(value := getattr(message, field), bytes) else value
            for field in message.__struct_fields__
        }
        return {message.NAME: fields} if fields else message.NAME

    def reply(self, message: Message, called: str = "") -> object:
        """Return the pattern of `expect` for a reply: what every conforming server would answer.

        `called` is the connection. Tokens that later requests repeat are saved.
        """
        for alias, (name, fields) in self._spoken.aliases.items():
            if name == message.NAME and all(getattr(message, field) == one for field, one in fields.items()):
                return alias
        found = {**self.fields(message), **self._saved(message, called)}
        return {message.NAME: found} if found else message.NAME

    def _saved(self, message: Message, called: str) -> dict[str, object]:
        found: dict[str, object] = {}
        for field in message.__struct_fields__:
            value = getattr(message, field)
            if (
                self._context.by_state
                and isinstance(value, bytes)
                and (field, len(value)) in self._context.token_fields
            ):
                self._saved_names[value] = f"{called}_{field}"
                found[field] = {"save": self._saved_names[value]}
        return found

    def fields(self, message: Message) -> Mapping[str, object]:
        """Return field -> pattern for the fields that are equal on all conforming servers."""
        found: dict[str, object] = {}
        for field, kind in self._context.symbols.codec.layout(type(message)).fields:
            value = getattr(message, field)
            if isinstance(kind, Repeated):
                found["rows"] = self._table([row for part in value for row in part.rows])
            elif isinstance(kind, Rows):
                found[field] = {"count": len(value)}
            elif isinstance(value, Message):
                found[field] = self.reply(value)
            elif field in self._spoken.time_left:
                found[field] = self._time_left(message, field)
            elif field not in self._spoken.masked and not isinstance(kind, Absent):
                found[field] = self._value(field, value)
        return {field: matcher for field, matcher in found.items() if matcher != {}}

    def _table(self, rows: Iterable[Message]) -> dict[str, object]:
        """Return the pattern of a table: it contains the rows of the script's names and excludes its other names."""
        present, contains = set(), []
        for row in rows:
            for field in self._spoken.named_by & set(row.__struct_fields__):
                name = getattr(row, field)
                if name in self._used.get(field, {}):
                    present.add((field, name))
                    contains.append(dict(self.fields(row)))
        fields = {field for row in rows for field in self._spoken.named_by & set(row.__struct_fields__)}
        lacking = [
            {field: self._value(field, name)}
            for field in sorted(fields)
            for name in self._used.get(field, {})
            if (field, name) not in present
        ]
        return {key: found for key, found in (("contains", contains), ("excludes", lacking)) if found}

    def _time_left(self, message: Message, field: str) -> dict[str, object]:
        unit, lengths = self._spoken.time_left[field]
        value, length = getattr(message, field), lengths.get(getattr(message, unit), 1)
        least = value - -(-SLACK // length)
        return {"between": [least, value]} if least > 0 else {"at_most": value}

    def _value(self, field: str, value: object) -> object:
        if isinstance(value, bytes) and value in self._saved_names:
            return f"@{self._saved_names[value]}"
        if isinstance(value, bytes):
            own = field in self._spoken.named_by and not self._context.by_state
            return self._name(value) if own else self._blob(value)
        names = self._spoken.names.get(field)
        if names is not None and isinstance(value, int) and value in list(names):
            return names(value).name.lower()
        return value

    def _name(self, data: bytes) -> object:
        if not data:
            return ""
        found = CANARY.search(data)
        own = found[0] if found else data
        called = self._called.setdefault(own, f"$m{len(self._called) + 1}")
        if len(data) >= LONG:
            return {"join": [{"fill": 0, "size": OWN, "prefix": called}, self._blob(data[OWN:])]}
        rest = data.replace(own, b"", 1) if found else b""
        return {"join": [called, self._blob(rest)]} if rest else called

    def _blob(self, data: bytes) -> object:
        """Return the notation of any bytes; requests inside them as messages, so that they share names."""
        inner, whole = self._context.requests(data)
        if whole and inner and CANARY.search(data):
            return {"join": [{"message": self.request(one)} for one in inner]}
        if len(data) > 8 and len(set(data)) == 1:
            return {"fill": data[0], "size": len(data)}
        if PLAIN.fullmatch(data) and data != b"any":
            return data.decode()
        return {"hex": data.hex()} if data else ""
