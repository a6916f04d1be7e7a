"""What a trace says of each connection: what was asked, what was answered, what is missing; read as a client would."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from functools import cached_property

from wireproof.conformance.model.trace import Kind, TraceEvent
from wireproof.fuzz.connection_reader import Following
from wireproof.fuzz.live.context import FuzzContext
from wireproof.protocols import LocalProtocolError, Message, RemoteProtocolError, Request
from wireproof.protocols.links import Link

__all__ = ["BY_TARGET", "Line", "lines", "shape_of"]

BY_TARGET = frozenset({Kind.ENDED, Kind.RESET})


@dataclass
class Line:
    """One connection from its opening to its end."""

    name: str
    context: FuzzContext
    link_name: str = ""
    sent: bytearray = field(default_factory=bytearray)
    received: bytearray = field(default_factory=bytearray)
    ended: Kind | None = None
    """How it ended: by the target, or by the script (HALF_CLOSED, CLOSED)."""
    lost: bool = False
    """A write did not leave: what the target has of it is unknown."""
    last: Kind | None = None
    """The latest thing that came of reading it."""
    _said: list[tuple[Kind, bytes]] = field(default_factory=list)
    _read: int = 0
    """How much of what was said was read."""

    def see(self, event: TraceEvent) -> None:
        """Take its next event."""
        if event.kind in (Kind.SENT, Kind.RECEIVED):
            self._said.append((event.kind, event.data))
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

    @property
    def link(self) -> Link:
        """What is spoken on it."""
        return self.context.symbols.protocol.link_of(self.link_name)

    @cached_property
    def _new(self) -> Following:
        return self.context.following(self.link_name)

    @property
    def _following(self) -> Following:
        """What was read of both directions up to now."""
        for kind, data in self._said[self._read :]:
            (self._new.sent if kind is Kind.SENT else self._new.came)(data)
        self._read = len(self._said)
        return self._new

    @property
    def requests(self) -> list[Request]:
        """The whole requests that were sent before anything that is none."""
        return self._following.requests

    @property
    def stops(self) -> list[int]:
        """Where each of the requests ends in what was sent."""
        return self._following.stops

    @property
    def valid(self) -> bool:
        """Whether nothing but whole requests was sent, all of it left, nobody cut it short nor asked for TLS."""
        cut_short = self.lost or self.ended in (Kind.HALF_CLOSED, Kind.CLOSED)
        return self._following.whole and not cut_short and not self.turns_to_tls

    @property
    def turns_to_tls(self) -> bool:
        """Say whether what comes next is TLS, an alert perhaps; that is tried elsewhere, so as not to turn."""
        if not self.link.tls or self.due <= 0:
            return False
        reader = self.context.following(self.link_name)
        for kind, data in self._said:
            (reader.sent if kind is Kind.SENT else reader.came)(data)
        try:
            reader.server.start_tls()
        except LocalProtocolError:
            return False
        return True

    @property
    def answered(self) -> list[tuple[Request, Message]]:
        """Requests with their replies, in order."""
        return self._following.pairs

    @property
    def messages(self) -> list[tuple[Message, Request | None]]:
        """All that came, with the request it answers; None for a push."""
        return self._following.messages

    @property
    def broken(self) -> RemoteProtocolError | None:
        """Why what came cannot be read to its end."""
        return self._following.broken

    @property
    def is_ambiguous(self) -> bool:
        """Say whether what came can be read in two ways."""
        return self._following.client.ambiguous_at is not None

    @property
    def clear(self) -> bool:
        """Whether what came can be read in one way, and to its end."""
        return self.broken is None and not self.is_ambiguous and not self._following.client.buffered

    @property
    def due(self) -> int:
        """How many requests have no reply and must have one."""
        return len(self.requests) - len(self.answered) if self.link.transport == "stream" else 0

    @property
    def may_ask(self) -> bool:
        """Say whether a request that stands for itself may be sent now."""
        return self._following.client.settled


def lines(trace: Iterable[TraceEvent], context: FuzzContext) -> list[Line]:
    """Return every connection of a trace, in the order they were opened; a name that was opened again is another."""
    found: list[Line] = []
    now: dict[str, Line] = {}
    for event in trace:
        if event.kind is Kind.OPENED:
            now[event.connection] = Line(event.connection, context, event.link)
            found.append(now[event.connection])
        elif event.connection in now:
            now[event.connection].see(event)
    return found


def shape_of(reply: Message, enums: Container[str] = ()) -> str:
    """Return what kind of a reply it is: name, flags, `enums`, and whether what it holds is none, one or many."""
    told = [reply.NAME]
    for name in reply.__struct_fields__:
        value = getattr(reply, name)
        if isinstance(value, bool) or name in enums:
            told.append(f"{name}={value}")
        elif isinstance(value, bytes | tuple):
            told.append(f"{name}:{min(len(value), 2)}")
    return " ".join(told)
