"""Turns a resolved `Layout` into a decoder and an encoder, once, when a codec is built.

A decoder is `decode(buf, at, end, context) -> (message, stop)`, or `(None, need)` while fewer than `need` bytes of the
frame are there; it never reads past `end`, never keeps state (a table sent in parts keeps its progress in `context`)
and raises `MalformedFrameError` only. An encoder is `encode(message) -> bytes` and raises `LocalProtocolError` only.
Flat layouts become generated source (one precompiled `struct`, no loop), so derived is as fast as written by hand.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from protocols.errors import ErrorCode, LocalProtocolError, MalformedFrameError
from protocols.fields import Absent, Blob, Flag, Kind, Nested, Raw, Repeated, Rows, UInt
from protocols.messages import Message
from protocols.profile import Layout

Decoder = Callable[[bytes, int, int, "FrameContext"], tuple[Any, int]]
Encoder = Callable[[Any], bytes]


@dataclass(slots=True)
class FrameContext:
    """What a decoder may know besides the bytes: the limit, the request being answered, progress in a long frame."""

    limit: int
    """Largest frame accepted, in bytes."""
    request: Message | None = None
    seen: int = 0
    """Bytes of an unfinished `Repeated` frame already measured, counted from its start."""
    left: int = -1
    """Parts of it still to come; -1 before the count is known."""
    depth: int = 0
    """How many messages the one being decoded is nested in."""

    def reset(self) -> None:
        """Forget the progress made in a frame, once it is whole."""
        self.seen, self.left = 0, -1


def too_large(at: int, size: int, limit: int) -> MalformedFrameError:
    """Return the error for a frame that announces `size` bytes where `limit` are allowed."""
    return MalformedFrameError(ErrorCode.FRAME_TOO_LARGE, f"expected at most {limit} bytes, got {size} announced", at)


def bad_flag(value: int, at: int) -> MalformedFrameError:
    """Return the error for a flag byte outside 00 and 01."""
    return MalformedFrameError(ErrorCode.BAD_STATUS, f"expected 00 or 01, got {value:02x}", at)


def bad_value(message: Message, layout: Layout) -> LocalProtocolError:
    """Return the error that names the first field of `message` its layout cannot carry."""
    for name, kind in layout.fields:
        value = getattr(message, name)
        expected = _violation(kind, value)
        if expected:
            told = f"{message.NAME}.{name}: expected {expected}, got {value!r:.60}"
            return LocalProtocolError(ErrorCode.BAD_VALUE, told)
    return LocalProtocolError(ErrorCode.BAD_VALUE, f"{message!r:.120} does not fit its layout")


def _violation(kind: Kind, value: Any) -> str:
    match kind:
        case UInt() if not isinstance(value, int) or not 0 <= value <= kind.maximum:
            return f"an integer from 0 to {kind.maximum}"
        case Raw(size) if not isinstance(value, bytes) or len(value) != size:
            return f"{size} bytes"
        case Blob(size) if not isinstance(value, bytes) or len(value) > size.maximum:
            return f"at most {size.maximum} bytes"
        case Flag() if not isinstance(value, bool):
            return "True or False"
    return ""


def _code(kind: Kind) -> str:
    match kind:
        case UInt():
            return kind.code
        case Blob(size) | Rows(_, size) | Repeated(_, size):
            return size.code
        case Raw(size):
            return f"{size}s"
        case Flag():
            return "B"
    return ""


def header_struct(layout: Layout, byte_order: str) -> struct.Struct:
    """Return the precompiled struct of the fixed parts; the lead is skipped as padding."""
    lead = f"{len(layout.lead)}x" if layout.lead else ""
    return struct.Struct(byte_order + lead + "".join(_code(kind) for _, kind in layout.fields))


def compile_decoder(layout: Layout, byte_order: str) -> Decoder:
    """Return the decoder of a flat layout (fixed parts and blobs only)."""
    header = header_struct(layout, byte_order)
    if not layout.fields:
        return _constant_decoder(layout.message(), len(layout.lead))
    scope: dict[str, Any] = {
        "cls": layout.message,
        "unpack": header.unpack_from,
        "too_large": too_large,
        "bad_flag": bad_flag,
    }
    exec(compile(_decoder_source(layout, header.size), f"<decode {layout.message.__name__}>", "exec"), scope)
    decoder: Decoder = scope["decode"]
    return decoder


def _constant_decoder(message: Message, size: int) -> Decoder:
    def decode(buf: bytes, at: int, end: int, context: FrameContext) -> tuple[Any, int]:
        return message, at + size

    return decode


def _decoder_source(layout: Layout, size: int) -> str:
    names, values, checks, bodies = [], [], [], []
    stop, bounded = "body", True
    for name, kind in layout.fields:
        match kind:
            case Absent():
                values.append("0")
                continue
            case Flag():
                checks.append(f"    if f_{name} > 1: raise bad_flag(f_{name}, at + {size - 1})")
                values.append(f"f_{name} == 1")
            case Blob(width):
                start, stop = stop, f"stop_{name}"
                bodies.append(f"    {stop} = {start} + f_{name}")
                bounded = bounded and width.width == 1
                values.append(f"buf[{start}:{stop}]")
            case _:
                values.append(f"f_{name}")
        names.append(f"f_{name}")
    if not bounded:
        bodies.append(f"    if {stop} - at > context.limit: raise too_large(at, {stop} - at, context.limit)")
    if bodies:
        bodies.append(f"    if {stop} > end: return None, {stop} - at")
    unpacked = ", ".join(names) + ("," if len(names) == 1 else "")
    return "\n".join(
        [
            "def decode(buf, at, end, context):",
            f"    body = at + {size}",
            f"    if body > end: return None, {size}",
            f"    {unpacked} = unpack(buf, at)",
            *checks,
            *bodies,
            f"    return cls({', '.join(values)}), {stop}",
        ]
    )


def compile_encoder(layout: Layout, byte_order: str) -> Encoder:
    """Return the encoder of a flat layout (fixed parts and blobs only)."""
    if not layout.fields:
        return _constant_encoder(layout.lead)
    lead = f"{len(layout.lead)}s" if layout.lead else ""
    packer = struct.Struct(byte_order + lead + "".join(_code(kind) for _, kind in layout.fields))
    scope: dict[str, Any] = {
        "pack": packer.pack,
        "lead": layout.lead,
        "layout": layout,
        "bad_value": bad_value,
        "struct_error": struct.error,
    }
    exec(compile(_encoder_source(layout), f"<encode {layout.message.__name__}>", "exec"), scope)
    encoder: Encoder = scope["encode"]
    return encoder


def _constant_encoder(frame: bytes) -> Encoder:
    def encode(message: Message) -> bytes:
        return frame

    return encode


def _encoder_source(layout: Layout) -> str:
    checks, blobs, values = [], [], ["lead"] if layout.lead else []
    for name, kind in layout.fields:
        match kind:
            case Absent():
                continue
            case Raw(size):
                checks.append(f"        if len(m.{name}) != {size}: raise bad_value(m, layout)")
                values.append(f"m.{name}")
            case Blob():
                blobs.append(name)
                values.append(f"len({name})")
            case _:
                values.append(f"m.{name}")
    taken = [f"    {name} = m.{name}" for name in blobs]
    joined = " + ".join([f"pack({', '.join(values)})", *blobs])
    return "\n".join(
        [
            "def encode(m):",
            *taken,
            "    try:",
            *checks,
            f"        return {joined}",
            "    except (struct_error, TypeError):",
            "        raise bad_value(m, layout) from None",
        ]
    )


def is_flat(layout: Layout) -> bool:
    """Say whether the layout has fixed parts and blobs only."""
    return not any(isinstance(kind, Rows | Repeated | Nested) for _, kind in layout.fields)
