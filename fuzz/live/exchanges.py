"""The connections of a trace: requests, replies and missing replies, decoded as a client would."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from typing import cast

from wireproof.conformance.model.trace import Kind, Trace, TraceEvent
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.following import Follower
from wireproof.protocols import LocalProtocolError, Message, RemoteProtocolError, Request, Role
from wireproof.protocols.dissect import Dissection, Frame
from wireproof.protocols.links import Link

__all__ = ["BY_TARGET", "FollowedTrace", "PlayedConnection", "lines", "shape_of"]

BY_TARGET = frozenset({Kind.ENDED, Kind.RESET})
NOT_FOLLOWED = frozenset({"~probe", "~datagram"})
"""Connections that a play opens by itself (`execution.PROBES`)."""


@dataclass
class PlayedConnection:
    """One connection from its opening to its end."""

    name: str
    context: FuzzContext
    link_name: str = ""
    sent: bytearray = field(default_factory=bytearray)
    received: bytearray = field(default_factory=bytearray)
    ends: list[Kind] = field(default_factory=list)
    """How it ended: by the target (`BY_TARGET`), by the script (HALF_CLOSED, CLOSED), or by both."""
    is_given_up: bool = False
    """Whether nothing came in time, although something was due."""
    lost: bool = False
    """Whether a write was not sent completely, or not all was read: how much arrived, or came, is unknown."""
    last: Kind | None = None
    """The result of the latest read."""
    _chunks: list[tuple[Role | None, bytes]] = field(default_factory=list)
    """Who sent what; None where TLS begins."""
    _read: int = 0
    """How many of the chunks were read."""
    _counted: int = 0
    """How many requests were looked at, and how many of them must have a reply."""
    _answerable: int = 0

    def __post_init__(self) -> None:
        self.link: Link = self.context.symbols.protocol.link_of(self.link_name)
        self._new = self.context.dissection(self.link_name)

    def see(self, event: TraceEvent) -> None:
        """Add its next event."""
        if event.kind is Kind.SENT:
            self._chunks.append((Role.CLIENT, event.data))
            self.sent += event.data
        elif event.kind is Kind.RECEIVED:
            self._chunks.append((Role.SERVER, event.data))
            self.received += event.data
            self.last = event.kind
        elif event.kind is Kind.SECURED:
            self._chunks.append((None, b""))
        elif event.kind in BY_TARGET or event.kind in (Kind.HALF_CLOSED, Kind.CLOSED):
            self.ends.append(event.kind)
        elif event.kind is Kind.SILENT:
            self.lost = self.lost or bool(event.data)
            self.last = event.kind

    @property
    def ended(self) -> Kind | None:
        """How it ended first; None if it is open."""
        return self.ends[0] if self.ends else None

    @property
    def is_ended_by_target(self) -> bool:
        """Whether the target ended it, be it after a half close."""
        return not BY_TARGET.isdisjoint(self.ends)

    @property
    def is_over(self) -> bool:
        """Whether nothing can come any more: the target ended it, or the script closed it."""
        return self.is_ended_by_target or Kind.CLOSED in self.ends

    @property
    def _dissection(self) -> Dissection:
        """The dissection of both directions so far."""
        if self._read < len(self._chunks):
            for sender, data in self._chunks[self._read :]:
                if sender is not None:
                    self._new.feed(sender, data)
                else:
                    self._new.follow_tls()
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
    def is_asked_well(self) -> bool:
        """Whether all that was sent was sent, and belongs to requests so far; the last one need not be whole."""
        return self._dissection.of_client.error is None and not self.lost

    @property
    def may_be_misread(self) -> bool:
        """Whether a reply that several kinds of requests may get was the first after one that is mostly not answered.

        It may be about either of the two, and so each later one may be about another request.
        """
        replies = self.context.symbols.codec.profile.replies
        kinds = Counter(one for answers in replies.values() for one in answers)
        answered = {id(request): reply for request, reply in self._dissection.pairs}
        is_open = False
        for frame in self._dissection.of_client.frames:
            if not replies[type(cast(Request, frame.message))]:
                is_open = True
            elif (reply := answered.get(id(frame))) is not None:
                if is_open and kinds[type(reply.message)] > 1:
                    return True
                is_open = False
        return False

    @property
    def unfinished(self) -> int:
        """Bytes of a request that is not whole."""
        return self._dissection.of_client.buffered

    @property
    def turns_to_tls(self) -> bool:
        """Whether TLS may come next; tried on a copy, so that this connection does not switch."""
        if not self.link.tls or self.due <= 0 or self.is_inside_tls:
            return False
        dissection = self.context.dissection(self.link_name)
        for sender, data in self._chunks:
            if sender is not None:
                dissection.feed(sender, data)
        try:
            dissection.of_client.start_tls()
        except LocalProtocolError:
            return False
        return True

    @property
    def is_inside_tls(self) -> bool:
        """Whether TLS was begun."""
        return any(sender is None for sender, _ in self._chunks)

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
        dissection = self._dissection
        frames, replies = dissection.of_client.frames, self.context.symbols.codec.profile.replies
        for number in range(self._counted, len(frames)):
            self._answerable += bool(replies[type(cast(Request, frames[number].message))])
        self._counted = len(frames)
        return self._answerable - len(dissection.pairs)

    @property
    def answerable(self) -> list[Request]:
        """The requests that have replies at all."""
        replies = self.context.symbols.codec.profile.replies
        return [one for one in self.requests if replies[type(one)]]

    @property
    def asks_what_is_optional(self) -> bool:
        """Whether it sent a request that a server may answer as it likes, which makes what came after it uncertain."""
        optional = self.context.optional
        return bool(optional) and any(one.NAME in optional for one in self.requests)

    @property
    def may_ask(self) -> bool:
        """Whether a request that needs no earlier one may be sent now."""
        return self._dissection.settled


class FollowedTrace(Trace):
    """A trace that is decoded while it grows by `append`, if it has a context."""

    def __init__(self, events: Iterable[TraceEvent] = (), context: FuzzContext | None = None) -> None:
        super().__init__(events)
        self.context = context
        self.follower: Follower | None = None
        """The model of the whole server, if it follows."""
        self.lines: list[PlayedConnection] = []
        """Every connection in order of opening; a name that is opened again is another connection."""
        self.now: dict[str, PlayedConnection] = {}
        """Name -> the connection that was opened last under that name."""

    def append(self, event: TraceEvent) -> None:
        """Add an event, and show it to its connection."""
        super().append(event)
        if self.context is None:
            return
        if event.kind is Kind.OPENED:
            self.now[event.connection] = PlayedConnection(event.connection, self.context, event.link)
            self.lines.append(self.now[event.connection])
        elif event.connection in self.now:
            self.now[event.connection].see(event)
        if self.follower is not None and event.connection not in NOT_FOLLOWED:
            self.follower.see(event, self.now.get(event.connection))


def lines(trace: Iterable[TraceEvent], context: FuzzContext) -> list[PlayedConnection]:
    """Return every connection of a trace in order of opening; a name that is opened again is another connection."""
    if isinstance(trace, FollowedTrace) and trace.context is context:
        return trace.lines
    followed = FollowedTrace(context=context)
    for event in trace:
        followed.append(event)
    return followed.lines


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
