"""The connections of a trace: requests, replies and missing replies, decoded as a client would."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

from wireproof.conformance.model.trace import Kind, TraceEvent
from wireproof.fuzz.live.context import FuzzContext
from wireproof.protocols import LocalProtocolError, Message, RemoteProtocolError, Request, Role
from wireproof.protocols.dissect import Dissection, Frame
from wireproof.protocols.links import Link

__all__ = ["BY_TARGET", "PlayedConnection", "lines", "shape_of"]

BY_TARGET = frozenset({Kind.ENDED, Kind.RESET})


@dataclass
class PlayedConnection:
    """One connection from its opening to its end."""

    name: str
    context: FuzzContext
    link_name: str = ""
    sent: bytearray = field(default_factory=bytearray)
    received: bytearray = field(default_factory=bytearray)
    ended: Kind | None = None
    """How it ended: by the target, or by the script (HALF_CLOSED, CLOSED)."""
    lost: bool = False
    """Whether a write was not sent completely: how much of it arrived is unknown."""
    last: Kind | None = None
    """The result of the latest read."""
    _chunks: list[tuple[Role, bytes]] = field(default_factory=list)
    _read: int = 0
    """How many of the chunks were read."""

    def see(self, event: TraceEvent) -> None:
        """Add its next event."""
        if event.kind is Kind.SENT:
            self._chunks.append((Role.CLIENT, event.data))
            self.sent += event.data
        elif event.kind is Kind.RECEIVED:
            self._chunks.append((Role.SERVER, event.data))
            self.received += event.data
            self.last = event.kind
        elif event.kind in BY_TARGET or event.kind in (Kind.HALF_CLOSED, Kind.CLOSED):
            self.ended = self.ended or event.kind
        elif event.kind is Kind.SILENT:
            self.lost = self.lost or bool(event.data)
            self.last = event.kind

    @property
    def link(self) -> Link:
        """Its link."""
        return self.context.symbols.protocol.link_of(self.link_name)

    @cached_property
    def _new(self) -> Dissection:
        return self.context.dissection(self.link_name)

    @property
    def _dissection(self) -> Dissection:
        """The dissection of both directions so far."""
        for sender, data in self._chunks[self._read :]:
            self._new.feed(sender, data)
        self._read = len(self._chunks)
        return self._new

    @property
    def requests(self) -> list[Request]:
        """The whole requests before the first byte that belongs to none."""
        return self._dissection.requests

    @property
    def request_frames(self) -> list[Frame]:
        """The same requests with their spans in the sent bytes."""
        return self._dissection.of_client.frames

    @property
    def valid(self) -> bool:
        """Whether only whole requests were sent, all of them arrived, and the script did not end it or ask for TLS."""
        cut_short = self.lost or self.ended in (Kind.HALF_CLOSED, Kind.CLOSED)
        return self._dissection.of_client.is_whole and not cut_short and not self.turns_to_tls

    @property
    def turns_to_tls(self) -> bool:
        """Whether TLS may come next; tried on a copy, so that this connection does not switch."""
        if not self.link.tls or self.due <= 0:
            return False
        dissection = self.context.dissection(self.link_name)
        for sender, data in self._chunks:
            dissection.feed(sender, data)
        try:
            dissection.of_client.start_tls()
        except LocalProtocolError:
            return False
        return True

    @property
    def answered(self) -> list[tuple[Request, Message]]:
        """Requests with their replies, in order."""
        return [(cast(Request, request.message), reply.message) for request, reply in self._dissection.pairs]

    @property
    def messages(self) -> list[tuple[Message, Request | None]]:
        """All received messages, each with the request that it answers; None for a push."""
        frames = self._dissection.of_server.frames
        return [(one.message, cast(Request, one.request.message) if one.request else None) for one in frames]

    @property
    def broken(self) -> RemoteProtocolError | None:
        """Why the received bytes cannot be decoded to their end; None if they can."""
        return self._dissection.of_server.error

    @property
    def is_ambiguous(self) -> bool:
        """Whether the received bytes can be decoded in two ways."""
        return self._dissection.ambiguous_at is not None

    @property
    def clear(self) -> bool:
        """Whether the received bytes decode in one way and to their end."""
        return self.broken is None and not self.is_ambiguous and not self._dissection.of_server.buffered

    @property
    def due(self) -> int:
        """The number of requests that must have a reply and have none."""
        if self.link.transport != "stream":
            return 0
        return len(self.answerable) - len(self._dissection.pairs)

    @property
    def answerable(self) -> list[Request]:
        """The requests that have replies at all."""
        replies = self.context.symbols.codec.profile.replies
        return [one for one in self.requests if replies[type(one)]]

    @property
    def may_ask(self) -> bool:
        """Whether a request that needs no earlier one may be sent now."""
        return self._dissection.settled


def lines(trace: Iterable[TraceEvent], context: FuzzContext) -> list[PlayedConnection]:
    """Return every connection of a trace in order of opening; a name that is opened again is another connection."""
    found: list[PlayedConnection] = []
    now: dict[str, PlayedConnection] = {}
    for event in trace:
        if event.kind is Kind.OPENED:
            now[event.connection] = PlayedConnection(event.connection, context, event.link)
            found.append(now[event.connection])
        elif event.connection in now:
            now[event.connection].see(event)
    return found


def shape_of(reply: Message, enums: Container[str] = ()) -> str:
    """Return the shape of a reply: name, flags, fields in `enums`, and the sizes of other fields as 0, 1 or many."""
    parts = [reply.NAME]
    for name in reply.__struct_fields__:
        value = getattr(reply, name)
        if isinstance(value, bool) or name in enums:
            parts.append(f"{name}={value}")
        elif isinstance(value, bytes | tuple):
            parts.append(f"{name}:{min(len(value), 2)}")
    return " ".join(parts)
