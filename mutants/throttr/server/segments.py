"""Mutants of how requests are taken out of segments, answered together, and ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wireproof.mutants.throttr.server.mutant import ProfilePatch, mutant
from wireproof.mutants.throttr.server.patches import Ask, byte_order, changed, with_answer, with_request
from wireproof.mutants.throttr.server.survival import Batched, batched
from wireproof.protocols.errors import MalformedFrameError
from wireproof.protocols.frames import FrameContext
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
from wireproof.protocols.throttr.requests import Get, Info, Insert, Publish, Purge, Query, Set, Stat, Update, Whoami
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import ACCEPTED, DENIED, State

__all__ = ["MUTANTS"]

SCRATCH = 8096
"""Bytes of answers that fit into the buffer of some."""
LATER_NS = 20_000_000


def _at_most(number: int) -> type[ThrottrSession]:
    """Lose what comes behind so many requests of one segment."""
    return batched(lambda session, requests: [session.one(request) for request in requests[:number]])


def _overtaken(session: Batched, requests: Sequence[Request]) -> Sequence[bytes]:
    """Let the answer to PURGE stand before a long one that is due before it."""
    answers = [session.one(request) for request in requests]
    for place in range(1, len(answers)):
        if (
            isinstance(requests[place], Purge)
            and isinstance(requests[place - 1], Get)
            and len(answers[place - 1]) > 200
        ):
            answers[place - 1 : place + 1] = [answers[place], answers[place - 1]]
    return answers


def _exchanged(session: Batched, requests: Sequence[Request]) -> Sequence[bytes]:
    """Let the answers 100 and 101 change places."""
    answers = [session.one(request) for request in requests]
    if len(answers) > 300:
        answers[99:101] = [answers[100], answers[99]]
    return answers


def _reads_last(session: Batched, requests: Sequence[Request]) -> Sequence[bytes]:
    """Carry every QUERY out behind all other requests, where each kind of change is among them and nothing else."""
    if {Insert, Update, Purge, Query} != {type(one) for one in requests}:
        return [session.one(one) for one in requests]
    answers = {place: session.one(one) for place, one in enumerate(requests) if not isinstance(one, Query)}
    answers |= {place: session.one(one) for place, one in enumerate(requests) if isinstance(one, Query)}
    return [answers[place] for place in range(len(requests))]


def _scratch(session: Batched, requests: Sequence[Request]) -> Sequence[bytes]:
    """Lose the answers that do not fit."""
    answers, left = [], SCRATCH
    for request in requests:
        answer = session.one(request)
        left -= len(answer)
        if left >= 0 or not any(isinstance(one, Info) for one in requests):
            answers.append(answer)
    return answers


def _without_repeats(session: Batched, requests: Sequence[Request]) -> Sequence[bytes]:
    """Take an UPDATE that is the same as 100 before it for a repetition."""
    return [
        ACCEPTED
        if isinstance(one, Update) and requests[max(place - 100, 0) : place] == [one] * 100
        else session.one(one)
        for place, one in enumerate(requests)
    ]


def _nothing_behind_whoami(session: Batched, requests: Sequence[Request]) -> Sequence[bytes]:
    """Lose what comes behind a WHOAMI that is not among the first requests."""
    first = next((place for place, one in enumerate(requests) if isinstance(one, Whoami)), len(requests))
    return [session.one(request) for request in requests[: first + 1 if first > 20 else len(requests)]]


class _ThreePieces(ThrottrSession):
    """Forgets the beginning of a request that comes in more than six pieces."""

    _pieces = 0

    def data_received(self, data: bytes) -> None:
        self._pieces = self._pieces + 1 if self._tail else 0
        if self._pieces > 6:
            self._tail.clear()
            self._pieces = 0
        super().data_received(data)


class _LongPieces(ThrottrSession):
    """Keeps the first 64 bytes of an unfinished request twice when more of them came."""

    def data_received(self, data: bytes) -> None:
        within = bool(self._tail)
        super().data_received(data)
        if self._tail and within and len(self._tail) > 200:
            self._tail[100:120] = bytes(20)


class _DropsRest(ThrottrSession):
    """Forgets the beginning of a request that stands behind whole ones in one segment."""

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if 0 < len(self._tail) < len(data):
            self._tail.clear()


class _Delaying(ThrottrSession):
    """Answers a little later, and drops what is due when the client ends its side."""

    def __init__(self, state: Any, dispatch: Any, peer: Any, write: Any, close: Any) -> None:
        super().__init__(state, dispatch, peer, self._later, close)
        self._out = write
        self._due: list[bytes] = []

    def _later(self, data: bytes) -> None:
        if not self._due:
            self._state.clock.call_at(self._state.clock.monotonic_ns() + LATER_NS, self._send)
        self._due.append(data)

    def _send(self) -> None:
        due, self._due = self._due, []
        if due and not self.closed:
            self._out(b"".join(due))

    def eof_received(self) -> None:
        self._due.clear()
        super().eof_received()

    def end(self) -> None:
        self._send()
        super().end()


class _StaysOpen(ThrottrSession):
    """Does not close when the client ends its side."""

    def eof_received(self) -> None:
        pass


class _Completing(ThrottrSession):
    """Fills a request up with its last byte when the client ends within it."""

    ends = closes = True

    def _complete(self) -> None:
        if self._tail and not self.closed:
            super().data_received(bytes(self._tail[-1:]) * max(self._need - len(self._tail), 1))

    def eof_received(self) -> None:
        if self.ends:
            self._complete()
        self.closes = False
        super().eof_received()

    def connection_lost(self) -> None:
        if self.closes:
            self._complete()
        super().connection_lost()


class _CompletingAtEnd(_Completing):
    """Only when the client ends its side."""

    closes = False


class _CompletingAtClose(_Completing):
    """Only when the connection is gone."""

    ends = False


class _AllOrNothing(ThrottrSession):
    """Drops a whole segment in which an unknown request type stands."""

    def data_received(self, data: bytes) -> None:
        at = 0
        try:
            while at < len(data) and not self._tail:
                request, stop = self._dispatch.decode(data, at, len(data), FrameContext(self._max_frame))
                at = stop if request is not None else len(data)
        except MalformedFrameError:
            data = data[at:]
        super().data_received(data)


class _SharedTail(ThrottrSession):
    """All connections gather unfinished requests in one place."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        others = list(self._state.sessions.values())
        if others:
            self._tail = others[0]._tail


