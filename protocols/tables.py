"""Decoders and encoders of the two counted layouts, `Rows` and `Repeated`, at the end of a message.

A table's size is known only after its rows were seen, so nothing is allocated by what a count announces: counts are
checked against the frame limit, and rows are built only once all their bytes are there. A `Repeated` frame remembers
in its context how far it was measured, so any segmentation costs one pass over the bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from wireproof.protocols.fields import Blob, Kind, Repeated, Rows
from wireproof.protocols.frames import (
    Decoder,
    Encoder,
    FrameContext,
    Reading,
    bad_flag,
    bad_value,
    build,
    compile_encoder,
    header_struct,
    too_large,
)
from wireproof.protocols.messages import Message
from wireproof.protocols.profile import Layout

LayoutOf = Callable[[type[Message]], Layout]


class Table:
    """The rows of one `Rows` field: sizes, decoding and encoding of the whole run."""

    def __init__(self, row: Layout, byte_order: str) -> None:
        row = replace(row, lead=b"")
        header, reading = header_struct(row, byte_order), Reading.of(row)
        sizes = " + ".join(f"f_{name}" for name, kind in row.fields if isinstance(kind, Blob))
        scope = {"cls": row.message, "rows_of": header.iter_unpack, "bad_flag": bad_flag}
        self.row_size = header.size
        self.bodies_size: Callable[[bytes | bytearray, int, int], int] = build(
            "bodies_size",
            row.message.__name__,
            [
                "def bodies_size(buf, at, count):",
                f"    body = at + count * {header.size}",
                f"    return sum([{sizes} for {reading.targets}in rows_of(buf[at:body])])" if sizes else "    return 0",
            ],
            **scope,
        )
        self.decode: Callable[[bytes, int, int], tuple[Any, ...]] = build(
            "decode_rows",
            row.message.__name__,
            [
                "def decode_rows(buf, at, count):",
                f"    body, rows = at + count * {header.size}, []",
                f"    for {reading.targets}in rows_of(buf[at:body]):",
                *[f"        {line}" for line in (*reading.checks, *reading.bodies)],
                f"        rows.append(cls({reading.values}))",
                f"        at, body = at + {header.size}, {reading.stop}",
                "    return tuple(rows)",
            ],
            **scope,
        )
        self._encode_row = compile_encoder(row, byte_order, row=True)

    def encode(self, rows: tuple[Message, ...]) -> bytes:
        """Return the fixed parts of all rows, then their bodies."""
        pairs = [self._encode_row(row) for row in rows]
        return b"".join([head for head, _ in pairs] + [bodies for _, bodies in pairs])


def _split(layout: Layout) -> tuple[Layout, str, Kind]:
    """Return the layout with its last field as a plain count, that field's name and its kind."""
    (*head, (name, kind)) = layout.fields
    if not isinstance(kind, Rows | Repeated):
        raise TypeError(f"{layout.message.__name__}: a counted table must be the last field")
    return replace(layout, fields=(*head, (name, kind.count))), name, kind


def compile_rows(layout: Layout, byte_order: str, layout_of: LayoutOf) -> tuple[Decoder, Encoder, Table]:
    """Return decoder, encoder and table of a layout that ends in `Rows`, after integers only."""
    head, last, kind = _split(layout)
    assert isinstance(kind, Rows)
    table = Table(layout_of(kind.row), byte_order)
    header = header_struct(head, byte_order)
    size, unpack, message = header.size, header.unpack_from, layout.message
    pack = header_struct(head, byte_order, lead="s").pack
    names = [name for name, _ in head.fields[:-1]]
    prefix = (layout.lead,) if layout.lead else ()

    def decode(buf: bytes, at: int, end: int, context: FrameContext) -> tuple[Any, int]:
        if at + size > end:
            return None, size
        *values, count = unpack(buf, at)
        stop = at + size + count * table.row_size
        if stop <= end and stop - at <= context.limit:
            stop += table.bodies_size(buf, at + size, count)
        if stop - at > context.limit:
            raise too_large(at, stop - at, context.limit)
        if stop > end:
            return None, stop - at
        return message(*values, table.decode(buf, at + size, count)), stop

    def encode(value: Any) -> bytes:
        if type(value) is not message or type(getattr(value, last)) is not tuple:
            raise bad_value(value, layout)
        values = [getattr(value, name) for name in names]
        rows = getattr(value, last)
        try:
            return pack(*prefix, *values, len(rows)) + table.encode(rows)
        except struct.error:
            raise bad_value(value, layout) from None

    return decode, encode, table


class Measure:
    """Finds the end of a `Repeated` frame, going on from where its context says it stopped."""

    def __init__(self, header: struct.Struct, part_header: struct.Struct, table: Table) -> None:
        self._header = header
        self._part_header = part_header
        self._table = table

    def __call__(self, buf: bytes | bytearray, at: int, end: int, context: FrameContext, limit: int) -> int:
        """Return the size of the frame once `context.left` is 0, until then the bytes needed to go on.

        What it returns may exceed `limit`: the frame is too large then, whatever follows.
        """
        if context.left < 0:
            if at + self._header.size > end:
                return self._header.size
            (count,) = self._header.unpack_from(buf, at)
            least = self._header.size + int(count) * self._part_header.size
            if least > limit:
                return least
            context.left, context.seen = count, self._header.size
        while context.left:
            size = self._part_end(buf, at, end, context.seen, limit)
            if size > limit or at + size > end:
                return size
            context.seen = size
            context.left -= 1
        return context.seen

    def _part_end(self, buf: bytes | bytearray, at: int, end: int, seen: int, limit: int) -> int:
        size = seen + self._part_header.size
        if at + size > end:
            return size
        body = at + size
        count = int(self._part_header.unpack_from(buf, at + seen)[-1])
        size += count * self._table.row_size
        if size <= limit and at + size <= end:
            size += self._table.bodies_size(buf, body, count)
        return size


def compile_repeated(layout: Layout, byte_order: str, layout_of: LayoutOf) -> tuple[Decoder, Encoder]:
    """Return decoder and encoder of a layout that is one `Repeated` field of parts ending in `Rows`.

    Raises `TypeError` for any other layout.
    """
    head, last, kind = _split(layout)
    assert isinstance(kind, Repeated)
    if len(head.fields) != 1:
        raise TypeError(f"{layout.message.__name__}: a repeated field stands alone")
    part = layout_of(kind.part)
    decode_part, encode_part, table = compile_rows(part, byte_order, layout_of)
    header = header_struct(head, byte_order)
    measure = Measure(header, header_struct(_split(part)[0], byte_order), table)
    count_code = struct.Struct(byte_order + kind.count.code)

    def resume(context: FrameContext, depth: int, limit: int, gathered: bytearray) -> int:
        return depth + measure(gathered, depth, len(gathered), context, limit)

    def decode(buf: bytes, at: int, end: int, context: FrameContext) -> tuple[Any, int]:
        need = measure(buf, at, end, context, context.limit)
        if need > context.limit:
            raise too_large(at, need, context.limit)
        if context.left:
            context.resume = partial(resume, context, context.depth, context.limit)
            return None, need
        stop, parts, here = at + need, [], at + header.size
        while here < stop:
            one, here = decode_part(buf, here, stop, context)
            parts.append(one)
        context.reset()
        return layout.message(tuple(parts)), stop

    def encode(value: Any) -> bytes:
        parts = getattr(value, last)
        if type(parts) is not tuple:
            raise bad_value(value, layout)
        return b"".join([layout.lead, count_code.pack(len(parts)), *[encode_part(one) for one in parts]])

    return decode, encode
