"""The whole server in the model: what each request goes to, and INFO, WHOAMI and EVENT."""

from __future__ import annotations

from wireproof.protocols.errors import MalformedFrameError
from wireproof.protocols.messages import Message, Push, Request
from wireproof.protocols.profile import Profile
from wireproof.protocols.throttr import Codec
from wireproof.protocols.throttr.replies import (
    ChannelsReply,
    ConnectionsReply,
    EventReply,
    InfoReply,
    ListReply,
    StatsReply,
    WhoamiReply,
)
from wireproof.protocols.throttr.requests import (
    Channel,
    ConnectionById,
    ConnectionByIndex,
    Event,
    Publish,
    Subscribe,
    Unsubscribe,
    Whoami,
)
from wireproof.reference_server.model import Disagreement, Window
from wireproof.reference_server.throttr.oracle.channels import Channels
from wireproof.reference_server.throttr.oracle.peers import COUNTED, Peer, Peers, bounds
from wireproof.reference_server.throttr.oracle.records import Records

__all__ = ["DocumentModel"]

STANDING = ("running_since", "version")
"""Fields of INFO that never change (INFO-29, INFO-32)."""


class DocumentModel:
    """See `wireproof.reference_server.model.ServerModel`.

    Time is exact up to `tolerance_ns`; with `shared`, others may use the server and leave records and channels there:
    then counts have no upper bound, and names of ours are asked for by nobody else.
    """

    push_clause = "THR-PUSH-4"

    def __init__(self, profile: Profile, variant: str, *, tolerance_ns: int, shared: bool) -> None:
        self._codec = Codec.of(profile, variant)
        self._shared = shared
        self.records = Records(profile, variant, tolerance_ns=tolerance_ns, shared=shared)
        self.peers = Peers(profile, tolerance_ns=tolerance_ns, shared=shared)
        self.channels = Channels(profile, variant, self.peers, tolerance_ns=tolerance_ns, shared=shared)
        self._standing: dict[str, object] = {}

    def greeting(self) -> tuple[Request, ...]:
        """See `ServerModel`."""
        return (Whoami(),)

    def connect(self, connection: str, at: Window, port: int | None) -> None:
        """See `ServerModel`."""
        self.channels.connected(self.peers.open(connection, at, port))

    def disconnect(self, connection: str, at: Window) -> None:
        """See `ServerModel`."""
        self.peers.close(connection, at)

    def sent(self, connection: str, request: Request) -> None:
        """See `ServerModel`."""
        self.peers.by_name[connection].pending[request.NAME] += 1

    def answered(self, connection: str, request: Request, reply: Message, at: Window) -> Disagreement | None:
        """See `ServerModel`."""
        peer = self.peers.by_name[connection]
        found = self._judged(peer, request, reply, at)
        peer.heard = True
        peer.pending[request.NAME] -= 1
        peer.answered[request.NAME] += 1
        return found

    def pushed(self, connection: str, push: Push) -> None:
        """See `ServerModel`."""
        self.channels.pushed(self.peers.by_name[connection], push)

    def owed(self, connection: str) -> str | None:
        """See `ServerModel`."""
        return self.channels.owed(self.peers.by_name[connection])

    def unexpected(self, at: Window) -> Disagreement | None:
        """See `ServerModel`."""
        return self.channels.unexpected(at)

    def instants(self) -> list[int]:
        """See `ServerModel`."""
        return self.records.instants()

    def _judged(self, peer: Peer, request: Request, reply: Message, at: Window) -> Disagreement | None:
        if self.records.is_about_one(request):
            return self.records.answered(request, reply, at)
        match reply:
            case InfoReply():
                return self._info(reply, at)
            case WhoamiReply():
                return self._told_id(peer, reply)
        return self._judged_rows(reply, at) or self._judged_channel(peer, request, reply, at)

    def _told_id(self, peer: Peer, reply: WhoamiReply) -> Disagreement | None:
        is_news, found = peer.id is None, self.peers.whoami(peer, reply)
        if is_news:
            self.channels.named(peer)
        return found

    def _judged_rows(self, reply: Message, at: Window) -> Disagreement | None:
        match reply:
            case ListReply():
                return self.records.listed(reply, at)
            case StatsReply():
                return self.records.told_of_all(reply, at)
            case ConnectionsReply():
                return self.peers.listed(reply, at)
            case ChannelsReply():
                return self.channels.listed(reply, at)
        return None

    def _judged_channel(self, peer: Peer, request: Request, reply: Message, at: Window) -> Disagreement | None:
        match request:
            case ConnectionById() | ConnectionByIndex():
                return self.peers.found(request, reply, at)
            case Subscribe():
                return self.channels.subscribed(peer, request, reply)
            case Unsubscribe():
                return self.channels.unsubscribed(peer, request, reply)
            case Publish():
                return self.channels.published(peer, request, reply, at)
            case Channel():
                return self.channels.found(request, reply, at)
            case Event():
                return self._carried(peer, request, reply, at)
        return None

    def _carried(self, peer: Peer, event: Event, reply: Message, at: Window) -> Disagreement | None:
        """Judge what an EVENT carried; refused, it may have been whole all the same (T36)."""
        try:
            inner = self._codec.whole_request(event.payload)
        except MalformedFrameError:
            return None
        peer.carried[inner.NAME] += 1
        return self._judged(peer, inner, reply.reply, at) if isinstance(reply, EventReply) else None

    def _info(self, reply: InfoReply, at: Window) -> Disagreement | None:
        """Judge INFO: totals, counts and what stands; instants, bytes and minutes are open (T24, T27, T34, INFO-18)."""
        counts = {**self.records.counted(at), **self.channels.counted(at), "connections": self.peers.number(at)}
        counts |= {f"total_{kind.lower()}": self.peers.totals(kind) for kind in COUNTED}
        counts["total_requests"] = self._total()
        for name, (least, most) in counts.items():
            told = getattr(reply, name)
            if told < least or (told > most and not self._shared):
                words = f"INFO: {name} is {told}, expected {least} to {most}"
                return Disagreement(words, f"INFO {name}", "THR-EXPIRY-8" if name == "keys" else None)
        for name in STANDING:
            told, before = getattr(reply, name), self._standing.setdefault(name, getattr(reply, name))
            if told != before:
                return Disagreement(f"INFO: {name} was {before!r}, is {told!r}", f"INFO {name} changed", "THR-INFO-29")
        return None

    def _total(self) -> tuple[int, int]:
        """Return the bounds of all requests; EVENT and what it carries may count (INFO-35)."""
        kinds = {kind for peer in self.peers for kind in (*peer.answered, *peer.pending, *peer.carried)}
        event = bounds(self.peers, Event.NAME)
        sums = [bounds(self.peers, kind) for kind in kinds - {Event.NAME}]
        return sum(least for least, _ in sums), sum(most for _, most in sums) + event[1]