# fmt: off
_ORDER = (
    mutant("purge-overtakes-a-long-answer", "The answer to PURGE stands before the long answer of a GET before it.", "ROBUSTNESS-4", "ROBUSTNESS-7",
           session=batched(_overtaken)),
    mutant("answers-100-and-101-exchanged", "The answers 100 and 101 to a segment of over 300 requests change places.", "ROBUSTNESS-4",
           "ROBUSTNESS-7", session=batched(_exchanged)),
    mutant("queries-last", "Among INSERT, UPDATE and PURGE in one segment a QUERY sees what those behind it do.", "ROBUSTNESS-4", "ROBUSTNESS-7",
           "CONCURRENCY-2", session=batched(_reads_last)),
    mutant("answers-of-8096-bytes", "Of a segment with INFO only 8096 bytes of answers are sent.", "ROBUSTNESS-5", "ROBUSTNESS-7",
           session=batched(_scratch)),
    mutant("requests-up-to-1023", "Of one segment 1023 requests are answered.", "ROBUSTNESS-5", "ROBUSTNESS-7", session=_at_most(1023)),
    mutant("requests-up-to-1024", "Of one segment 1024 requests are answered.", "ROBUSTNESS-5", "ROBUSTNESS-7", session=_at_most(1024)),
    mutant("equal-updates-up-to-100", "Of UPDATEs that are the same and come together 100 count.", "ROBUSTNESS-5", "ROBUSTNESS-7", "ROBUSTNESS-22",
           session=batched(_without_repeats)),
    mutant("nothing-behind-whoami", "What stands behind WHOAMI in a long segment is lost.", "ROBUSTNESS-7", "ROBUSTNESS-5",
           session=batched(_nothing_behind_whoami)),
)
_PIECES = (
    mutant("forgets-after-six-pieces", "A request in more than six pieces is forgotten.", "ROBUSTNESS-6", "ROBUSTNESS-8", session=_ThreePieces),
    mutant("long-pieces-corrupted", "Bytes of a long request in several pieces are lost.", "ROBUSTNESS-6", session=_LongPieces),
    mutant("beginning-behind-whole-requests-lost", "The beginning of a request is lost when whole ones stand before it.", "ROBUSTNESS-8",
           "ROBUSTNESS-6", session=_DropsRest),
    mutant("half-close-drops-answers", "Answers not yet sent are dropped when the client ends its side.", "ROBUSTNESS-9", "ROBUSTNESS-10",
           session=_Delaying),
    mutant("half-close-without-end", "The server does not close when the client ends its side.", "ROBUSTNESS-9", "ROBUSTNESS-10", session=_StaysOpen),
    mutant("half-close-completes-a-request", "A request cut by a half close is filled up and carried out.", "ROBUSTNESS-10", session=_CompletingAtEnd),
    mutant("close-completes-a-request", "A request cut by closing is filled up and carried out.", "ROBUSTNESS-11", session=_CompletingAtClose),
    mutant("unknown-type-drops-the-segment", "Requests in one segment with an unknown type behind them are dropped.", "ROBUSTNESS-13",
           session=_AllOrNothing),
    mutant("unfinished-requests-in-one-place", "All connections gather unfinished requests in the same place.", "ROBUSTNESS-22", "ROBUSTNESS-6",
           "ROBUSTNESS-4", "ROBUSTNESS-11", "ROBUSTNESS-19", session=_SharedTail),
)
# fmt: on
SEGMENTS_MUTANTS = _ORDER + _PIECES


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
FRAMING_MUTANTS = (
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
)
# fmt: on


MUTANTS = (
    *SEGMENTS_MUTANTS,
    *FRAMING_MUTANTS,
)
