"""Seeds of the parser that hold tables: with no, one and several rows, and in several parts, measured as they come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from wireproof.fuzz.codec_checks import CodecCheck, check_of
from wireproof.protocols import Message, Request
from wireproof.protocols.fields import Blob, Flag, Kind, Raw, Repeated, Rows

__all__ = ["cut_by", "tables"]

PARTS = 3
"""So many that one is measured, one is cut, and one is still to come."""
ROWS = (0, 1, 3)
"""Rows of a table, or of each part: a part may have none, and bodies of several rows come after all fixed parts."""
CHOSEN = 2


def tables(codec: Any, known: Sequence[Request]) -> Iterator[bytes]:
    """Yield the input of a client, from its third byte on, for each reply that is a table: asked for, in some forms.

    `known` are the requests that bytes select from.
    """
    asked = {type(request): at for at, request in enumerate(known[:256])}
    for request, at in asked.items():
        for kind in codec.profile.replies[request]:
            fields = codec.layout(kind).fields
            name, form = fields[-1] if fields else ("", None)
            for rows in ROWS if isinstance(form, Repeated | Rows) else ():
                if isinstance(form, Repeated):
                    parts = tuple(_table(codec, form.part, number, rows) for number in range(1, PARTS + 1))
                    reply = kind(**{name: parts})
                else:
                    reply = _table(codec, kind, 1, rows)
                yield bytes([1, at]) + codec.answers[request][kind](reply)


def _table(codec: Any, kind: type[Message], number: int, rows: int) -> Message:
    """Return a table of so many rows, whose other fields are `number`."""
    fields = codec.layout(kind).fields
    return kind(**{name: _value(codec, form, number, rows) for name, form in fields})


def _value(codec: Any, form: Kind, number: int, rows: int) -> object:
    match form:
        case Rows(row):
            return tuple(_table(codec, row, one, 0) for one in range(1, rows + 1))
        case Raw(size):
            return bytes([number]) * size
        case Blob():
            return b"%d" % number * number
        case Flag():
            return number % 2 == 1
    return number


def cut_by(number: int, data: bytes) -> Iterator[bytes]:
    """Yield inputs of an endpoint with that rest whose check, which the input draws, cuts the stream."""
    some = (bytes([number, cut]) + data for cut in range(256))
    return islice((one for one in some if check_of(one) is CodecCheck.SEGMENTATION), CHOSEN)
