"""Where the requests and fields of sent bytes begin, found by reading the bytes back as a server would."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from wireproof.conformance.suite.symbols import Symbols
from wireproof.protocols import NEED_DATA, Connection, Layout, LocalProtocolError, Message, ProtocolError
from wireproof.protocols.codec import Codec
from wireproof.protocols.connection import Event
from wireproof.protocols.links import Link


@dataclass(frozen=True, slots=True)
class Anatomy:
    """What some bytes are made of."""

    boundaries: tuple[int, ...]
    """Offsets, ascending, at which a field or a request begins or ends; never 0 nor the size."""
    whole: bool
    """They are requests, each of them complete, and nothing else."""


class BoundaryReader:
    """Reads what one connection sends, write after write; what a write cannot be read as has no boundaries."""

    def __init__(self, link: Link, codec: Codec) -> None:
        self._link = link
        self._codec = codec
        self._reader = link.server(codec)

    def read(self, data: bytes) -> Anatomy:
        """Return the anatomy of the next bytes sent."""
        if not data:
            return Anatomy((), whole=True)
        reader = self._reader
        began = reader.received + reader.buffered
        marks, stop = {began}, began
        reader.receive_data(data)
        while isinstance(message := _next(reader), Message):
            start, stop = reader.span
            marks.update(start + one for one in field_boundaries(self._codec.layout(type(message)), message))
            marks.add(stop)
        whole = stop == began + len(data)
        if not whole and not reader.buffered:
            self._reader = self._link.server(self._codec)
        inside = (one - began for one in marks)
        return Anatomy(tuple(sorted(one for one in inside if 0 < one < len(data))), whole=whole)

    def start_tls(self) -> None:
        """See `Connection.start_tls`."""
        with suppress(LocalProtocolError):
            self._reader.start_tls()

    def answered(self, message: Message) -> None:
        """Follow what the target said: an answer may tell how the next request is read."""
        with suppress(LocalProtocolError):
            self._reader.send(message)


def boundaries_of(symbols: Symbols, data: bytes) -> Anatomy:
    """Return the anatomy of the first bytes that a connection sends."""
    return BoundaryReader(symbols.protocol.link, symbols.codec).read(data)


def _next(reader: Connection) -> Event:
    try:
        return reader.next_event()
    except ProtocolError:
        return NEED_DATA


def field_boundaries(layout: Layout, message: Message) -> list[int]:
    """Return the offsets within `message` at which a field or the body of a blob begins or ends."""
    return sorted({len(layout.lead), *(end for one in layout.places(message) for end in (one.start, one.stop))})
