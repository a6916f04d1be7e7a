"""Where the requests and fields of sent bytes begin, found by reading the bytes back as a server would."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from wireproof.conformance.suite.symbols import Symbols
from wireproof.protocols import Layout, LocalProtocolError, Message, Role
from wireproof.protocols.codec import Codec
from wireproof.protocols.dissect import Dissection
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
        self._dissection = Dissection(link, codec)

    def read(self, data: bytes) -> Anatomy:
        """Return the anatomy of the next bytes sent."""
        if not data:
            return Anatomy((), whole=True)
        sent = self._dissection.of_client
        began, marks = sent.size, set[int]()
        for frame in self._dissection.feed(Role.CLIENT, data):
            start, stop = frame.span
            layout = self._codec.layout(type(frame.message))
            marks |= {stop, *(start + one for one in field_boundaries(layout, frame.message))}
        if sent.is_stopped:
            self._dissection = Dissection(self._link, self._codec)
        inside = (one - began for one in marks)
        return Anatomy(tuple(sorted(one for one in inside if 0 < one < len(data))), whole=sent.is_whole)

    def start_tls(self) -> None:
        """See `Connection.start_tls`."""
        with suppress(LocalProtocolError):
            self._dissection.of_client.start_tls()

    def answered(self, reply: Message) -> None:
        """Follow what the target answered: it may decide how the next request is read."""
        self._dissection.note_reply(reply)


def boundaries_of(symbols: Symbols, data: bytes) -> Anatomy:
    """Return the anatomy of the first bytes that a connection sends."""
    return BoundaryReader(symbols.protocol.link, symbols.codec).read(data)


def field_boundaries(layout: Layout, message: Message) -> list[int]:
    """Return the offsets within `message` at which a field or the body of a blob begins or ends."""
    return sorted({len(layout.lead), *(end for one in layout.places(message) for end in (one.start, one.stop))})
