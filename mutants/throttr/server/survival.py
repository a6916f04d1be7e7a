"""Faults in what a server survives, and in whom it harms: nonsense, endings, nesting, large and unfinished requests."""

from __future__ import annotations

from typing import Any

from wireproof.mutants.throttr.server.mutant import mutant
from wireproof.mutants.throttr.server.patches import Ask, with_request
from wireproof.mutants.throttr.server.sessions import Mortal, World, mortal
from wireproof.protocols.throttr import RequestType
from wireproof.protocols.throttr.codec import MAX_NESTING
from wireproof.protocols.throttr.requests import Event, Publish
from wireproof.reference_server.throttr.session import ThrottrSession

__all__ = ["MUTANTS"]

RUN = 600
"""Equal bytes in a row that are too many for some."""
SLOTS = 32
WIDE = ("uint16", "uint32", "uint64")


def _is_run(session: Any, data: bytes) -> bool:
    return len(data) > RUN and data[:RUN] == data[:1] * RUN and data[0] not in (RequestType.INFO, RequestType.WHOAMI)


def _broke_off(session: Any, data: bytes) -> bool:
    """Say whether the bytes could not be framed any more."""
    return bool(session._ended or session._deaf)


def _announces_much(session: Any, data: bytes) -> bool:
    """Say whether a request that is not there announces half of what its size field holds, or more than is allowed."""
    half = session._state.value_max // 2
    beyond = _broke_off(session, data) and half.to_bytes(session._state.value_size, "little")[1:-1] in data
    return (bool(session._tail) and session._need > half) or (beyond and half > session._max_frame)


class _Disappointed(Mortal):
    """The server dies of a client that goes right after it was given a lot."""

    def connection_lost(self) -> None:
        """See `Session`."""
        was_open = not self.closed and not self._ended
        super().connection_lost()
        if was_open and 50_000 < self.written_bytes < 100_000:
            self.die()


class _Offended(ThrottrSession):
    """Something befalls the others when the bytes of one connection cannot be framed."""

    def data_received(self, data: bytes) -> None:
        """See `Session`."""
        super().data_received(data)
        if _broke_off(self, data):
            self.take_revenge()

    def take_revenge(self) -> None:
        """Do something to the others."""


class _EndsOthers(_Offended):
    """Every other connection is closed."""

    def take_revenge(self) -> None:
        """See `_Offended`."""
        for session in list(self._state.sessions.values()):
            if session is not self:
                session.end()


class _LargeEndsOthers(ThrottrSession):
    """A large request ends all other connections."""

    def data_received(self, data: bytes) -> None:
        """See `Session`."""
        super().data_received(data)
        if len(data) > 60_000 and data[0] == RequestType.PUBLISH:
            for session in list(self._state.sessions.values()):
                if session is not self:
                    session.end()


class _OneRequestAtATime(ThrottrSession):
    """Nobody is heard while another connection is within a request."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._unheard: list[bytes] = []

    def data_received(self, data: bytes) -> None:
        """See `Session`."""
        others = (one for one in self._state.sessions.values() if one is not self)
        if any(one._tail for one in others):
            self._unheard.append(data)
            return
        super().data_received(data)
        self._let_others_speak()

    def connection_lost(self) -> None:
        """See `Session`."""
        super().connection_lost()
        self._let_others_speak()

    def _let_others_speak(self) -> None:
        for one in list(self._state.sessions.values()):
            if isinstance(one, _OneRequestAtATime) and one._unheard and not self._tail:
                unheard, one._unheard = one._unheard, []
                for data in unheard:
                    one.data_received(data)


class _Crowded(ThrottrSession):
    """Only so many connections are served; the others wait for a place for ever."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._has_no_place = len(self._state.sessions) >= SLOTS

    def data_received(self, data: bytes) -> None:
        """See `Session`."""
        if not self._has_no_place:
            super().data_received(data)


class _Followed(ThrottrSession):
    """Takes its latest publisher with it when it goes amid many pushes."""

    publisher: ThrottrSession | None = None

    def connection_lost(self) -> None:
        """See `Session`."""
        goes = not self.closed and not self._ended and 300 < self.received_bytes < 500
        super().connection_lost()
        if goes and self.publisher is not None:
            self.publisher.end()


def _noted_publisher(request: Publish, ask: Ask) -> Publish:
    for one in ask.state.channels.of(request.channel):
        if isinstance(one.session, _Followed):
            one.session.publisher = ask.session
    return request


def _nesting(session: Any, data: bytes) -> bool:
    """Say whether EVENTs are nested deeper than the stack of some."""
    lead = bytes([RequestType.EVENT, 0])
    return data.count(lead) > 4 * MAX_NESTING and Event in session._state.codec.profile.replies


# fmt: off
MUTANTS = (
    mutant("dies-of-a-run-of-bytes", "The server ends when some hundred equal bytes come in one segment.", "ROBUSTNESS-1", "ROBUSTNESS-2",
           "ROBUSTNESS-12", **mortal(_is_run)),
    mutant("dies-of-nonsense", "The server ends when bytes cannot be framed.", "ROBUSTNESS-1", "ROBUSTNESS-2", "ROBUSTNESS-12", **mortal(_broke_off)),
    mutant("dies-of-answers-nobody-takes", "The server ends when a client that was given 50000 bytes goes.", "ROBUSTNESS-11", "ROBUSTNESS-1",
           "ROBUSTNESS-2", state=World, session=_Disappointed),
    mutant("dies-of-announced-sizes", "The server ends when a request announces half of what can be announced.", "ROBUSTNESS-3", "ROBUSTNESS-1",
           "ROBUSTNESS-2", **mortal(_announces_much)),
    mutant("dies-of-nested-events", "The server ends when EVENTs are nested deeper than its stack.", "ROBUSTNESS-23", "ROBUSTNESS-1",
           **mortal(_nesting)),
    mutant("nonsense-ends-all-connections", "An unknown request type ends every connection.", "ROBUSTNESS-12", session=_EndsOthers),
    mutant("large-request-ends-all-connections", "A request of 60000 bytes ends every other connection.", "ROBUSTNESS-14", session=_LargeEndsOthers,
           variants=WIDE),
    mutant("publisher-goes-with-a-subscriber", "A subscriber that goes amid many pushes takes their publisher with it.", "ROBUSTNESS-11",
           "ROBUSTNESS-2", session=_Followed, handlers=with_request(Publish, _noted_publisher)),
    mutant("one-request-at-a-time", "While a connection is within a request nobody else is heard.", "ROBUSTNESS-19", "ROBUSTNESS-3", "ROBUSTNESS-6",
           session=_OneRequestAtATime),
    mutant("serves-32-connections", "Of more than 32 open connections the latest are not heard.", "ROBUSTNESS-19", "ROBUSTNESS-2", session=_Crowded),
)  # fmt: skip
# fmt: on
