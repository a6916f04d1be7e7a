"""Decoder and encoder of layouts whose first bytes hold bits, with lines of text or a size that has several forms.

They read as the flat layouts of `frames.py` do: fixed parts, then bodies. `Bits` are parts of the lead, a `Shortest`
size may take more bytes after the fixed parts, and `Lines` are a body that a bit announces.
"""

# Strategy
#
# Such a frame still begins with parts of fixed width, so one precompiled struct reads them; what varies comes after.
# Code is generated as in `frames.py`: each field adds its lines, in the order of the wire. What is not there yet is
# asked for step by step (a long size, the size of the lines, everything), so a decoder never reads beyond `end`, and
# the frame limit is checked before a body is waited for.
#
# Several byte strings are read as one message: sizes that are not the shortest, lines that say nothing, an empty block.
# `same_when_read` therefore compares messages by what they say, where others compare bytes.

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

from wireproof.protocols.errors import MalformedFrameError
from wireproof.protocols.fields import Absent, Bits, Blob, Constant, Lines, Shortest
from wireproof.protocols.frames import (
    ByteOrder,
    Decoder,
    Encoder,
    FrameContext,
    bad_value,
    build,
    header_struct,
    too_large,
)
from wireproof.protocols.messages import Message
from wireproof.protocols.profile import Layout

__all__ = ["compile_packed", "same_when_read"]

_ORDERS = {"<": "little", ">": "big"}
END, COLON = b"\r\n", b":"


def compile_packed(layout: Layout, byte_order: str) -> tuple[Decoder, Encoder]:
    """Return decoder and encoder of a layout made of `UInt` and its kinds, `Blob`, and `Lines`."""
    return _decoder(layout, byte_order), _encoder(layout, byte_order)


def same_when_read(decode: Decoder, message: Message, data: bytes) -> bool:
    """Say whether `data` is read as `message`, and as nothing more."""
    try:
        found, stop = decode(data, 0, len(data), FrameContext(len(data)))
    except MalformedFrameError:
        return False
    return bool(found == message and stop == len(data))


def _decoder(layout: Layout, byte_order: str) -> Decoder:
    header, order = header_struct(layout, byte_order, lead="B"), _ORDERS[byte_order]
    targets, sizes, bodies, values = list[str](), list[str](), list[str](), list[str]()
    stop = "body"
    for name, kind in layout.fields:
        local = f"f_{name}"
        match kind:
            case Absent():
                values.append("0")
                continue
            case Bits(at, count):
                values.append(_bits_read(at, count))
                continue
            case Lines():
                bodies += _lines_read(name, kind, stop, order)
                values.append(local)
                stop = f"stop_{name}"
                continue
            case Constant():
                values.append("0")
            case Blob(size):
                sizes += _size_read(local, order) if isinstance(size, Shortest) else []
                bodies.append(f"stop_{name} = {stop} + {local}")
                values.append(f"buf[{stop}:stop_{name}]")
                stop = f"stop_{name}"
            case _:
                values.append(local)
        targets.append(f"{local}, ")
    names = [name for name, _ in layout.fields]
    targets = [*[f"lead_{place}, " for place in range(len(layout.lead))], *targets]
    arguments = ", ".join(values[names.index(name)] for name in layout.message.__struct_fields__)
    lines = [
        f"body = at + {header.size}",
        f"if body > end: return None, {header.size}",
        *([f"{''.join(targets)}= unpack(buf, at)"] if targets else []),
        *sizes,
        *bodies,
        f"if {stop} - at > context.limit: raise too_large(at, {stop} - at, context.limit)",
        f"if {stop} > end: return None, {stop} - at",
        *[
            f"f_{name} = rows_of(buf[start_{name}:stop_{name}], row_{name}) if stop_{name} > start_{name} else ()"
            for name, kind in _lines(layout)
        ],
        f"return cls({arguments}), {stop}",
    ]
    scope: dict[str, Any] = {f"row_{name}": kind.row for name, kind in _lines(layout)}
    scope |= {"cls": layout.message, "unpack": header.unpack_from, "too_large": too_large, "rows_of": _rows_of}
    source = ["def decode(buf, at, end, context):", *[f"    {line}" for line in lines]]
    decoder: Decoder = build("decode", layout.message.__name__, source, **scope)
    return decoder


def _bits_read(at: int, count: int) -> str:
    """Return the expression of the bits that begin at one of the lead and end in the same byte."""
    lead, shift = f"lead_{at // 8}", 8 - at % 8 - count
    moved = f"{lead} >> {shift}" if shift else lead
    return moved if not at % 8 else f"{moved} & {(1 << count) - 1}"


def _size_read(local: str, order: str) -> list[str]:
    """Return the lines that read a size in one of its longer forms."""
    return [
        f"if {local} > 252:",
        f"    stop_size = body + (2 << ({local} - 253))",
        "    if stop_size > end: return None, stop_size - at",
        f"    {local}, body = int.from_bytes(buf[body:stop_size], '{order}'), stop_size",
    ]


