"""What a step of an SDK's case says, made concrete: requests to ask, and bytes to answer them with, cut as told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from wireproof.conformance.suite.symbolic import message_of, value_of
from wireproof.conformance.suite.symbols import SymbolError, Symbols
from wireproof.conformance.suite.values import Hex
from wireproof.conformance.suite.written import as_written
from wireproof.protocols import Layout, Message, Push
from wireproof.protocols.fields import Blob, Kind, Nested, Repeated, Rest, Rows, Split, Terminated
from wireproof.protocols.messages import Request
from wireproof.protocols.profile import fixed_size

__all__ = ["ReplyPiece", "ReplyScript", "field_at", "marks", "segments"]

BEHIND = Split | Terminated | Rest
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
        self.codec = symbols.codec

    def requests(self, spec: Any) -> list[Request]:
        """Return the requests that `ask` names, whether or not they fit on the wire.

        Raises `SymbolError` for a message that is not a request.
        """
        found = []
        for one in self._listed(spec):
            message = self._message(one)
            if not isinstance(message, Request):
                raise SymbolError(f"ask: expected requests, got {message.NAME}")
            found.append(message)
        return found

    def pieces(self, spec: Any) -> list[ReplyPiece]:
        """Return what `answer` or `say` names."""
        return [piece for one in self._listed(spec) for piece in self._pieces(one)]

    def data(self, spec: Any) -> bytes:
        """Return bytes of a step."""
        return self._symbols.data(value_of(spec))

    def number(self, spec: Any, what: str) -> float:
        """Return a number of a step."""
        return float(self._symbols.number(spec, what))

    def text(self, spec: Any) -> Any:
        """Return a word of a step, a variable's value where it is the name of one."""
        return self._symbols.variables.get(spec, spec) if isinstance(spec, str) else spec

    def cut(self, spec: Any) -> Any:
        """Return how to cut, as `segments` takes it."""
        match spec:
            case {"at": at, **rest} if not rest:
                return {"at": int(self.number(at, "at"))}
        return self.text(spec)

    def _listed(self, spec: Any) -> list[Any]:
        return list(_spread(spec if isinstance(spec, list) else [spec]))

    def _pieces(self, spec: Any) -> list[ReplyPiece]:
        match spec:
            case {"slowly": inner, "at": at, "pause": seconds}:
                whole, cut = self._piece(inner), int(self.number(at, "at"))
                first = ReplyPiece(whole.data[:cut], is_pushed=whole.is_pushed)
                pause = ReplyPiece(pause=self.number(seconds, "pause"))
                return [first, pause, ReplyPiece(whole.data[cut:], whole.message, is_pushed=whole.is_pushed)]
        return [self._piece(spec)]

    def _piece(self, spec: Any) -> ReplyPiece:
        match self._symbols.filled(spec) if isinstance(spec, str) else spec:
            case "close" | "reset" as spec:
                return ReplyPiece(end=spec)
            case {"pause": seconds}:
                return ReplyPiece(pause=self.number(seconds, "pause"))
            case {"raw": text}:
                return ReplyPiece(self._symbols.data(Hex(text)))
            case {"part": inner, "size": size}:
                whole = self._piece(inner)
                return ReplyPiece(whole.data[: int(self.number(size, "size"))], is_pushed=whole.is_pushed)
            case {"push": fields}:
                return self._whole(self._push(fields))
        return self._whole(self._message(spec))

    def _whole(self, message: Message) -> ReplyPiece:
        borders = tuple(marks(self.codec, message))
        return ReplyPiece(self.codec.encode(message), message, borders, is_pushed=isinstance(message, Push))

    def _push(self, fields: Any) -> Message:
        kind = self.codec.profile.pushes[0]
        known = {name for name, _ in self.codec.layout(kind).fields}
        given = {name: value_of(one) for name, one in fields.items() if name in known}
        return self._symbols.build(kind, given, "push")

    def _message(self, spec: Any) -> Message:
        said = message_of(spec)
        name, fields = said.name, {key: as_written(one) for key, one in said.fields.items()}
        name = self._symbols.filled(name)
        if any(isinstance(one, dict | list) or name == "*" for name, one in fields.items()):
            fields = self._filled(name, fields)
        return self._symbols.message(message_of({name: fields} if fields else name))

    def _filled(self, name: str, fields: Any) -> Any:
        """Return fields with `{each: …, of: …}` spread in tables, and the numbers of `"*": {from: n}` counted up."""
        found = {key: _deep(one) for key, one in fields.items()}
        if isinstance(found.get("*"), dict):
            first = int(self.number(found.pop("*")["from"], "from"))
            layout = self.codec.layout(self._symbols.message_class(name)).fields
            left = [key for key, _ in layout if key not in found]
            found.update({key: first + at for at, key in enumerate(left)})
        return found


