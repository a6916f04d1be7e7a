"""Decoders and encoders of the two counted layouts, `Rows` and `Repeated`, at the end of a message.

A table's size is known only after its rows were seen, so nothing is allocated by what a count announces: counts are
checked against the frame limit, and rows are built only once all their bytes are there. A `Repeated` frame remembers
in its context how far it was measured, so any segmentation costs one pass over the bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace
from operator import itemgetter
from typing import Any

from protocols.fields import Absent, Blob, Kind, Repeated, Rows
from protocols.frames import Decoder, Encoder, FrameContext, bad_value, compile_encoder, header_struct, too_large
from protocols.messages import Message
from protocols.profile import Layout

LayoutOf = Callable[[type[Message]], Layout]


class Table:
    """The rows of one `Rows` field: sizes, decoding and encoding of the whole run."""

    def __init__(self, row: Layout, byte_order: str) -> None:
        row = self._row = replace(row, lead=b"")
        self._header = header_struct(row, byte_order)
        self.row_size = self._header.size
        wired = [(name, kind) for name, kind in row.fields if not isinstance(kind, Absent)]
        self._columns = {name: index for index, (name, _) in enumerate(wired)}
        self._blobs = [name for name, kind in wired if isinstance(kind, Blob)]
        self._absent = {name: 0 for name, kind in row.fields if isinstance(kind, Absent)}
        self._encode_fixed = None if self._blobs else compile_encoder(row, byte_order)
        self._pack = self._header.pack

    def bodies_size(self, buf: bytes, at: int, count: int) -> int:
        """Return the bytes taken by the bodies of `count` rows whose fixed parts begin at `at`."""
        if not self._blobs or not count:
            return 0
        rows = self._header.iter_unpack(memoryview(buf)[at : at + count * self.row_size])
        sizes = itemgetter(*(self._columns[name] for name in self._blobs))
        if len(self._blobs) == 1:
            return sum(map(sizes, rows))
        return sum(sum(sizes(row)) for row in rows)

    def decode(self, buf: bytes, at: int, count: int) -> tuple[Any, ...]:
        """Return the rows; every byte of them is known to be there."""
        body = at + count * self.row_size
        rows = []
        for values in self._header.iter_unpack(memoryview(buf)[at:body]):
            fields: dict[str, Any] = dict(self._absent)
            fields.update(zip(self._columns, values, strict=True))
            for name in self._blobs:
                size = fields[name]
                fields[name] = buf[body : body + size]
                body += size
            rows.append(self._row.message(**fields))
        return tuple(rows)

    def encode(self, rows: tuple[Any, ...]) -> bytes:
        """Return the fixed parts of all rows, then their bodies."""
        if self._encode_fixed is not None:
            return b"".join([self._encode_fixed(row) for row in rows])
        heads, bodies = [], []
        for row in rows:
            values = [getattr(row, name) for name in self._columns]
            for name in self._blobs:
                bodies.append(values[self._columns[name]])
                values[self._columns[name]] = len(bodies[-1])
            try:
                heads.append(self._pack(*values))
            except (struct.error, TypeError):
                raise bad_value(row, self._row) from None
        return b"".join(heads + bodies)


def _split(layout: Layout) -> tuple[Layout, str, Kind]:
    """Return the layout with its last field as a plain count, that field's name and its kind."""
    (*head, (name, kind)) = layout.fields
    if not isinstance(kind, Rows | Repeated):
        raise TypeError(f"{layout.message.__name__}: a counted table must be the last field")
    return replace(layout, fields=(*head, (name, kind.count))), name, kind


