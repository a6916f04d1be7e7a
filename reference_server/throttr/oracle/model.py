"""The model of the whole server: passes each answer to its part; judges INFO, WHOAMI and EVENT itself."""

from __future__ import annotations

from collections.abc import Callable

from wireproof.protocols.errors import MalformedFrameError
from wireproof.protocols.messages import Message, Request
from wireproof.protocols.profile import Profile
from wireproof.protocols.throttr import Codec
from wireproof.protocols.throttr.replies import (
    ChannelsReply,
    ConnectionsReply,
    EventReply,
    InfoReply,
    ListReply,
    StatsReply,
    Status,
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
from wireproof.reference_server.model import Disagreement, NeverEnding, Window
from wireproof.reference_server.throttr.oracle.channels import Channels
from wireproof.reference_server.throttr.oracle.peers import COUNTED, Peer, Peers, bounds
from wireproof.reference_server.throttr.oracle.records import Records

__all__ = ["DocumentModel"]

STANDING = ("running_since", "version")
"""Fields of INFO that never change (INFO-29, INFO-32)."""

INFO_RECORDS = {"keys": 21, "counters": 22, "buffers": 23}
INFO_COUNTS = {"total_requests": 6, "subscriptions": 27, "channels": 28, "connections": 31}
"""Count of INFO -> its clause; totals of one request are INFO-8."""
READ_BYTES = ("total_read_bytes", "read_bytes_per_minute")
"""Fields of INFO that are open, but never above what was sent."""


class DocumentModel(NeverEnding):
    """The model of a whole server (`wireproof.reference_server.model.ServerModel`).

    Times are compared within `tolerance_ns`. With `shared`, others may use the server: then counts have no upper
    bound, and nobody else uses our names.
    """

    expects_answers = False
    settles_by_request = False

    def __init__(self, profile: Profile, variant: str, *, tolerance_ns: int, shared: bool) -> None:
        self._codec = Codec.of(profile, variant)
        self._shared = shared
        self.records = Records(profile, variant, tolerance_ns=tolerance_ns, shared=shared)
        self.peers = Peers(profile, tolerance_ns=tolerance_ns, shared=shared)
        self.channels = Channels(profile, variant, self.peers, tolerance_ns=tolerance_ns, shared=shared)
        self._standing: dict[str, object] = {}

    def greeting(self, link: str = "") -> tuple[Request, ...]:
        """Return the first requests of a connection."""
        return (Whoami(),)

    def limited(self, subscriptions: int) -> None:
        """Report how many subscriptions a connection may have."""
        self.channels.most = subscriptions

    def shares(self, is_ours: Callable[[bytes], bool]) -> None:
        """Report which keys and channels nobody else has ever used."""
        self.records.shared_keys.is_ours = self.channels.is_ours = self.channels.is_our_payload = is_ours

    def forgets(self, request: Request | None) -> bool:
        """Report an answer, or with None a push, that is known to be wrong; return whether the rest can be judged."""
        if request is None:
            self.channels.forgive()
        elif self.records.is_about_one(request):
            self.records.forget(request)
        else:
            return not isinstance(request, Subscribe | Unsubscribe | Publish | Event)
        return True

    def performed(self, request: Request, reply: Message | None) -> bool:
        """Return whether an answer shows that what a request carries was performed, however many carry it (T36)."""
        while isinstance(request, Event) and isinstance(reply, EventReply):
            try:
                request, reply = self._codec.whole_request(request.payload), reply.reply
            except MalformedFrameError:
                return False
        return not isinstance(request, Event) and not (isinstance(reply, Status) and not reply.ok)

    def connect(self, connection: str, at: Window, port: int | None, link: str = "") -> None:
        """Report a new connection; `port` is the client's, if there is one."""
        self.channels.connected(self.peers.open(connection, at, port))

    def disconnect(self, connection: str, at: Window) -> None:
        """Report that either side closed a connection."""
        self.peers.close(connection, at)

    def carried(self, connection: str, number: int) -> None:
        """Report that the server was sent so many bytes."""
        self.peers.carried(connection, number)

    def sent(self, connection: str, request: Request) -> None:
        """Report a request when it is written."""
        self.peers.by_name[connection].pending[request.NAME] += 1

    def answered(self, connection: str, request: Request, reply: Message | None, at: Window) -> Disagreement | None:
        """Judge the reply to the oldest pending request of a connection; None if it is allowed."""
        assert reply is not None
        peer = self.peers.by_name[connection]
        found = self._judged(peer, request, reply, at)
        peer.is_known = True
        peer.pending[request.NAME] -= 1
        peer.answered[request.NAME] += 1
        return found

    def pushed(self, connection: str, push: Message) -> None:
        """Report a push."""
        self.channels.pushed(self.peers.by_name[connection], push)

    def due_message(self, connection: str) -> str | None:
        """Return a description of the first push that must still arrive; None if there is none."""
        return self.channels.due_message(self.peers.by_name[connection])

    def due_clause(self, connection: str) -> str:
        """Return the clause of the first push that must still arrive."""
        return self.channels.due_clause(self.peers.by_name[connection])

    def unexpected(self, at: Window) -> Disagreement | None:
        """Judge the pushes once every request is answered; None if they are allowed."""
        return self.channels.unexpected(at)

    def instants(self) -> list[int]:
        """Return the instants, in ns and ascending, at which records expire, or show a lower TTL."""
        return self.records.instants()

    def _judged(self, peer: Peer, request: Request, reply: Message, at: Window) -> Disagreement | None:
        if self.records.is_about_one(request):
            return self.records.answered(request, reply, at)
        match reply:
            case InfoReply():
                return self._info(reply, at)
            case WhoamiReply():
                return self._judged_id(peer, reply)
        return self._judged_rows(reply, at) or self._judged_channel(peer, request, reply, at)

    def _judged_id(self, peer: Peer, reply: WhoamiReply) -> Disagreement | None:
        is_news, found = peer.id is None, self.peers.whoami(peer, reply)
        if is_news:
            self.channels.named(peer)
        return found

    def _judged_rows(self, reply: Message, at: Window) -> Disagreement | None:
        match reply:
            case ListReply():
                return self.records.listed(reply, at)
            case StatsReply():
                return self.records.stats_listed(reply, at)
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
        """Judge the answer to the request inside an EVENT; a refused one may have been valid, too (T36).

        What is carried is asked of what writes requests: what reads them for server and client is not believed here.
        """
        try:
            inner = self._codec.whole_request(event.payload)
        except MalformedFrameError:
            return None
        if self._codec.encode(inner) != event.payload:
            detail = (
                f"EVENT: {event.payload.hex()} is taken for {inner.NAME}, which is {self._codec.encode(inner).hex()}"
            )
            return Disagreement(detail[:300], "EVENT payload", "THR-EVENT-4") if isinstance(reply, EventReply) else None
        peer.carried[inner.NAME] += 1
        self.records.touched(at)
        return self._judged(peer, inner, reply.reply, at) if isinstance(reply, EventReply) else None

    def _info(self, reply: InfoReply, at: Window) -> Disagreement | None:
        """Judge totals, counts and constants of INFO; instants, bytes and minutes are open (T24, T27, T34, INFO-18)."""
        counts = {**self.records.counted(at), **self.channels.counted(at), "connections": self.peers.number(at)}
        counts |= {f"total_{kind.lower()}": self.peers.totals(kind) for kind in COUNTED}
        counts["total_requests"] = self._total()
        for name, (least, most) in counts.items():
            got = getattr(reply, name)
            if got < least or (got > most and not self._shared):
                words = f"INFO: {name} is {got}, expected {least} to {most}"
                return Disagreement(words, f"INFO {name}", self._counted_clause(name, too_many=got > most, at=at))
        for name in READ_BYTES:
            most = self.peers.sent_bytes
            if (got := getattr(reply, name)) > most and self.peers.knows_bytes:
                words = f"INFO: {name} is {got}, but {most} were sent"
                return Disagreement(words, f"INFO {name}", "THR-INFO-18")
        for name in STANDING:
            got, before = getattr(reply, name), self._standing.setdefault(name, getattr(reply, name))
            if got != before:
                return Disagreement(f"INFO: {name} was {before!r}, is {got!r}", f"INFO {name} changed", "THR-INFO-29")
        return None

    def _counted_clause(self, name: str, *, too_many: bool, at: Window) -> str:
        """Return the clause of a count of INFO; records that have ended may be why there are too many."""
        if name in INFO_RECORDS and too_many and self.records.has_expired(at):
            return "THR-EXPIRY-8"
        if name == "subscriptions" and not self.channels.automatic:
            return "THR-INFO-26"
        return f"THR-INFO-{INFO_RECORDS.get(name) or INFO_COUNTS.get(name, 8)}"

    def _total(self) -> tuple[int, int]:
        """Return the bounds of all requests; EVENT and what it carries may count (INFO-35)."""
        kinds = {kind for peer in self.peers for kind in (*peer.answered, *peer.pending, *peer.carried)}
        event = bounds(self.peers, Event.NAME)
        sums = [bounds(self.peers, kind) for kind in kinds - {Event.NAME}]
        return sum(least for least, _ in sums), sum(most for _, most in sums) + event[1]