def _deep(spec: Any) -> Any:
    if isinstance(spec, list):
        return [_deep(one) for one in _spread(spec)]
    if isinstance(spec, dict):
        return {key: _deep(one) for key, one in spec.items()}
    return spec


def _spread(specs: Sequence[Any]) -> Iterator[Any]:
    """Yield what `{each: {i: [1, 3]}, of: X}` stands for: X, with `i` and `{i}` in its texts filled in."""
    for spec in specs:
        match spec:
            case {"each": ranges, "of": inner}:
                ((name, (first, last)),) = ranges.items()
                for number in range(int(first), int(last) + 1):
                    yield from _spread([_with(inner, name, number)])
            case {"times": times, "of": inner}:
                for _ in range(int(times)):
                    yield from _spread([inner])
            case _:
                yield spec


def _with(spec: Any, name: str, number: int) -> Any:
    match spec:
        case str():
            return number if spec == name else spec.replace(f"{{{name}}}", str(number))
        case list():
            return [_with(one, name, number) for one in spec]
        case dict():
            return {key: _with(one, name, number) for key, one in spec.items()}
    return spec


def marks(codec: Any, message: Message, start: int = 0) -> list[int]:
    """Return the offsets at which a field of `message` begins or ends, those within its tables too."""
    layout: Layout = codec.layout(type(message))
    at = start + len(layout.lead)
    found = [at] if layout.lead else []
    if any(isinstance(kind, BEHIND) for _, kind in layout.fields):
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


def field_at(codec: Any, message: Message, at: int) -> str:
    """Return the field in which byte `at` of a message without tables lies: `type` first, `key_size` before `key`."""
    layout = codec.layout(type(message))
    fields = layout.fields
    if any(isinstance(kind, BEHIND) for _, kind in fields):
        inside = [one for one in layout.places(message) if one.start <= at]
        sized = isinstance(dict(fields)[inside[-1].field], Split) if inside else False
        return f"{inside[-1].field}{'_size' * (sized and not inside[-1].body)}" if inside else "type"
    blobs = [name for name, kind in fields if isinstance(kind, Blob)]
    names = ["type", *(f"{name}_size" if isinstance(kind, Blob) else name for name, kind in fields), *blobs]
    place = sum(border <= at for border in marks(codec, message))
    return str(names[min(place, len(names) - 1)])


def _inner(codec: Any, kind: Kind, value: Any, at: int) -> list[int]:
    """Return the marks of what a table or a nested message holds; its fixed parts come first, all names behind them."""
    found: list[int] = []
    match kind:
        case Nested():
            found = marks(codec, value, at)
        case Repeated():
            for part in value:
                found += marks(codec, part, found[-1] if found else at)
        case Rows(row):
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


def segments(pieces: Sequence[ReplyPiece], cut: Any) -> tuple[bytes, ...]:
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
        case {"at": int(at)}:
            ends = {at if at >= 0 else len(data) + at}
        case _:
            raise SymbolError(f"cut: expected whole, bytes, fields, apart, a size or {{at: offset}}, got {cut!r}")
    borders = [0, *sorted(ends & set(range(1, len(data)))), len(data)]
    return tuple(data[first:last] for first, last in pairwise(borders) if last > first)
