"""The invariant of writing: a request with another value in one field is refused by name, or read as the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.protocols import LocalProtocolError, Message, NeedData, RemoteProtocolError
from wireproof.protocols.errors import ErrorCode
from wireproof.protocols.fields import (
    Absent,
    Atom,
    Blob,
    Constant,
    Flag,
    Lines,
    Raw,
    Rest,
    Split,
    Terminated,
    UInt,
    Word,
)

__all__ = ["check_redrawn"]

Decode = Callable[[bytes], Message | NeedData | None]
"""Reads what was written; returns None for what may mean another thing, `NEED_DATA` for what is not whole.

Raises `RemoteProtocolError`."""
BORDERS = (252, 253, 254, 255, 256, 127, 128, 65_535)
"""Sizes next to which a size is written in another form in some protocol, or has another sign."""
END = b"\r\n"
"""What ends lines."""


def check_redrawn(codec: Any, message: Message, decode: Decode, source: bytes) -> None:
    """Change the fields of a message by the bytes of `source` and encode it: refused by name, or read as the same.

    Values beyond a field must be refused. Raises `InvariantError`.
    """
    everything = codec.layout(type(message)).fields
    fields = [(name, kind) for name, kind in everything if not isinstance(kind, Absent | Constant)]
    if not fields:
        return
    name, kind = fields[source[0] % len(fields)]
    value, fits = _redrawn(kind, getattr(message, name), source)
    changed = msgspec.structs.replace(message, **{name: value})
    try:
        data = codec.encode(changed)
    except LocalProtocolError as error:
        where = f"{message.NAME}.{name}"
        if fits:
            detail = f"{where} = {value!r} is refused"[:300]
            raise InvariantError("every value of a field can be written", detail, where) from None
        if isinstance(kind, UInt | Flag | Raw) and fits is False and where not in str(error):
            detail = f"{where} = {value!r} is refused by: {error}"[:300]
            raise InvariantError("a refusal names the field", detail, where) from None
        return
    again = None if fits is False or not _is_itself(codec, message, decode) else _read(decode, data, kind)
    if type(again) is not type(changed) and isinstance(kind, UInt):
        again = None  # of some messages a number says which one they are
    if fits is False or (again is not None and again != changed):
        detail = f"{message.NAME}.{name} = {value!r} is written as {data.hex()}"[:300]
        what = "what cannot be written is refused" if fits is False else "decode(encode(message)) is message"
        raise InvariantError(what, detail if fits is False else f"{detail}, read as {again!r}"[:600], message.NAME)


def _is_itself(codec: Any, message: Message, decode: Decode) -> bool:
    """Return whether a message is read as itself; values that are written may make it another one, or none."""
    try:
        return decode(codec.encode(message)) == message
    except RemoteProtocolError:
        return False


def _read(decode: Decode, data: bytes, kind: object) -> Message | NeedData | None:
    """Return what is read; None where a number makes it another message, which its bytes are too few for."""
    try:
        return decode(data)
    except RemoteProtocolError as error:
        if isinstance(kind, UInt) and error.code == ErrorCode.TRUNCATED:
            return None
        raise


def _redrawn(kind: object, value: Any, source: bytes) -> tuple[object, bool | None]:
    """Return a value for a field and whether it can be written; None: the codec decides, but must be consistent."""
    which, other, rest = source[1] % 6, source[1] // 6, source[2:]
    match kind:
        case UInt():
            value = _edge(kind, which, rest)
            return value, kind.minimum <= value <= kind.maximum
        case Word() | Atom("number" | "time"):
            value = _edge(kind, which, rest)  # whether it stands there may depend on the field before it
            return value, None if kind.minimum <= value <= kind.maximum else False
        case Atom():
            return (rest, b"", rest[:1], b'"' + rest, b"#|" + rest, rest * 3)[which], True
        case Flag():
            return (True, False, 1, None, 2, b"\1")[which], which < 2
        case Raw(size):
            sizes = (size, size, size + 1, max(size - 1, 0), 0, size)
            data = (rest * (size + 1))[: sizes[which]] if rest else bytes(sizes[which])
            return data, len(data) == size
        case Blob(width):
            at_border = min(BORDERS[other % len(BORDERS)], width.maximum)
            sizes = (len(rest), 0, min(width.maximum, 1 << 16), min(width.maximum + 1, 1 << 17), at_border, 3)
            size = sizes[which]
            return (rest * (size // len(rest) + 1))[:size] if rest else bytes(size), size <= width.maximum
        case Lines(row):
            return _lines(row, value, which, rest[:1] + END + rest[1:] if other % 2 else rest)
        case Split() | Terminated() | Rest():
            return (rest, rest + b"\0x", b"", b"\0", rest[:1], rest.replace(b"\0", b"/"))[which], None
    return value, None


def _lines(row: type[Message], value: tuple[Any, ...], which: int, rest: bytes) -> tuple[object, bool | None]:
    """Return lines: none, without a value, with any, the same name twice, without a name, and and any before others."""
    name = b"%d" % len(rest)
    lines = (
        (),
        (row(name, b""), *value),
        (row(name, rest),),
        (row(name, b"1"), row(name, b"2"), *value),
        (row(b"", rest),),
        (row(rest, name), *value),
    )[which]
    return lines, None if which in (2, 5) else which != 4


def _edge(kind: UInt | Atom | Word, which: int, rest: bytes) -> int:
    """Return a number at an edge of what a kind can hold, or near its largest one."""
    least, most = kind.minimum, kind.maximum
    return (least, 1, most, most + 1, least - 1, most ^ int.from_bytes(rest[:8]) % 256)[which]
