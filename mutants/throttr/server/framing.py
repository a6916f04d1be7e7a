"""Faults in what holds for every request and answer: byte order, handshake, lengths, staying open, statuses, sizes."""

from __future__ import annotations

from typing import Any

from wireproof.mutants.throttr.server.mutant import ProfilePatch, mutant
from wireproof.mutants.throttr.server.patches import (
    Ask,
    byte_order,
    changed,
    held,
    with_answer,
    with_request,
    with_rows,
)
from wireproof.protocols.messages import Request
from wireproof.protocols.profile import Profile
from wireproof.protocols.throttr import Attribute
from wireproof.protocols.throttr.replies import (
    ChannelsReply,
    ConnectionsReply,
    InfoReply,
    ListReply,
    ListRow,
    StatsReply,
    WhoamiReply,
)
from wireproof.protocols.throttr.requests import Get, Insert, List, Publish, Purge, Query, Set, Stat, Update
from wireproof.reference_server.throttr.records import Buffer
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


class _Banner(_Greeting):
    """Says what it is."""

    greeting = b"throttr\r\n"


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


def _listed_in_characters(rows: list[ListRow], ask: Ask) -> list[ListRow]:
    return [changed(row, key=row.key[: _characters(row.key)]) for row in rows]


TYPES = ("STATS", "SUBSCRIBE", "UNSUBSCRIBE", "PUBLISH", "CONNECTIONS", "CONNECTION")
TABLES = ("LIST", "STATS", "INFO", "CONNECTIONS", "CHANNELS", "WHOAMI")
BARE = (ListReply, StatsReply, InfoReply, ConnectionsReply, ChannelsReply, WhoamiReply)


def _no_quota(answer: bytes, ask: Ask) -> bytes:
    """Answer 02 where the only record has no quota."""
    lonely = len(ask.state.store) == 1 and isinstance(held(ask), Buffer)
    return b"\2" if lonely and ask.request.attribute == Attribute.QUOTA else answer


def _moved(profile: Profile) -> Profile:
    """Ask with 0a to 0f what is asked with 10 to 15."""
    leads = {request: profile.leads[request][0] for request in profile.replies}
    return profile.derive(
        profile.name, leads={request: bytes([byte - 6]) for request, byte in leads.items() if 0x10 <= byte <= 0x15}
    )


def _led_by(*first: int) -> ProfilePatch:
    """Begin the six answers without status in the document so."""
    return lambda profile: profile.derive(profile.name, leads={reply: bytes(first) for reply in BARE})


MUTANTS = (
    mutant("numbers-big-endian", "All numbers are big-endian.", "FRAMING-1", profile=byte_order(">")),
    mutant("greets-with-00", "A byte 00 is sent to every new connection.", "FRAMING-2", session=_Greeting),
    mutant("greets-with-a-banner", "A line of text is sent to every new connection.", "FRAMING-2", session=_Banner),
    mutant("takes-a-version-first", "The first byte of a connection is taken for a version.", "FRAMING-2",
          session=_Handshake),
    mutant("requests-padded-to-512", "Behind a PUBLISH of 500 to 511 bytes one byte is skipped.", "FRAMING-3",
          "PUBLISH-5", handlers=with_answer(Publish, _padded)),
    mutant("closes-after-a-refusal", "The connection is closed behind an answer 00.", "FRAMING-4",
          handlers=with_answer(REFUSABLE, _ends)),
    mutant("closes-after-200-requests", "The connection is closed behind its 200th request.", "FRAMING-4",
          "ROBUSTNESS-5", session=_ShortLived),
    mutant("insert-counts-characters", "INSERT counts the characters of its key, not the bytes.", "FRAMING-11",
          "INSERT-5", "INSERT-6", handlers=_counted(Insert, "key")),
    mutant("list-counts-characters", "LIST counts the characters of its keys, not the bytes.", "FRAMING-11",
          handlers=with_rows(List, _listed_in_characters)),
    mutant("publish-counts-characters", "PUBLISH counts the characters of its payload, not the bytes.", "FRAMING-11",
          "PUBLISH-3", "PUBLISH-14", "PUSH-7", handlers=_counted(Publish, "payload")),
    mutant("update-of-no-quota-is-02", "UPDATE of a lone buffer's quota is answered with 02.", "FRAMING-5",
          "UPDATE-21",
          handlers=with_answer(Update, _no_quota)),
    mutant("refusals-filled-up", "QUERY of a key that no record holds is answered with 00 and zero bytes.", "FRAMING-6",
          "QUERY-4", "QUERY-9", handlers=with_answer(
              Query, lambda answer, ask: bytes(2 + 2 * ask.state.value_size) if answer == DENIED else answer)),
    mutant("types-10-to-15-are-0a-to-0f", "The request types 10 to 15 are 0a to 0f.", "FRAMING-7",
          *(f"{name}-1" for name in TYPES), profile=_moved),
    mutant("types-10-to-15-are-0a-to-0f-with-event", "The request types 10 to 15 are 0a to 0f.", "FRAMING-8",
          *(f"{name}-1" for name in TYPES), profile=_moved),
    mutant("every-answer-with-status", "All answers have a status byte, as in a later release.", "FRAMING-9",
          *(f"{name}-2" for name in TABLES), profile=_led_by(1)),
    mutant("six-answers-without-status", "INFO, WHOAMI and the tables have no status byte, as in the document.",
          "FRAMING-10", *(f"{name}-3" for name in TABLES), profile=_led_by()),
)  # fmt: skip
