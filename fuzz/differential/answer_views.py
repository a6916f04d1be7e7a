"""What a connection was answered, reduced to what two conforming servers must agree on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from wireproof.conformance.model.wording import describe
from wireproof.fuzz.differential.json_payloads import body_in
from wireproof.fuzz.live.canaries import canaries_in
from wireproof.fuzz.live.exchanges import BY_TARGET, PlayedConnection
from wireproof.fuzz.live.token_substitution import tokens_in
from wireproof.protocols import Message, Push
from wireproof.protocols.fields import Absent, JsonRows, Lines, Repeated, Rows

__all__ = ["ChosenId", "ComparedAnswer", "ConnectionView", "TimeUntilExpiry", "views_of"]

CLOSED, SILENT, NOTHING = "the connection is closed", "no answer", "nothing"


@dataclass(frozen=True, slots=True)
class TimeUntilExpiry:
    """A remaining time, which shrinks while a script is played; `unit` is its resolution in ns."""

    nanoseconds: int
    unit: int

    def __str__(self) -> str:
        return f"{self.nanoseconds / 1e9:g} s"

    def agrees(self, other: TimeUntilExpiry) -> bool:
        """Return whether both may mean the same instant: plays begin at different times and servers round."""
        slack = 2_000_000_000 + max(self.unit, other.unit)
        return abs(self.nanoseconds - other.nanoseconds) <= slack


@dataclass(frozen=True, slots=True)
class ChosenId:
    """What a server chose to identify something: which of them it is, in the order in which they came."""

    number: int
    text: str = field(compare=False)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class ComparedAnswer:
    """One answer: its kind, the fields that are compared, its text."""

    kind: str
    fields: Mapping[str, object]
    text: str
    clause: str | None = None
    """The clause that is broken, if the bytes are no valid answer."""


@dataclass(frozen=True, slots=True)
class ConnectionView:
    """One connection as one server answered it."""

    asked: tuple[str, ...]
    """Names of the requests that have replies, as this server's profile decodes them."""
    answers: tuple[ComparedAnswer, ...]
    pushes: tuple[ComparedAnswer, ...]
    end: str
    """What follows the last answer: CLOSED, SILENT or NOTHING."""
    cut: bool
    """Whether a missing answer means nothing: the script ended it, TLS follows, or its bytes are ambiguous."""


def views_of(lines: Sequence[PlayedConnection]) -> list[ConnectionView]:
    """Return the view of each connection of a play."""
    granted, sent = _granted(lines), [line.sent for line in lines]
    return [_view(line, granted, sent) for line in lines]


def _granted(lines: Sequence[PlayedConnection]) -> dict[bytes, ChosenId]:
    """Return the ids that a server gave to clients that sent none; the connection tells which of them it is.

    Tokens that scripts repeat are among them: names may be made of them, in hexadecimal, too.
    """
    found = dict[bytes, ChosenId]()
    for number, line in enumerate(lines, start=1):
        for token in (one for message, _ in line.messages for one in tokens_in(message, line.context.token_fields)):
            chosen = ChosenId(number, f"{token.hex()} (the token of connection {number})")
            found.setdefault(token, chosen)
            found.setdefault(token.hex().encode(), chosen)
        known = line.context.symbols.protocol.granted_ids
        for message, _ in line.messages if known else ():
            for name, kind in ((name, known.get(f"{message.NAME}.{name}")) for name in message.__struct_fields__):
                value = getattr(message, name)
                if kind is not None and isinstance(value, bytes) and value not in line.sent:
                    found.setdefault(value, ChosenId(number, f"{describe(value)} (the {kind} of connection {number})"))
    return found


def _view(
    line: PlayedConnection, granted: Mapping[bytes, ChosenId], sent: Sequence[bytes | bytearray]
) -> ConnectionView:
    """Return the view of one connection; pushes that a clock triggers are left out: those without fields, and pings."""
    answers, pushes = list[ComparedAnswer](), list[ComparedAnswer]()
    reader = _AnswerReader(line, granted, sent)
    for message, _ in line.messages:
        if not isinstance(message, Push):
            answers.append(reader.answer(message))
        elif message.__struct_fields__ and type(message) not in line.link.anytime:
            pushes.append(reader.answer(message))
    in_tls = line.turns_to_tls
    if line.broken is not None and not in_tls:
        answers.append(ComparedAnswer(f"no reply ({line.broken.code})", {}, line.broken.message, line.broken.clause))
    asked = tuple(request.NAME for request in line.answerable)
    due = line.due > 0 and len(asked) > len(answers)
    end = CLOSED if line.ended in BY_TARGET else SILENT if due else NOTHING
    closed = line.ended is not None and line.ended not in BY_TARGET
    cut = closed or in_tls or line.broken is not None or line.is_ambiguous
    return ConnectionView(asked, tuple(answers), tuple(pushes), end, cut)


