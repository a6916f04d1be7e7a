"""What a step of an SDK's case says, made concrete: requests to ask, and the bytes of the answers, cut as it says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from wireproof.conformance.suite.sdk_steps import (
    Cut,
    CutAt,
    Pause,
    ScriptedBytes,
    ScriptedEach,
    ScriptedItem,
    ScriptedMessage,
    ScriptedPart,
    ScriptedSlowly,
    ScriptedTimes,
)
from wireproof.conformance.suite.symbols import SymbolError, Symbols
from wireproof.conformance.suite.values import Hex, SymbolicMessage, Value
from wireproof.conformance.suite.written import as_written
from wireproof.protocols import Layout, Message, Push
from wireproof.protocols.codec import Codec
from wireproof.protocols.fields import Blob, Kind, Nested, Repeated, Rest, Rows, Split, Terminated
from wireproof.protocols.messages import Request
from wireproof.protocols.profile import fixed_size

__all__ = ["ReplyPiece", "ReplyScript", "field_at", "marks", "segments"]

TRAILING = Split | Terminated | Rest
"""The kinds of fields that share a body, or stand where the one before them ends."""


@dataclass(frozen=True, slots=True)
class ReplyPiece:
    """One thing that the harness does while it answers."""

    data: bytes = b""
    message: Message | None = None
    """The whole reply or push that `data` is."""
    fields: tuple[int, ...] = ()
    """Offsets in `data` at which a field begins or ends."""
    pause: float | None = None
    end: str = ""
    """`close` or `reset`."""
    is_pushed: bool = False
    """Whether it is a push, or part of one."""


class ReplyScript:
    """Reads steps, for one case under one profile and variant."""

    def __init__(self, symbols: Symbols) -> None:
        self._symbols = symbols
        self.codec: Codec = symbols.codec

    def requests(self, spec: Iterable[ScriptedItem]) -> list[Request]:
        """Return the requests that `ask` names, whether or not they fit on the wire.

        Raises `SymbolError` for a message that is not a request.
        """
        found = []
        for one in self._spread(spec):
            if not isinstance(one, ScriptedMessage):
                raise SymbolError(f"ask: expected requests, got {as_written(one)!r}")
            message = self._message(one)
            if not isinstance(message, Request):
                raise SymbolError(f"ask: expected requests, got {message.NAME}")
            found.append(message)
        return found

    def pieces(self, spec: Iterable[ScriptedItem]) -> list[ReplyPiece]:
        """Return what `answer` or `say` names."""
        return [piece for one in self._spread(spec) for piece in self._pieces(one)]

    def data(self, spec: Value) -> bytes:
        """Return bytes of a step."""
        return self._symbols.data(spec)

    def number(self, spec: Value, what: str) -> float:
        """Return a number of a step."""
        return float(self._symbols.number(spec, what))

    def text(self, spec: Value) -> Value | bytes:
        """Return a word of a step, a variable's value where it is the name of one."""
        return self._symbols.variables.get(spec, spec) if isinstance(spec, str) else spec

    def cut(self, spec: Cut) -> Cut:
        """Return how to cut, as `segments` takes it; raises `SymbolError` for the name of a variable that is no cut."""
        if isinstance(spec, CutAt):
            return CutAt(self._symbols.integer(spec.at, "at"))
        found = self.text(spec)
        if not isinstance(found, str | int):
            raise SymbolError(f"cut: expected a word or a size, got {found!r}")
        return found

    def _spread(self, specs: Iterable[ScriptedItem]) -> Iterator[ScriptedItem]:
        """Yield what is sent one after the other; the variable of an `each` has its number while its item is used."""
        for spec in specs:
            match spec:
                case ScriptedEach(each, of):
                    for _ in self._symbols.numbers(each):
                        yield from self._spread((of,))
                case ScriptedTimes(times, of):
                    for _ in range(self._symbols.integer(times, "times")):
                        yield from self._spread((of,))
                case _:
                    yield spec

    def _pieces(self, spec: ScriptedItem) -> Iterator[ReplyPiece]:
        match spec:
            case ScriptedSlowly(inner, at, seconds):
                whole, cut = self._piece(inner), self._symbols.integer(at, "at")
                yield ReplyPiece(whole.data[:cut], is_pushed=whole.is_pushed)
                yield ReplyPiece(pause=self.number(seconds, "pause"))
                yield ReplyPiece(whole.data[cut:], whole.message, is_pushed=whole.is_pushed)
            case Pause(seconds):
                yield ReplyPiece(pause=self.number(seconds, "pause"))
            case ScriptedBytes(raw, scripted):
                data = self._symbols.data(Hex(raw) if isinstance(raw, str | int) else raw)
                message = None if scripted is None else self._piece(scripted).message
                yield ReplyPiece(data, message, is_pushed=isinstance(message, Push))
            case ScriptedMessage() | ScriptedPart():
                yield self._piece(spec)
            case _:
                raise SymbolError(f"expected what an SDK can be answered, got {as_written(spec)!r}")

    def _piece(self, spec: ScriptedMessage | ScriptedPart) -> ReplyPiece:
        if isinstance(spec, ScriptedPart):
            whole = self._piece(spec.part)
            return ReplyPiece(whole.data[: self._symbols.integer(spec.size, "size")], is_pushed=whole.is_pushed)
        name = self._symbols.filled(spec.name)
        if name in ("close", "reset"):
            return ReplyPiece(end=name)
        return self.whole(self._push(spec.fields) if name == "push" else self._message(spec))

    def save(self, name: str, value: bytes) -> None:
        """Save bytes for what follows in the case."""
        self._symbols.saved[name] = value

    def whole(self, message: Message) -> ReplyPiece:
        """Return a reply or push as a piece."""
        borders = tuple(marks(self.codec, message))
        return ReplyPiece(self.codec.encode(message), message, borders, is_pushed=isinstance(message, Push))

    def _push(self, fields: Mapping[str, Value]) -> Message:
        own = self._symbols.protocol.sdk.own
        kind = next(one for one in self.codec.profile.pushes if one not in own)
        known = {name for name, _ in self.codec.layout(kind).fields}
        return self._symbols.build(kind, {name: one for name, one in fields.items() if name in known}, "push")

    def _message(self, scripted: ScriptedMessage) -> Message:
        return self._symbols.message(SymbolicMessage(self._symbols.filled(scripted.name), scripted.fields))


