"""What a connection was answered, reduced to what two conforming servers must agree on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from wireproof.conformance.model.wording import describe
from wireproof.fuzz.live.canaries import canaries_in
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.exchanges import BY_TARGET, PlayedConnection
from wireproof.protocols import Message, Push
from wireproof.protocols.fields import Absent, Repeated, Rows

__all__ = ["ChosenId", "ComparedAnswer", "ConnectionView", "TimeUntilExpiry", "view_of"]

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
    """A number that a server chose to identify something: which of them it is, in the order in which they came."""

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


def view_of(line: PlayedConnection) -> ConnectionView:
    """Return the view of one connection; pushes that a clock triggers are left out: those without fields, and pings."""
    answers, pushes = list[ComparedAnswer](), list[ComparedAnswer]()
    reader = _AnswerReader(line.context, canaries_in(bytes(line.sent)))
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

    def __init__(self, context: FuzzContext, own: set[bytes]) -> None:
        """`own`: the canaries that the connection sent."""
        self._context = context
        self._own = own
        self._chosen: dict[tuple[str, int], int] = {}
        """(what is identified, number) -> how many of them came before."""

    def answer(self, message: Message) -> ComparedAnswer:
        return ComparedAnswer(message.NAME, dict(self._compared(message)), describe(message))

    def _compared(self, message: Message) -> Iterator[tuple[str, object]]:
        """Yield (field, value) for the compared fields; of tables only rows about names that the connection sent."""
        spoken = self._context.symbols.protocol
        for name, kind in self._context.symbols.codec.layout(type(message)).fields:
            value = getattr(message, name)
            if isinstance(kind, Repeated):
                rows = [row for part in value for row in part.rows if _is_own(row, self._own, spoken.named_by)]
                yield "rows", sorted((tuple(_row(row, self._context)) for row in rows), key=repr)
            elif isinstance(kind, Rows):
                yield name, len(value)
            elif isinstance(value, Message):
                yield name, value.NAME
                yield from ((f"{name}.{inner}", one) for inner, one in self._compared(value))
            elif name in spoken.time_left:
                unit, lengths = spoken.time_left[name]
                length = lengths.get(getattr(message, unit), 1)
                yield name, TimeUntilExpiry(value * length, length)
            elif (what := spoken.chosen_ids.get(f"{message.NAME}.{name}")) is not None:
                number = self._chosen.setdefault((what, value), len(self._chosen))
                yield name, ChosenId(number, f"{value} ({what} {number + 1} that came)")
            elif name not in spoken.masked and not isinstance(kind, Absent):
                yield name, value


def _row(row: Message, context: FuzzContext) -> Iterator[tuple[str, object]]:
    spoken = context.symbols.protocol
    for name, kind in context.symbols.codec.layout(type(row)).fields:
        if name not in spoken.masked and name not in spoken.time_left and not isinstance(kind, Absent):
            yield name, getattr(row, name)


def _is_own(row: Message, own: set[bytes], named_by: frozenset[str]) -> bool:
    return any(canaries_in(getattr(row, field)) & own for field in named_by & set(row.__struct_fields__))
