"""Mutants that do not survive nonsense or harm others by it, and the sessions they are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wireproof.mutants.throttr.server.mutant import mutant
from wireproof.mutants.throttr.server.patches import Ask, with_request
from wireproof.protocols.errors import MalformedFrameError
from wireproof.protocols.frames import FrameContext
from wireproof.protocols.messages import Request
from wireproof.protocols.throttr import RequestType
from wireproof.protocols.throttr.codec import MAX_NESTING
from wireproof.protocols.throttr.requests import Event, Publish
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import State

__all__ = ["MUTANTS"]

Tells = Callable[[Any, bytes], bool]
"""(connection, what it received) -> whether something happens."""


class World(State):
    """What all connections of a server that dies or stalls have in common."""

    dead = False
    busy_until = 0
    """Monotonic ns; nobody is served before."""


class Mortal(ThrottrSession):
    """Takes the server down with it: every connection ends, and so does each that comes later."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        if self.world.dead:
            self._state.clock.call_at(self._state.clock.monotonic_ns(), self.end)

    @property
    def world(self) -> World:
        """The state shared with the others."""
        assert isinstance(self._state, World)
        return self._state

    def data_received(self, data: bytes) -> None:
        if not self.world.dead:
            super().data_received(data)
            if self.is_deadly(data):
                self.die()

    def is_deadly(self, data: bytes) -> bool:
        """Say whether the server does not survive what was received."""
        return False

    def die(self) -> None:
        """End every connection for good."""
        self.world.dead = True
        for session in list(self._state.sessions.values()):
            session.end()


def mortal(deadly: Tells) -> dict[str, Any]:
    """Return the patches of a server that dies of what `deadly` tells, once it was handled."""

    class Fragile(Mortal):
        def is_deadly(self, data: bytes) -> bool:
            return deadly(self, data)

    return {"state": World, "session": Fragile}


class Waiting(ThrottrSession):
    """Is not heard while the server is busy."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._unheard: list[bytes] = []

    @property
    def world(self) -> World:
        """The state shared with the others."""
        assert isinstance(self._state, World)
        return self._state

    def data_received(self, data: bytes) -> None:
        until = self.world.busy_until
        if self._unheard or until > self._state.clock.monotonic_ns():
            if not self._unheard:
                self._state.clock.call_at(until, self._hear)
            self._unheard.append(data)
        elif not self.closed:
            super().data_received(data)
            self.after(data)

    def _hear(self) -> None:
        unheard, self._unheard = self._unheard, []
        for data in unheard:
            self.data_received(data)

    def after(self, data: bytes) -> None:
        """Do something once data was handled."""


def waiting(seconds: Callable[[Any, bytes], float]) -> dict[str, Any]:
    """Return the patches of a server that serves nobody for `seconds(connection, data)` after handling data."""

    class Slow(Waiting):
        def after(self, data: bytes) -> None:
            now = self._state.clock.monotonic_ns()
            self.world.busy_until = max(self.world.busy_until, now + int(seconds(self, data) * 1e9))

    return {"state": World, "session": Slow}


class Batched(ThrottrSession):
    """Answers a segment that holds nothing but whole requests as one."""

    def data_received(self, data: bytes) -> None:
        requests = self._whole(data)
        if len(requests) < 2:
            super().data_received(data)
            return
        self._begin()
        self.read_bytes += len(data)
        answers = b"".join(self.answered(requests))
        if answers and not self.closed:
            self.written_bytes += len(answers)
            self._write(answers)
        self._state.flush_pushes()

    def _whole(self, data: bytes) -> list[Request]:
        found: list[Request] = []
        at = 0
        while self._flows and at < len(data):
            try:
                request, at = self._dispatch.decode(data, at, len(data), FrameContext(self._max_frame))
            except MalformedFrameError:
                return []
            if request is None:
                return []
            found.append(request)
        return found

    def answered(self, requests: Sequence[Request]) -> Sequence[bytes]:
        """Return the answers to write."""
        return [self.one(request) for request in requests]

    def one(self, request: Request) -> bytes:
        """Handle one request and return its answer."""
        self.fresh[self._state.codec.profile.leads[type(request)][0]] += 1
        answer = self._dispatch.handlers[type(request)](request, self, self._state.now)
        self._be_fresh()
        return answer


def batched(answers: Callable[[Batched, Sequence[Request]], Sequence[bytes]]) -> type[ThrottrSession]:
    """Return a connection whose answers to several requests in one segment are `answers(connection, requests)`."""

    class Together(Batched):
        def answered(self, requests: Sequence[Request]) -> Sequence[bytes]:
            return answers(self, requests)

    return Together


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
        was_open = not self.closed and not self._ended
        super().connection_lost()
        if was_open and 50_000 < self.written_bytes < 100_000:
            self.die()


class _Offended(ThrottrSession):
    """Something befalls the others when the bytes of one connection cannot be framed."""

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if _broke_off(self, data):
            self.take_revenge()

    def take_revenge(self) -> None:
        """Do something to the others."""


class _EndsOthers(_Offended):
    """Every other connection is closed."""

    def take_revenge(self) -> None:
        for session in list(self._state.sessions.values()):
            if session is not self:
                session.end()


class _LargeEndsOthers(ThrottrSession):
    """A large request ends all other connections."""

    def data_received(self, data: bytes) -> None:
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
        others = (one for one in self._state.sessions.values() if one is not self)
        if any(one._tail for one in others):
            self._unheard.append(data)
            return
        super().data_received(data)
        self._let_others_speak()

    def connection_lost(self) -> None:
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
        if not self._has_no_place:
            super().data_received(data)


class _Followed(ThrottrSession):
    """Takes its latest publisher with it when it goes amid many pushes."""

    publisher: ThrottrSession | None = None

    def connection_lost(self) -> None:
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
SURVIVAL_MUTANTS = (
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
)
# fmt: on


MUTANTS = (*SURVIVAL_MUTANTS,)