def marks(codec: Codec, message: Message, start: int = 0) -> list[int]:
    """Return the offsets at which a field of `message` begins or ends, those within its tables too."""
    layout: Layout = codec.layout(type(message))
    at = start + layout.size + len(layout.lead)
    found = [one for one in (start + layout.size, at) if one > start]
    if layout.is_packed or layout.is_sexp:
        return sorted({start + each for one in layout.places(message) for each in (one.start, one.stop)} - {start})
    if any(isinstance(kind, TRAILING) for _, kind in layout.fields):
        return found + [start + each for one in layout.places(message) for each in (one.start, one.stop)][1:]
    for name, kind in layout.fields:
        at += fixed_size(kind)
        found.append(at)
        inner = _inner(codec, kind, getattr(message, name), at)
        found += inner
        at = inner[-1] if inner else at
    for name, kind in layout.fields:
        if isinstance(kind, Blob):
            at += len(getattr(message, name))
            found.append(at)
    return found


def field_at(codec: Codec, message: Message, at: int) -> str:
    """Return the field in which byte `at` of a message without tables lies: `type` first, `key_size` before `key`."""
    layout = codec.layout(type(message))
    fields = layout.fields
    if layout.is_packed:
        return next((one.field for one in reversed(layout.places(message)) if one.start <= at < one.stop), "type")
    if any(isinstance(kind, TRAILING) for _, kind in fields):
        inside = [one for one in layout.places(message) if one.start <= at]
        sized = isinstance(dict(fields)[inside[-1].field], Split) if inside else False
        return f"{inside[-1].field}{'_size' * (sized and not inside[-1].body)}" if inside else "type"
    blobs = [name for name, kind in fields if isinstance(kind, Blob)]
    names = ["type", *(f"{name}_size" if isinstance(kind, Blob) else name for name, kind in fields), *blobs]
    place = sum(border <= at for border in marks(codec, message))
    return str(names[min(place, len(names) - 1)])


def _inner(codec: Codec, kind: Kind, value: object, at: int) -> list[int]:
    """Return the marks of what a table or a nested message holds; its fixed parts come first, all names after them."""
    found: list[int] = []
    match kind, value:
        case Nested(), Message():
            found = marks(codec, value, at)
        case Repeated(), tuple():
            for part in value:
                found += marks(codec, part, found[-1] if found else at)
        case Rows(row), tuple():
            fields = codec.layout(row).fields
            for _ in value:
                for _, one in fields:
                    at += fixed_size(one)
                    found.append(at)
            for each in value:
                for name, one in fields:
                    if isinstance(one, Blob):
                        at += len(getattr(each, name))
                        found.append(at)
    return found


def segments(pieces: Sequence[ReplyPiece], cut: Cut) -> tuple[bytes, ...]:
    """Return the bytes of `pieces` in segments: `whole`, `bytes`, `fields`, `apart` (each piece), or so many bytes.

    Raises `SymbolError` for any other value of `cut`.
    """
    data = b"".join(one.data for one in pieces)
    starts = [sum(len(one.data) for one in pieces[:at]) for at in range(len(pieces))]
    match cut:
        case "whole":
            ends: set[int] = set()
        case "bytes":
            ends = set(range(1, len(data)))
        case "fields":
            ends = {start + mark for start, one in zip(starts, pieces, strict=True) for mark in one.fields}
        case "apart":
            ends = set(starts)
        case int() if cut > 0:
            ends = set(range(cut, len(data), cut))
        case CutAt(int(at)):
            ends = {at if at >= 0 else len(data) + at}
        case _:
            raise SymbolError(
                f"cut: expected whole, bytes, fields, apart, a size or {{at: offset}}, got {as_written(cut)!r}"
            )
    borders = [0, *sorted(ends & set(range(1, len(data)))), len(data)]
    return tuple(data[first:last] for first, last in pairwise(borders) if last > first)
