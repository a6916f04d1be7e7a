"""Requests and pushes to try a driver with, made from the layouts alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from wireproof.protocols.fields import Atom, Blob, Constant, Kind, Raw, Rest, Rows, Split, Terminated, UInt, Word
from wireproof.protocols.messages import Message, Reply, declared_layout
from wireproof.protocols.plain import Plain

__all__ = ["Samples"]

Sampled = TypeVar("Sampled", bound=Message)

TEXT = b"wireproof-check"
BINARY = bytes([0, 255, 10, 13, 0x80, 0x22, 0x5C, 0])
"""Zero, newlines, a quote, a backslash, and what is no UTF-8."""
SOME = 60


@dataclass(slots=True)
class Samples:
    """Values for the fields of one protocol under one profile and variant."""

    plain: Plain
    most: Callable[[str, int], int] | None = None
    """The number for the first value of a request that is as wide as the variant, by its name and its size in bytes,
    where that is less than fits; None: an ordinary one."""
    binary: bool = False
    """Whether names and values are bytes of all kinds."""
    _seen: dict[tuple[str, int], bytes] = field(default_factory=dict)

    def of(self, message: type[Sampled]) -> Sampled:
        """Return a message of that class."""
        values = {name: self._value(message, name, kind) for name, kind in self.plain.layout(message).fields}
        wide = self.wide_fields(message)
        values.update(dict.fromkeys(wide, SOME))
        if wide and self.most is not None:
            values[wide[0]] = self.largest(message)
        return message(**values)

    def largest(self, message: type[Message]) -> int:
        """Return the number for the first wide value of `message`; 0 when it has none."""
        wide = self.wide_fields(message)
        kind = dict(self.plain.layout(message).fields)[wide[0]] if wide else None
        if not isinstance(kind, UInt):
            return 0
        return min(kind.maximum, self.most(wide[0], kind.width)) if self.most else kind.maximum

    def wide_fields(self, message: type[Message]) -> list[str]:
        """Return the numbers of `message` that are as wide as the variant."""
        words = self.plain.protocol.names
        return [
            name
            for name, kind in declared_layout(message).items()
            if isinstance(kind, UInt) and isinstance(kind.size, str) and name not in words
        ]

    def named_field(self, message: type[Message]) -> str | None:
        """Return the first field of `message` that names a record or channel; None when it has none."""
        known = self.plain.protocol.named_by
        return next((name for name, _ in self.plain.layout(message).fields if name in known), None)

    def learn(self, reply: Reply) -> None:
        """Remember ids that a server gave, for requests that ask by one."""
        for name, kind in self.plain.layout(type(reply)).fields:
            if isinstance(kind, Raw):
                self._seen[name, kind.size] = getattr(reply, name)

    def _value(self, message: type[Message], name: str, kind: Kind) -> object:
        if isinstance(kind, Constant):
            return 0
        samples = self.plain.protocol.sdk.samples
        for key in (f"{message.NAME}.{name}", name):
            if key in samples:
                return samples[key]
        match kind:
            case Blob() | Split() | Rest() | Terminated():
                return BINARY if self.binary else TEXT
            case Raw(size):
                return self._seen.get((name, size), bytes(size))
            case Atom("text"):
                return BINARY if self.binary else TEXT
            case UInt() | Word() | Atom():
                words = self.plain.protocol.names.get(name)
                return sorted(words)[len(words) // 2] if words else 0
            case Rows(row):
                return (self.of(row),)
        return None