def _lines_read(name: str, kind: Lines, at: str, order: str) -> list[str]:
    """Return the lines that find the end of a block of lines."""
    width = kind.count.width
    return [
        f"start_{name} = stop_{name} = {at}",
        f"if lead_{kind.flag // 8} & {0x80 >> kind.flag % 8}:",
        f"    start_{name} = {at} + {width}",
        f"    if start_{name} > end: return None, start_{name} - at",
        f"    stop_{name} = start_{name} + int.from_bytes(buf[{at}:start_{name}], '{order}')",
    ]


def _lines(layout: Layout) -> list[tuple[str, Lines]]:
    return [(name, kind) for name, kind in layout.fields if isinstance(kind, Lines)]


def _rows_of(block: bytes, row: type[Message]) -> tuple[Message, ...]:
    """Return the rows that the lines of a block are; a line without a name or without a colon is none."""
    parts = (line.partition(COLON) for line in block.split(END))
    return tuple(row(name, value) for name, colon, value in parts if name and colon)


def _encoder(layout: Layout, byte_order: str) -> Encoder:
    order = _ORDERS[byte_order]
    leads = [[str(byte)] for byte in layout.lead]
    taken, packed, bodies, more = list[str](), list[str](), list[str](), list[str]()
    flags, wrong = list[str](), list[str]()
    for name, kind in layout.fields:
        local = f"f_{name}"
        match kind:
            case Absent():
                continue
            case Bits(at, count):
                taken.append(f"{local} = m.{name}")
                if count == 1:
                    flags.append(local)
                else:
                    wrong.append(f"not 0 <= {local} <= {kind.maximum}")
                leads[at // 8].append(f"{local} << {8 - at % 8 - count}")
            case Lines(_, count, flag):
                block = f"block_of({local}, {count.width}, '{order}', row_{name})"
                taken += [f"{local} = m.{name}", f"{local} = nothing if {local} is none else {block}"]
                leads[flag // 8].append(f"({0x80 >> flag % 8} if {local} else 0)")
                bodies.append(local)
            case Blob(size):
                taken.append(f"{local} = m.{name}")
                wrong.append(f"type({local}) is not bytes")
                bodies.append(local)
                packed.append(f"len({local})")
                if isinstance(size, Shortest):
                    more += [
                        f"head_{name}, more_{name} = len({local}), nothing",
                        f"if head_{name} > 252: head_{name}, more_{name} = shortest(head_{name}, '{order}')",
                    ]
                    packed[-1] = f"head_{name}"
            case Constant(_, value):
                packed.append(str(value))
            case _:
                packed.append(f"m.{name}")
    head = ", ".join([" | ".join(lead) for lead in leads] + packed)
    after = [one.replace("head_", "more_") for one in packed if one.startswith("head_")]
    if flags:
        wrong.append(f"not 0 <= {' | '.join(flags)} <= 1")
    statements = (*taken, *[f"if {check}: raise ValueError" for check in wrong], *more)
    source = _encode(statements, " + ".join([f"pack({head})", *after, *bodies]))
    encoder: Encoder = build("encode", layout.message.__name__, source, **_encoder_scope(layout, byte_order))
    return encoder


def _encode(statements: Iterable[str], result: str) -> list[str]:
    """Return the source of an encoder that runs these statements and returns `result`."""
    return [
        "def encode(m):",
        "    try:",
        *[f"        {line}" for line in statements],
        f"        return {result}",
        "    except (struct_error, ValueError, TypeError, AttributeError, OverflowError):",
        "        raise bad_value(m, layout) from None",
    ]


def _encoder_scope(layout: Layout, byte_order: str) -> dict[str, Any]:
    """Return the names that the source of an encoder uses."""
    return {
        **{f"row_{name}": kind.row for name, kind in _lines(layout)},
        "pack": header_struct(layout, byte_order, lead="B").pack,
        "layout": layout,
        "bad_value": bad_value,
        "struct_error": struct.error,
        "shortest": _shortest,
        "block_of": _block_of,
        "none": (),
        "nothing": b"",
    }


def _shortest(size: int, order: ByteOrder) -> tuple[int, bytes]:
    """Return the first byte of a size beyond 252 and the bytes after the fixed parts."""
    width = Shortest().taken(size) - 1
    return 252 + width.bit_length() - 1, size.to_bytes(width, order)


def _block_of(rows: tuple[Message, ...], width: int, order: ByteOrder, row: type[Message]) -> bytes:
    """Return the block of lines with its size; nothing for no line. Raises what `bad_value` is raised for."""
    if not rows:
        if type(rows) is not tuple:
            raise TypeError
        return b""
    first, second = row.__struct_fields__
    lines = []
    for one in rows:
        name, value = getattr(one, first), getattr(one, second)
        line = name + COLON + value
        if type(one) is not row or not name or COLON in name or END in line:
            raise ValueError
        lines.append(line + END)
    block = b"".join(lines)
    return len(block).to_bytes(width, order) + block
