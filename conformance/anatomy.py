"""Where the requests and fields of sent bytes begin, found by reading the bytes back as a server would."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.symbols import Symbols
from protocols import NEED_DATA, Connection, Layout, Message, ProtocolError
from protocols.connection import Event


@dataclass(frozen=True, slots=True)
class Anatomy:
    """What some bytes are made of."""

    boundaries: tuple[int, ...]
    """Offsets, ascending, at which a field or a request begins or ends; never 0 nor the size."""
    whole: bool
    """They are requests, each of them complete, and nothing else."""


def anatomy(symbols: Symbols, data: bytes) -> Anatomy:
    """Return the anatomy of `data`; what cannot be read as requests has no boundaries."""
    reader = symbols.protocol.link.server(symbols.codec)
    marks, stop = {0}, 0
    reader.receive_data(data)
    while isinstance(message := _next(reader), Message):
        start, stop = reader.span
        marks.update(start + one for one in field_boundaries(symbols.codec.layout(type(message)), message))
        marks.add(stop)
    return Anatomy(tuple(sorted(marks - {0, len(data)})), whole=stop == len(data))


def _next(reader: Connection) -> Event:
    try:
        return reader.next_event()
    except ProtocolError:
        return NEED_DATA


def field_boundaries(layout: Layout, message: Message) -> list[int]:
    """Return the offsets within `message` at which a field or the body of a blob begins or ends."""
    return sorted({len(layout.lead), *(end for one in layout.places(message) for end in (one.start, one.stop))})
