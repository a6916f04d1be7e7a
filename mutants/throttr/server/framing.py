"""Faults in what holds for every request and answer: byte order, handshake, lengths, staying open, statuses, sizes."""

from __future__ import annotations

from typing import Any

from wireproof.mutants.throttr.server.mutant import ProfilePatch, mutant
from wireproof.mutants.throttr.server.patches import (
    Ask,
    byte_order,
    changed,
    with_answer,
    with_request,
)
from wireproof.protocols.messages import Request
from wireproof.protocols.profile import Profile
from wireproof.protocols.throttr.replies import (
    ChannelsReply,
    ConnectionsReply,
    InfoReply,
    ListReply,
    StatsReply,
    WhoamiReply,
)
from wireproof.protocols.throttr.requests import Get, Insert, Publish, Purge, Query, Set, Stat, Update
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import DENIED, State

__all__ = ["MUTANTS"]

REFUSABLE: tuple[type[Request], ...] = (Insert, Query, Set, Get, Purge, Update, Stat)


class _Greeting(ThrottrSession):
    """Says something before it is asked."""

    greeting = b"\0"

    def __init__(self, state: State, dispatch: Any, peer: Any, write: Any, close: Any) -> None:
        super().__init__(state, dispatch, peer, write, close)
        write(self.greeting)


class _Handshake(ThrottrSession):
    """Takes the first byte for the version that the client speaks."""

    _greeted = False

    def data_received(self, data: bytes) -> None:
        """See `Session`."""
        if not self._greeted:
            self._greeted, data = True, data[1:]
        if data:
            super().data_received(data)


def _ends(answer: bytes, ask: Ask) -> bytes:
    """Close the connection behind a refusal."""
    if answer == DENIED:
        ask.session._ended = True
        ask.session._flows = False
    return answer


class _ShortLived(ThrottrSession):
    """Closes behind the 200th segment."""

    _segments = 0

    def data_received(self, data: bytes) -> None:
        """See `Session`."""
        self._segments += 1
        self._ended = self._ended or self._segments >= 200
        self._flows = self._flows and not self._ended
        super().data_received(data)


def _padded(answer: bytes, ask: Ask) -> bytes:
    """Fill a request that nearly fills a block up with one byte."""
    if 500 <= len(ask.request.channel) + len(ask.request.payload) < 512:
        ask.session._at += 1
    return answer


def _characters(name: bytes) -> int:
    """Return how many characters a name has, its bytes where it is no text."""
    try:
        return len(name.decode())
    except UnicodeDecodeError:
        return len(name)


def _counted(kind: type[Request], field: str) -> Any:
    """Take as many bytes of a name as it has characters."""

    def change(request: Any, ask: Ask) -> Any:
        name = getattr(request, field)
        return changed(request, **{field: name[: _characters(name)]})

    return with_request(kind, change)


TYPES = ("STATS", "SUBSCRIBE", "UNSUBSCRIBE", "PUBLISH", "CONNECTIONS", "CONNECTION")
TABLES = ("LIST", "STATS", "INFO", "CONNECTIONS", "CHANNELS", "WHOAMI")
BARE = (ListReply, StatsReply, InfoReply, ConnectionsReply, ChannelsReply, WhoamiReply)


def _moved(profile: Profile) -> Profile:
    """Ask with 0a to 0f what is asked with 10 to 15."""
    leads = {request: profile.leads[request][0] for request in profile.replies}
    return profile.derive(
        profile.name, leads={request: bytes([byte - 6]) for request, byte in leads.items() if 0x10 <= byte <= 0x15}
    )


def _led_by(*first: int) -> ProfilePatch:
    """Begin the six answers without status in the document so."""
    return lambda profile: profile.derive(profile.name, leads={reply: bytes(first) for reply in BARE})


# fmt: off
MUTANTS = (
    mutant("numbers-big-endian", "All numbers are big-endian.", "FRAMING-1", profile=byte_order(">")),
    mutant("greets-with-00", "A byte 00 is sent to every new connection.", "FRAMING-2", session=_Greeting),
    mutant("takes-a-version-first", "The first byte of a connection is taken for a version.", "FRAMING-2", session=_Handshake),
    mutant("requests-padded-to-512", "Behind a PUBLISH of 500 to 511 bytes one byte is skipped.", "FRAMING-3", "PUBLISH-5",
           handlers=with_answer(Publish, _padded)),
    mutant("closes-after-a-refusal", "The connection is closed behind an answer 00.", "FRAMING-4", handlers=with_answer(REFUSABLE, _ends)),
    mutant("closes-after-200-requests", "The connection is closed behind its 200th request.", "FRAMING-4", "ROBUSTNESS-5", session=_ShortLived),
    mutant("insert-counts-characters", "INSERT counts the characters of its key, not the bytes.", "FRAMING-11", "INSERT-5", "INSERT-6",
           handlers=_counted(Insert, "key")),
    mutant("types-10-to-15-are-0a-to-0f-with-event", "The request types 10 to 15 are 0a to 0f.", "FRAMING-8", *(f"{name}-1" for name in TYPES),
           profile=_moved),
    mutant("six-answers-without-status", "INFO, WHOAMI and the tables have no status byte, as in the document.", "FRAMING-10",
           *(f"{name}-3" for name in TABLES), profile=_led_by()),
)  # fmt: skip
# fmt: on