class _AnswerReader:
    """Reads the messages of one connection, in their order."""

    def __init__(
        self, line: PlayedConnection, granted: Mapping[bytes, ChosenId], sent: Sequence[bytes | bytearray]
    ) -> None:
        self._line = line
        self._context = line.context
        self._own = canaries_in(line.sent)
        """The canaries that the connection sent."""
        self._granted = granted
        self._sent = sent
        """What each connection of the play sent."""
        self._chosen: dict[tuple[str, int], int] = {}
        """(what is identified, number) -> how many of them came before."""

    def answer(self, message: Message) -> ComparedAnswer:
        return ComparedAnswer(message.NAME, dict(self._compared(message)), describe(message))

    def _compared(self, message: Message) -> Iterator[tuple[str, object]]:
        """Yield (field, value) for the compared fields; of tables only rows about names that the connection sent."""
        spoken = self._context.symbols.protocol
        for name, kind in self._context.symbols.codec.layout(type(message)).fields:
            value = getattr(message, name)
            if isinstance(kind, Repeated | JsonRows):
                rows = [row for part in value for row in (part.rows if isinstance(kind, Repeated) else [part])]
                own = [row for row in rows if self._is_own(row)]
                yield "rows", sorted((tuple(self._row(row)) for row in own), key=repr)
            elif isinstance(kind, Lines):
                yield name, _by_name(value)
            elif isinstance(kind, Rows):
                yield name, len(value)
            elif isinstance(value, Message):
                yield name, value.NAME
                yield from ((f"{name}.{inner}", one) for inner, one in self._compared(value))
            elif name in spoken.time_left:
                unit, lengths = spoken.time_left[name]
                length = lengths.get(getattr(message, unit), 1)
                yield name, TimeUntilExpiry(value * length, length)
            elif value is not None and (what := spoken.chosen_ids.get(f"{message.NAME}.{name}")) is not None:
                number = self._chosen.setdefault((what, value), len(self._chosen))
                yield name, ChosenId(number, f"{value} ({what} {number + 1} that came)")
            elif isinstance(value, bytes) and (body := self._body(value)) is not None:
                yield name, body.NAME
                yield from ((f"{name}.{inner}", one) for inner, one in self._compared(body))
            elif name not in spoken.masked and not isinstance(kind, Absent):
                yield name, self._with_granted(value)

    def _with_granted(self, value: object) -> object:
        return self._granted.get(value, value) if isinstance(value, bytes) else value

    def _row(self, row: Message) -> Iterator[tuple[str, object]]:
        spoken = self._context.symbols.protocol
        for name, kind in self._context.symbols.codec.layout(type(row)).fields:
            if name not in spoken.masked and name not in spoken.time_left and not isinstance(kind, Absent):
                yield name, self._with_granted(getattr(row, name))

    def _body(self, value: bytes) -> Message | None:
        """Return the JSON value that a payload is, unless a client sent it: then its bytes count."""
        body = body_in(value, self._context.symbols.codec)
        return None if body is None or any(value in one for one in self._sent) else body

    def _is_own(self, row: Message) -> bool:
        """Return whether a row is about a name that the connection sent; in JSON any text may be one."""
        codec, spoken = self._context.symbols.codec, self._context.symbols.protocol
        if codec.layout(type(row)).is_json:
            texts = (getattr(row, one) for one in row.__struct_fields__)
            return any(one in self._line.sent for one in texts if isinstance(one, bytes) and one)
        named_by = spoken.named_by & set(row.__struct_fields__)
        return any(canaries_in(getattr(row, one)) & self._own for one in named_by)


def _by_name(headers: Sequence[Message]) -> list[tuple[bytes, list[bytes]]]:
    """Return the values of each header, whose names differ in case and order."""
    found: dict[bytes, list[bytes]] = {}
    for name, value in (msgspec.structs.astuple(one) for one in headers):
        found.setdefault(name.lower(), []).append(value)
    return sorted(found.items())
