"""Turns a resolved flat `Layout` (fixed parts and blobs) into a decoder and an encoder, once, when a codec is built.

A decoder is `decode(buf, at, end, context) -> (message, stop)`, or `(None, need)` while fewer than `need` bytes of the
frame are there; it never reads past `end`, never keeps state (a table sent in parts keeps its progress in `context`)
and raises `MalformedFrameError` only. An encoder is `encode(message) -> bytes` and raises `LocalProtocolError` only.
Both are generated source (one precompiled `struct`, no loop), so derived is as fast as written by hand.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from types import CodeType
from typing import Any, Literal

from wireproof.protocols.errors import ErrorCode, LocalProtocolError, MalformedFrameError
from wireproof.protocols.fields import (
    U8,
    Absent,
    Blob,
    Flag,
    Kind,
    Lines,
    Raw,
    Repeated,
    Rest,
    Rows,
    Split,
    Terminated,
    UInt,
)
from wireproof.protocols.messages import Message
from wireproof.protocols.profile import Layout

Decoder = Callable[[bytes, int, int, "FrameContext"], tuple[Any, int]]
Encoder = Callable[[Any], bytes]
ByteOrder = Literal["little", "big"]


@dataclass(slots=True)
class FrameContext:
    """What a decoder may know besides the bytes: the limit, the request being answered, progress in a long frame."""

    limit: int
    """Largest frame accepted, in bytes."""
    request: Message | None = None
    depth: int = 0
    """How many messages the one being decoded is nested in; each takes one byte before it."""
    seen: int = 0
    """Bytes of an unfinished `Repeated` frame already measured, counted from its start."""
    left: int = -1
    """Parts of it still to come; -1 before the count is known."""
    resume: Callable[[bytearray], int] | None = None
    """Measures that frame further: its bytes gathered so far -> bytes needed for another look."""

    def reset(self) -> None:
        """Forget the progress made in a frame, once it is whole."""
        self.seen, self.left, self.resume = 0, -1, None


def too_large(at: int, size: int, limit: int) -> MalformedFrameError:
    """Return the error for a frame that announces `size` bytes where `limit` are allowed."""
    return MalformedFrameError(ErrorCode.FRAME_TOO_LARGE, f"expected at most {limit} bytes, got {size} announced", at)


def bad_flag(value: int, at: int) -> MalformedFrameError:
    """Return the error for a flag byte outside 00 and 01."""
    return MalformedFrameError(ErrorCode.BAD_STATUS, f"expected 00 or 01, got {value:02x}", at)


def unsplit(name: str, size: int, at: int) -> MalformedFrameError:
    """Return the error for a body in which no 00 ends the field `name`."""
    detail = f"{name}: expected a 00 after it within the {size} bytes announced, got none"
    return MalformedFrameError(ErrorCode.BAD_VALUE, detail, at)


def bad_value(message: Message, layout: Layout) -> LocalProtocolError:
    """Return the error that names the first field of `message` its layout cannot carry."""
    if type(message) is not layout.message:
        detail = f"expected {layout.message.NAME}, got {shown(message)}"
        return LocalProtocolError(ErrorCode.BAD_VALUE, detail)
    wrong = [(name, kind) for name, kind in layout.fields if not _carries(kind, getattr(message, name))]
    if not wrong:
        return LocalProtocolError(
            ErrorCode.BAD_VALUE, f"{message.NAME}: expected fewer bytes than its size field can count"
        )
    name, kind = wrong[0]
    detail = f"{message.NAME}.{name}: expected {_expected(kind)}, got {shown(getattr(message, name))}"
    return LocalProtocolError(ErrorCode.BAD_VALUE, detail)


def shown(value: object) -> str:
    """Return a short text for any value, however large or deep."""
    match value:
        case None | bool() | float():
            return repr(value)
        case int() if value.bit_length() <= 64:
            return str(int(value))
        case bytes():
            return f"{len(value)} bytes"
    return f"a value of type {type(value).__name__}"


def _carries(kind: Kind, value: object) -> bool:
    match kind:
        case UInt():
            return isinstance(value, int) and kind.minimum <= value <= kind.maximum
        case Raw(size):
            return type(value) is bytes and len(value) == size
        case Blob(size):
            return type(value) is bytes and len(value) <= size.maximum
        case Split() | Terminated():
            return type(value) is bytes and b"\0" not in value
        case Rest():
            return type(value) is bytes
        case Flag():
            return isinstance(value, bool)
        case Rows() | Repeated():
            return type(value) is tuple
    return True


def _expected(kind: Kind) -> str:
    match kind:
        case UInt():
            return f"an integer from {kind.minimum} to {kind.maximum}"
        case Raw(size):
            return f"{size} bytes"
        case Blob(size):
            return f"at most {size.maximum} bytes"
        case Split() | Terminated():
            return "bytes without 00"
        case Rest():
            return "bytes"
        case Rows(part, _) | Repeated(part, _):
            return f"a tuple of {part.NAME}"
    return "True or False"


def _code(kind: Kind) -> str:
    match kind:
        case Lines():
            return ""
        case UInt():
            return kind.code
        case Blob(size) | Split(size) | Rows(_, size) | Repeated(_, size):
            return size.code
        case Raw(size):
            return f"{size}s"
        case Flag():
            return "B"
    return ""


def _wired(layout: Layout) -> list[tuple[str, Kind]]:
    return [(name, kind) for name, kind in layout.fields if not isinstance(kind, Absent)]


def header_struct(layout: Layout, byte_order: str, lead: str = "x") -> struct.Struct:
    """Return the precompiled struct of the fixed parts; the lead is skipped, or one value (`lead="s"`)."""
    skipped = f"{len(layout.lead)}{lead}" if layout.lead else ""
    return struct.Struct(byte_order + skipped + "".join(_code(kind) for _, kind in layout.fields))


@cache
def _compiled(owner: str, source: str) -> CodeType:
    return compile(source, f"<generated for {owner}>", "exec")


def build(name: str, owner: str, source: list[str], **scope: Any) -> Any:
    """Return the function `name` that the lines of `source` define, with `scope` as its globals.

    The compiled code is kept for each `owner` (a message's class): shared among several, the interpreter could not
    specialise it for the attributes of one.
    """
    exec(_compiled(owner, "\n".join(source)), scope)
    return scope[name]


@dataclass(frozen=True, slots=True)
class Reading:
    """Source that makes a message out of its unpacked fixed parts; `at` is their start, `body` where bodies begin."""

    targets: str
    """What `unpack` is assigned to."""
    checks: list[str]
    """Statements that refuse flags that are none."""
    bodies: list[str]
    """Statements that place the bodies."""
    cuts: list[str]
    """Statements that split bodies, once these are there."""
    values: str
    """The arguments of the message class."""
    stop: str
    """The variable that holds the end of the last body."""
    bounded: bool
    """No field can announce more than any frame limit allows."""

    @classmethod
    def of(cls, layout: Layout) -> Reading:
        """Return the reading of a flat layout."""
        targets, checks, bodies, cuts = [], [], [], []
        values: dict[str, str] = {}
        stop, cut, bounded, offset = "body", "", True, len(layout.lead)
        for name, kind in layout.fields:
            local = f"f_{name}"
            match kind:
                case Absent():
                    values[name] = "0"
                    continue
                case Flag():
                    checks.append(f"if {local} > 1: raise bad_flag({local}, at + {offset})")
                    values[name] = f"{local} == 1"
                case Blob(width):
                    start, stop = stop, f"stop_{name}"
                    bodies.append(f"{stop} = {start} + {local}")
                    bounded = bounded and width.width == 1
                    values[name] = f"buf[{start}:{stop}]"
                case Split():
                    start, stop, bounded, cut = stop, f"stop_{name}", False, f"cut_{name}"
                    bodies.append(f"{stop} = {start} + {local}")
                    cuts += [
                        f"{cut} = buf.find(0, {start}, {stop})",
                        f"if {cut} < 0: raise unsplit('{layout.message.NAME}.{name}', {local}, {start})",
                    ]
                    values[name] = f"buf[{start}:{cut}]"
                case Rest():
                    values[name] = f"buf[{cut} + 1:{stop}]"
                    continue
                case _:
                    values[name] = local
            targets.append(local)
            offset += struct.calcsize("<" + _code(kind))
        arguments = ", ".join(values[name] for name in layout.message.__struct_fields__)
        return cls("".join(f"{one}, " for one in targets), checks, bodies, cuts, arguments, stop, bounded)


def compile_decoder(layout: Layout, byte_order: str) -> Decoder:
    """Return the decoder of a flat layout."""
    header, reading = header_struct(layout, byte_order), Reading.of(layout)
    lines = [
        f"body = at + {header.size}",
        f"if body > end: return None, {header.size}",
    ]
    wired = _wired(layout)
    if [_code(kind) for _, kind in wired] == ["B"]:
        lines.append(f"f_{wired[0][0]} = buf[at + {len(layout.lead)}]")
    elif wired:
        lines.append(f"{reading.targets}= unpack(buf, at)")
    lines += [*reading.checks, *reading.bodies]
    if not reading.bounded:
        lines.append(f"if {reading.stop} - at > context.limit: raise too_large(at, {reading.stop} - at, context.limit)")
    if reading.bodies:
        lines.append(f"if {reading.stop} > end: return None, {reading.stop} - at")
    lines += [*reading.cuts, f"return cls({reading.values}), {reading.stop}"]
    source = ["def decode(buf, at, end, context):", *[f"    {line}" for line in lines]]
    scope = {"cls": layout.message, "unpack": header.unpack_from, "too_large": too_large, "bad_flag": bad_flag}
    decoder: Decoder = build("decode", layout.message.__name__, source, unsplit=unsplit, **scope)
    return decoder


def compile_encoder(layout: Layout, byte_order: str, *, row: bool = False) -> Any:
    """Return the encoder of a flat layout; that of a `row` checks its class and returns (fixed parts, bodies)."""
    number = len(layout.lead) == 1
    wrong, blobs, taken, values = [], [], [], [str(layout.lead[0])] if number else ["lead"] if layout.lead else []
    for name, kind in (wired := _wired(layout)):
        local = f"f_{name}"
        match kind:
            case Raw(size):
                wrong.append(f"type({local}) is not bytes or len({local}) != {size}")
            case Blob():
                wrong.append(f"type({local}) is not bytes")
                blobs.append(local)
            case Split():
                wrong.append(f"type({local}) is not bytes or 0 in {local}")
                blobs += [local, "zero"]
            case Rest():
                wrong.append(f"type({local}) is not bytes")
                blobs.append(local)
                values[-1] += f" + 1 + len({local})"
                taken.append(f"{local} = m.{name}")
                continue
            case Flag():
                wrong.append(f"{local} is not True and {local} is not False")
            case _:
                values.append(f"m.{name}")
                continue
        taken.append(f"{local} = m.{name}")
        values.append(f"len({local})" if isinstance(kind, Blob | Split) else local)
    lead = layout.lead[0] if number else layout.lead
    pack, heads = header_struct(layout, byte_order, lead="B" if number else "s").pack, []
    packed, bodies = f"pack({', '.join(values)})", " + ".join(blobs)
    if layout.lead and [kind for _, kind in wired] == [Blob(U8)]:
        packed, heads = (
            f"heads[{values[-1]}]",
            [pack(lead, size) for size in range(256)],
        )
    source = [
        "def encode(m):",
        *(["    if type(m) is not cls: raise bad_value(m, layout)"] if row else []),
        *[f"    {line}" for line in taken],
        *[f"    if {check}: raise bad_value(m, layout)" for check in wrong],
        "    try:",
        f"        return {packed}, {bodies or 'nothing'}" if row else f"        return {' + '.join([packed, *blobs])}",
        "    except (struct_error, IndexError):",
        "        raise bad_value(m, layout) from None",
    ]
    scope = {"lead": layout.lead, "layout": layout, "cls": layout.message, "nothing": b"", "zero": b"\0"}
    scope |= {"pack": pack, "heads": heads, "struct_error": struct.error, "bad_value": bad_value}
    return build("encode", layout.message.__name__, source, **scope)
