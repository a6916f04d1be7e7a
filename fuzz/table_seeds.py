"""Seeds of the parser that hold tables in several parts: each is measured on while its bytes come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from wireproof.fuzz.codec_checks import CodecCheck, check_of
from wireproof.protocols import Message, Request
from wireproof.protocols.fields import Repeated, Rows

__all__ = ["cut_by", "tables"]

PARTS = 3
"""So many that one is measured, one is cut, and one is still to come."""
CHOSEN = 2


def tables(codec: Any, known: Sequence[Request]) -> Iterator[bytes]:
    """Yield the input of a client, from its third byte on, for each reply that is a table: asked for, in three parts.

    `known` are the requests that bytes select from.
    """
    asked = {type(request): at for at, request in enumerate(known[:256])}
    for request, at in asked.items():
        for kind in codec.profile.replies[request]:
            fields = codec.layout(kind).fields
            name, form = fields[-1] if fields else ("", None)
            if isinstance(form, Repeated):
                reply = kind(**{name: tuple(_part(codec, form.part, number) for number in range(1, PARTS + 1))})
                yield bytes([1, at]) + codec.answers[request][kind](reply)


def _part(codec: Any, part: type[Message], number: int) -> Message:
    """Return a part without rows, whose other fields are `number`."""
    return part(**{name: () if isinstance(form, Rows) else number for name, form in codec.layout(part).fields})


def cut_by(number: int, data: bytes) -> Iterator[bytes]:
    """Yield inputs of an endpoint with that rest whose check, which the input draws, cuts the stream."""
    some = (bytes([number, cut]) + data for cut in range(256))
    return islice((one for one in some if check_of(one) is CodecCheck.SEGMENTATION), CHOSEN)
