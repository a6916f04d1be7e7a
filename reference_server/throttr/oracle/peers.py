"""Connections in the model: which exist, their ids and counts; judges CONNECTIONS, CONNECTION and WHOAMI.

A connection that was opened or closed less than the tolerance ago may be listed or not, unless it was answered already.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from wireproof.protocols.messages import Message, Request
from wireproof.protocols.profile import Profile
from wireproof.protocols.throttr.replies import ConnectionRow, ConnectionsReply, Status, WhoamiReply
from wireproof.protocols.throttr.requests import ConnectionById, ConnectionByIndex
from wireproof.reference_server.model import Disagreement, Window
from wireproof.reference_server.throttr.oracle.fragments import misnumbered, repeated

__all__ = ["Peer", "Peers"]

COUNTED = (
    "INSERT", "SET", "QUERY", "GET", "UPDATE", "PURGE", "LIST", "INFO", "STAT", "STATS", "PUBLISH", "SUBSCRIBE",
    "UNSUBSCRIBE", "CONNECTIONS", "CONNECTION", "CHANNELS", "CHANNEL", "WHOAMI",
)  # fmt: skip
"""The requests that have a total in rows and in INFO."""


@dataclass(eq=False)
class Peer:
    """One connection."""

    name: str
    opened: Window
    port: int | None
    id: bytes | None = None
    """Known after WHOAMI."""
    closed: Window | None = None
    is_known: bool = False
    """Whether it was answered, so that the server certainly knows it."""
    connected_at: int | None = None
    answered: Counter[str] = field(default_factory=Counter)
    pending: Counter[str] = field(default_factory=Counter)
    """Sent and not answered yet: may be counted or not (T45)."""
    carried: Counter[str] = field(default_factory=Counter)
    """Sent inside an EVENT: may be counted or not (T36)."""
    sent_bytes: int = 0
    """What the server was sent there, as far as it is reported."""


class Peers:
    """Every connection that was opened, in order."""

    def __init__(self, profile: Profile, *, tolerance_ns: int, shared: bool) -> None:
        self._tolerance, self._shared = tolerance_ns, shared
        self._reports_kind = profile.name != "7.1.0"
        self._all: list[Peer] = []
        self.by_name: dict[str, Peer] = {}
        """The open ones."""
        self.sent_bytes = 0
        self._places: dict[int, bytes] = {}
        """Position in CONNECTIONS -> id, while the same connections are open (T41)."""

    def open(self, name: str, at: Window, port: int | None) -> Peer:
        """Add a connection."""
        peer = self.by_name[name] = Peer(name, at, port)
        self._all.append(peer)
        self._places.clear()
        return peer

    def close(self, name: str, at: Window) -> None:
        """Report that a connection is gone; its pending requests may have been handled or not."""
        self.by_name.pop(name).closed = at
        self._places.clear()

    @property
    def knows_bytes(self) -> bool:
        """Whether all bytes that the server was sent are reported."""
        return bool(self.sent_bytes) and not self._shared

    def carried(self, name: str, number: int) -> None:
        """Report that the server was sent so many bytes on a connection."""
        self.sent_bytes += number
        self.by_name[name].sent_bytes += number

    def __iter__(self) -> Iterator[Peer]:
        """Yield every connection, closed ones too."""
        return iter(self._all)

    def is_surely_there(self, peer: Peer, at: Window) -> bool:
        """Return whether the server must know a connection."""
        return peer.closed is None and (peer.is_known or peer.opened.until + self._tolerance <= at.since)

    def may_be_there(self, peer: Peer, at: Window) -> bool:
        """Return whether the server may know a connection."""
        return peer.closed is None or peer.closed.until + self._tolerance > at.since

    def number(self, at: Window) -> tuple[int, int]:
        """Return the bounds of the number of open connections."""
        sure = sum(self.is_surely_there(peer, at) for peer in self._all)
        return sure, sum(self.may_be_there(peer, at) for peer in self._all)

    def whoami(self, peer: Peer, reply: WhoamiReply) -> Disagreement | None:
        """Judge the answer to WHOAMI; the first one gives the id."""
        if peer.id not in (None, reply.id):
            assert peer.id is not None
            detail = f"WHOAMI of {peer.name} is {reply.id.hex()}, was {peer.id.hex()}"
            return Disagreement(detail, "id changed", "THR-WHOAMI-4")
        other = next((one for one in self.by_name.values() if one is not peer and one.id == reply.id), None)
        if other is not None:
            detail = f"WHOAMI of {peer.name} and of {other.name} is {reply.id.hex()}"
            return Disagreement(detail, "id given twice", "THR-WHOAMI-5")
        peer.id = reply.id
        return None

    def listed(self, reply: ConnectionsReply, at: Window) -> Disagreement | None:
        """Judge the answer to CONNECTIONS."""
        rows = [row for fragment in reply.fragments for row in fragment.rows]
        wrong = misnumbered("CONNECTIONS", reply.fragments)
        wrong = wrong or repeated("CONNECTIONS", [row.id for row in rows], "THR-CONNECTIONS-27")
        wrong = wrong or self._all_there(rows, at)
        for place, row in enumerate(rows):
            wrong = wrong or self._row("CONNECTIONS", row, at) or self._at_place(place, row.id)
        return wrong

    def _all_there(self, rows: list[ConnectionRow], at: Window) -> Disagreement | None:
        ids = {row.id for row in rows}
        for peer in self._all:
            if peer.id is not None and peer.id not in ids and self.is_surely_there(peer, at):
                detail = f"CONNECTIONS lacks {peer.name}, {peer.id.hex()}"
                return Disagreement(detail, "connection not listed", "THR-CONNECTIONS-27")
        least, most = self.number(at)
        if len(rows) < least or (len(rows) > most and not self._shared):
            detail = f"CONNECTIONS has {len(rows)} rows, there are {least} to {most}"
            return Disagreement(detail, "number of connections", "THR-CONNECTIONS-27")
        return None

    def found(self, request: Request, reply: Message, at: Window) -> Disagreement | None:
        """Judge the answer to CONNECTION."""
        if isinstance(request, ConnectionByIndex):
            return self._found_at(request.index, reply, at)
        assert isinstance(request, ConnectionById)
        named = [peer for peer in self._all if peer.id == request.id]
        if isinstance(reply, ConnectionRow):
            if reply.id != request.id:
                return Disagreement("CONNECTION has another id", "another connection", "THR-CONNECTION-11")
            if not named and not self._shared and all(peer.id for peer in self._all):
                return Disagreement(f"CONNECTION finds {request.id.hex()}", "unknown id found", "THR-CONNECTION-8")
            return self._row("CONNECTION", reply, at)
        if any(self.is_surely_there(peer, at) for peer in named):
            return Disagreement(f"CONNECTION lacks {request.id.hex()}", "connection not found", "THR-CONNECTION-4")
        return None

    def _found_at(self, index: int, reply: Message, at: Window) -> Disagreement | None:
        least, most = self.number(at)
        if isinstance(reply, ConnectionRow):
            if index >= most and not self._shared:
                detail = f"CONNECTION {index} of {most}"
                return Disagreement(detail, "index too large found", "THR-CONNECTION-7")
            return self._row("CONNECTION", reply, at) or self._at_place(index, reply.id)
        if index < least:
            return Disagreement(f"no CONNECTION {index} of {least}", "index not found", "THR-CONNECTION-9")
        return None

    def _at_place(self, place: int, found: bytes) -> Disagreement | None:
        """Positions name different connections, and the same ones as long as these are open (T41)."""
        if self._shared or self._reports_kind or any(peer.closed and self._tolerance for peer in self._all):
            return None
        taken = {one: at for at, one in self._places.items()}
        if self._places.setdefault(place, found) == found and taken.get(found, place) == place:
            return None
        detail = f"position {place} is {found.hex()}; before: { {at: one.hex() for at, one in self._places.items()} }"
        return Disagreement(detail, "position changed", "THR-CONNECTION-9")

    def _row(self, name: str, row: ConnectionRow, at: Window) -> Disagreement | None:
        """Judge one row; bytes, times and addresses are open (T25, T42, T43, T46), but times stand."""
        peer = next((one for one in self._all if one.id == row.id), None)
        if self._reports_kind and (row.type, row.kind > 1, row.ip_version in (4, 6)) != (0, False, True):
            return Disagreement(f"{name}: {row}"[:300], "type, kind or IP version", "THR-CONNECTIONS-7")
        if peer is None:
            return None
        if not self.may_be_there(peer, at):
            detail = f"{name} still has {peer.name}, {row.id.hex()}, which is gone"
            return Disagreement(detail, "gone connection listed", "THR-CONNECTIONS-28")
        if peer.port not in (None, row.port):
            detail = f"{name}: port of {peer.name} is {peer.port}, got {row.port}"
            return Disagreement(detail, "port", "THR-CONNECTIONS-11")
        if peer.connected_at not in (None, row.connected_at):
            detail = f"{name}: {peer.name} was connected at {peer.connected_at}, now it is {row.connected_at}"
            return Disagreement(detail, "connected at changed", "THR-CONNECTIONS-13")
        if row.read_bytes > peer.sent_bytes and self.knows_bytes:
            detail = f"{name}: {row.read_bytes} bytes read from {peer.name}, which sent {peer.sent_bytes}"
            return Disagreement(detail, "bytes read", "THR-CONNECTIONS-15")
        peer.connected_at = row.connected_at
        return self._totals(name, row, peer)

    def _totals(self, name: str, row: ConnectionRow, peer: Peer) -> Disagreement | None:
        for kind in COUNTED:
            got = getattr(row, f"{kind.lower()}_requests")
            least, most = bounds([peer], kind)
            if not least <= got <= most:
                words = f"{name}: {peer.name} asked {kind} {least} to {most} times, got {got}"
                return Disagreement(words, f"{kind} total of a connection", "THR-CONNECTIONS-22")
        return None

    def totals(self, kind: str) -> tuple[int, int]:
        """Return the bounds of the requests of a type from all connections, closed ones too."""
        return bounds(self._all, kind)


def bounds(peers: Iterable[Peer], kind: str) -> tuple[int, int]:
    """Return the bounds of the requests of a type from some connections."""
    least = sum(one.answered[kind] for one in peers)
    return least, least + sum(one.pending[kind] + one.carried[kind] for one in peers)


def is_refused(reply: Message) -> bool:
    """Return whether a reply is 00."""
    return isinstance(reply, Status) and not reply.ok