def compile_rows(layout: Layout, byte_order: str, layout_of: LayoutOf) -> tuple[Decoder, Encoder, Table]:
    """Return decoder, encoder and table of a layout that ends in `Rows`."""
    head, last, kind = _split(layout)
    assert isinstance(kind, Rows)
    table = Table(layout_of(kind.row), byte_order)
    header = header_struct(head, byte_order)
    size, unpack, message = header.size, header.unpack_from, layout.message
    pack = struct.Struct(header.format.replace("x", "s") if layout.lead else header.format).pack
    names = [name for name, _ in head.fields[:-1]]
    prefix = (layout.lead,) if layout.lead else ()

    def decode(buf: bytes, at: int, end: int, context: FrameContext) -> tuple[Any, int]:
        if at + size > end:
            return None, size
        *values, count = unpack(buf, at)
        stop = at + size + count * table.row_size
        if stop - at > context.limit:
            raise too_large(at, stop - at, context.limit)
        if stop > end:
            return None, stop - at
        stop += table.bodies_size(buf, at + size, count)
        if stop - at > context.limit:
            raise too_large(at, stop - at, context.limit)
        if stop > end:
            return None, stop - at
        return message(*values, table.decode(buf, at + size, count)), stop

    def encode(value: Any) -> bytes:
        rows = getattr(value, last)
        try:
            return pack(*prefix, *(getattr(value, name) for name in names), len(rows)) + table.encode(rows)
        except (struct.error, TypeError):
            raise bad_value(value, layout) from None

    return decode, encode, table


class Measure:
    """Finds the end of a `Repeated` frame, going on from where its context says it stopped."""

    def __init__(self, header: struct.Struct, part_header: struct.Struct, table: Table) -> None:
        self._header = header
        self._part_header = part_header
        self._table = table

    def __call__(self, buf: bytes, at: int, end: int, context: FrameContext) -> int:
        """Return the size of the frame once `context.left` is 0, until then the bytes needed to go on."""
        if context.left < 0:
            if at + self._header.size > end:
                return self._header.size
            self._begin(buf, at, context)
        while context.left:
            stop = self._part_end(buf, at, end, context)
            if stop > end:
                return stop - at
            context.seen = stop - at
            context.left -= 1
        return context.seen

    def _begin(self, buf: bytes, at: int, context: FrameContext) -> None:
        (context.left,) = self._header.unpack_from(buf, at)
        context.seen = self._header.size
        least = context.seen + context.left * self._part_header.size
        if least > context.limit:
            raise too_large(at, least, context.limit)

    def _part_end(self, buf: bytes, at: int, end: int, context: FrameContext) -> int:
        body = at + context.seen + self._part_header.size
        if body > end:
            return body
        count = self._part_header.unpack_from(buf, at + context.seen)[-1]
        stop = body + count * self._table.row_size
        if stop <= end:
            stop += self._table.bodies_size(buf, body, count)
        if stop - at > context.limit:
            raise too_large(at, stop - at, context.limit)
        return int(stop)


def compile_repeated(layout: Layout, byte_order: str, layout_of: LayoutOf) -> tuple[Decoder, Encoder]:
    """Return decoder and encoder of a layout that is one `Repeated` field of parts ending in `Rows`."""
    head, last, kind = _split(layout)
    assert isinstance(kind, Repeated)
    if len(head.fields) != 1:
        raise TypeError(f"{layout.message.__name__}: a repeated field stands alone")
    part = layout_of(kind.part)
    decode_part, encode_part, table = compile_rows(part, byte_order, layout_of)
    header = header_struct(head, byte_order)
    measure = Measure(header, header_struct(_split(part)[0], byte_order), table)
    count_code = struct.Struct(byte_order + kind.count.code)

    def decode(buf: bytes, at: int, end: int, context: FrameContext) -> tuple[Any, int]:
        need = measure(buf, at, end, context)
        if context.left:
            return None, need
        stop, parts, here = at + need, [], at + header.size
        while here < stop:
            one, here = decode_part(buf, here, stop, context)
            parts.append(one)
        context.reset()
        return layout.message(tuple(parts)), stop

    def encode(value: Any) -> bytes:
        parts = getattr(value, last)
        return b"".join([layout.lead, count_code.pack(len(parts)), *[encode_part(one) for one in parts]])

    return decode, encode
