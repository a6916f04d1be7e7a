"""What a trace says of each connection: what was asked, what was answered, what is missing; read as a client would."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from conformance.trace import Kind, TraceEvent
from fuzz.live.ground import Ground
from protocols import NEED_DATA, EndOfStream, Message, Push, RemoteProtocolError, Request
from protocols.connection import Client

__all__ = ["Line", "lines", "shape_of"]

BY_TARGET = frozenset({Kind.ENDED, Kind.RESET})


@dataclass
class Line:
    """One connection from its opening to its end."""

    name: str
    ground: Ground
    sent: bytearray = field(default_factory=bytearray)
    received: bytearray = field(default_factory=bytearray)
    ended: Kind | None = None
    """How it ended: by the target, or by the script (HALF_CLOSED, CLOSED)."""
    lost: bool = False
    """A write did not leave: what the target has of it is unknown."""
    last: Kind | None = None
    """The latest thing that came of reading it."""

    def see(self, event: TraceEvent) -> None:
        """Take its next event."""
        if event.kind is Kind.SENT:
            self.sent += event.data
        elif event.kind is Kind.RECEIVED:
            self.received += event.data
            self.last = event.kind
        elif event.kind in BY_TARGET or event.kind in (Kind.HALF_CLOSED, Kind.CLOSED):
            self.ended = self.ended or event.kind
        elif event.kind is Kind.SILENT:
            self.lost = self.lost or bool(event.data)
            self.last = event.kind

    @cached_property
    def _asked(self) -> tuple[list[Request], bool]:
        return self.ground.requests(bytes(self.sent))

    @property
    def requests(self) -> list[Request]:
        """The whole requests that were sent before anything that is none."""
        return self._asked[0]

    @property
    def valid(self) -> bool:
        """Whether nothing but whole requests was sent, all of it left, and nobody cut it short."""
        return self._asked[1] and not self.lost and self.ended not in (Kind.HALF_CLOSED, Kind.CLOSED)

    @cached_property
    def _heard(self) -> tuple[list[tuple[Request, Message]], bool]:
        """Return requests with their replies, and whether all that came could be read, and in one way only."""
        spoken, codec = self.ground.symbols.protocol, self.ground.symbols.codec
        client: Client = spoken.link.client(codec)
        for request in self.requests:
            client.await_reply(request)
        client.receive_data(bytes(self.received))
        pairs: list[tuple[Request, Message]] = []
        try:
            while (event := client.next_event()) is not NEED_DATA and not isinstance(event, EndOfStream):
                if not isinstance(event, Push) and client.answered is not None:
                    pairs.append((client.answered, event))
        except RemoteProtocolError:
            return pairs, False
        return pairs, client.ambiguous_at is None and not client.buffered

    @property
    def answered(self) -> list[tuple[Request, Message]]:
        """Requests with their replies, in order."""
        return self._heard[0]

    @property
    def clear(self) -> bool:
        """Whether what came can be read in one way, and to its end."""
        return self._heard[1]

    @property
    def due(self) -> int:
        """How many requests have no reply."""
        return len(self.requests) - len(self.answered)


def lines(trace: Iterable[TraceEvent], ground: Ground) -> list[Line]:
    """Return every connection of a trace, in the order they were opened; a name that was opened again is another."""
    found: list[Line] = []
    now: dict[str, Line] = {}
    for event in trace:
        if event.kind is Kind.OPENED:
            now[event.connection] = Line(event.connection, ground)
            found.append(now[event.connection])
        elif event.connection in now:
            now[event.connection].see(event)
    return found


def shape_of(reply: Message) -> str:
    """Return what kind of a reply it is: its name, flags, and whether what it holds is none, one or many."""
    told = [reply.NAME]
    for name in reply.__struct_fields__:
        value = getattr(reply, name)
        if isinstance(value, bool):
            told.append(f"{name}={value}")
        elif isinstance(value, bytes | tuple):
            told.append(f"{name}:{min(len(value), 2)}")
    return " ".join(told)
