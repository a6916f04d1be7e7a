"""Decoder and encoder of layouts whose fields stand one after the other, texts ended by 00: what datagrams carry.

Such a message ends where its datagram ends, so its decoder never asks for more: what is missing is truncated.
"""

# Strategy
#
# The layouts of streams have a size for each body, in parts of fixed width, and are compiled to source around
# precompiled structs (`frames.py`). That is impossible here. A text ends where its 00 is, so the place of each field
# depends on the one before it, and a reader must take the fields from left to right, once.
#
# So a layout is interpreted: `_stop` finds where a field ends, `_value` turns its bytes into a value, and the next
# field begins there, one byte later after a text. Nothing is generated, because datagrams are few and short, and a loop
# of some lines can be checked by reading it.
#
# A datagram is whole or it is wrong. Where a stream's decoder answers "more bytes are needed", this one raises
# `truncated`, at the end of the datagram, naming the field. `Rest` takes what is left and may be empty; without it,
# bytes after the last field are the caller's matter, who knows the size of the datagram.
#
# The encoder is the mirror, with one more duty: a text that contains 00 would be read as a shorter one, so it is
# refused. Everything that a value can do wrong ends in one exception with the message and its layout (`bad_value`).

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wireproof.protocols.errors import ErrorCode, MalformedFrameError
from wireproof.protocols.fields import Kind, Raw, Rest, Terminated, UInt
from wireproof.protocols.frames import ByteOrder, Decoder, Encoder, FrameContext, bad_value
from wireproof.protocols.profile import Layout

__all__ = ["compile_onepass"]


_ORDERS: Mapping[str, ByteOrder] = {"<": "little", ">": "big"}


def compile_onepass(layout: Layout, byte_order: str) -> tuple[Decoder, Encoder]:
    """Return decoder and encoder of a layout made of `UInt`, `Raw`, `Terminated` and at its end `Rest`."""
    lead, fields, message = layout.lead, layout.fields, layout.message
    order = _ORDERS[byte_order]

    def decode(buf: bytes, at: int, end: int, context: FrameContext) -> tuple[Any, int]:
        here, values = at + len(lead), {}
        for name, kind in fields:
            stop = _stop(kind, buf, here, end, f"{message.NAME}.{name}")
            values[name] = _value(kind, buf[here:stop], order)
            here = stop + isinstance(kind, Terminated)
        return message(**values), here

    def encode(value: Any) -> bytes:
        parts = [lead]
        try:
            for name, kind in fields:
                parts.append(_written(kind, getattr(value, name), order))
        except (TypeError, ValueError, OverflowError, AttributeError):
            raise bad_value(value, layout) from None
        return b"".join(parts)

    return decode, encode


def _stop(kind: Kind, buf: bytes, at: int, end: int, where: str) -> int:
    """Return where a field that begins at `at` ends; raises `MalformedFrameError` (truncated)."""
    if isinstance(kind, Rest):
        return end
    if isinstance(kind, Terminated):
        stop = buf.find(0, at, end)
        if stop < 0:
            raise MalformedFrameError(ErrorCode.TRUNCATED, f"{where}: expected a 00 after it, got none", end)
        return stop
    size = kind.width if isinstance(kind, UInt) else kind.size if isinstance(kind, Raw) else 0
    if at + size > end:
        detail = f"{where}: expected {size} bytes, got {max(end - at, 0)}"
        raise MalformedFrameError(ErrorCode.TRUNCATED, detail, end)
    return at + size


def _value(kind: Kind, data: bytes, order: ByteOrder) -> int | bytes:
    return int.from_bytes(data, order) if isinstance(kind, UInt) else data


def _written(kind: Kind, value: Any, order: ByteOrder) -> bytes:
    """Return the bytes of one field; raises what `bad_value` is raised for."""
    if isinstance(kind, UInt):
        return int.to_bytes(value, kind.width, order)
    if type(value) is not bytes or (isinstance(kind, Raw) and len(value) != kind.size):
        raise TypeError
    if isinstance(kind, Terminated):
        if 0 in value:
            raise ValueError
        return value + b"\0"
    return bytes(value)
