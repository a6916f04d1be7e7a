"""What a connection was answered, reduced to what two conforming servers must agree on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from wireproof.conformance.model.wording import describe
from wireproof.fuzz.live.canaries import canaries_in
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.exchanges import BY_TARGET, PlayedConnection
from wireproof.protocols import Message, Push
from wireproof.protocols.fields import Absent, Repeated, Rows

__all__ = ["ComparedAnswer", "ConnectionView", "TimeUntilExpiry", "view_of"]

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
    """Names of the requests, as this server's profile decodes them."""
    answers: tuple[ComparedAnswer, ...]
    pushes: tuple[ComparedAnswer, ...]
    end: str
    """What follows the last answer: CLOSED, SILENT or NOTHING."""
    cut: bool
    """Whether a missing answer means nothing: the script ended it, TLS follows, or its bytes are ambiguous."""


def view_of(line: PlayedConnection) -> ConnectionView:
    """Return the view of one connection; pushes without fields are left out, because a clock triggers them."""
    answers, pushes, own = list[ComparedAnswer](), list[ComparedAnswer](), canaries_in(bytes(line.sent))
    for message, _ in line.messages:
        if not isinstance(message, Push):
            answers.append(_compared_answer(message, line.context, own))
        elif message.__struct_fields__:
            pushes.append(_compared_answer(message, line.context, own))
    in_tls = line.turns_to_tls
    if line.broken is not None and not in_tls:
        answers.append(ComparedAnswer(f"no reply ({line.broken.code})", {}, line.broken.message, line.broken.clause))
    asked = tuple(request.NAME for request in line.requests)
    due = line.due > 0 and len(asked) > len(answers)
    end = CLOSED if line.ended in BY_TARGET else SILENT if due else NOTHING
    closed = line.ended is not None and line.ended not in BY_TARGET
    cut = closed or in_tls or line.broken is not None or line.is_ambiguous
    return ConnectionView(asked, tuple(answers), tuple(pushes), end, cut)


def _compared_answer(message: Message, context: FuzzContext, own: set[bytes]) -> ComparedAnswer:
    return ComparedAnswer(message.NAME, dict(_compared(message, context, own)), describe(message))


def _compared(message: Message, context: FuzzContext, own: set[bytes]) -> Iterator[tuple[str, object]]:
    """Yield (field, value) for the compared fields; of tables only the rows about names that the connection sent."""
    spoken = context.symbols.protocol
    for field, kind in context.symbols.codec.layout(type(message)).fields:
        value = getattr(message, field)
        if isinstance(kind, Repeated):
            rows = [row for part in value for row in part.rows if _is_own(row, own, spoken.named_by)]
            yield "rows", sorted((tuple(_row(row, context)) for row in rows), key=repr)
        elif isinstance(kind, Rows):
            yield field, len(value)
        elif isinstance(value, Message):
            yield field, value.NAME
            yield from ((f"{field}.{name}", one) for name, one in _compared(value, context, own))
        elif field in spoken.time_left:
            unit, lengths = spoken.time_left[field]
            length = lengths.get(getattr(message, unit), 1)
            yield field, TimeUntilExpiry(value * length, length)
        elif field not in spoken.masked and not isinstance(kind, Absent):
            yield field, value


def _row(row: Message, context: FuzzContext) -> Iterator[tuple[str, object]]:
    spoken = context.symbols.protocol
    for field, kind in context.symbols.codec.layout(type(row)).fields:
        if field not in spoken.masked and field not in spoken.time_left and not isinstance(kind, Absent):
            yield field, getattr(row, field)


def _is_own(row: Message, own: set[bytes], named_by: frozenset[str]) -> bool:
    return any(canaries_in(getattr(row, field)) & own for field in named_by & set(row.__struct_fields__))
