"""Connections that faults are made of: they take the server down, keep others waiting, or answer a segment as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wireproof.protocols.errors import MalformedFrameError
from wireproof.protocols.frames import FrameContext
from wireproof.protocols.messages import Request
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import State

__all__ = ["Batched", "Mortal", "Waiting", "World", "batched", "mortal", "waiting"]

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
        """See `Session`."""
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
        """See `mortal`."""

        def is_deadly(self, data: bytes) -> bool:
            """See `Mortal`."""
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
        """See `Session`."""
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
        """See `waiting`."""

        def after(self, data: bytes) -> None:
            """See `Waiting`."""
            now = self._state.clock.monotonic_ns()
            self.world.busy_until = max(self.world.busy_until, now + int(seconds(self, data) * 1e9))

    return {"state": World, "session": Slow}


class Batched(ThrottrSession):
    """Answers a segment that holds nothing but whole requests as one."""

    def data_received(self, data: bytes) -> None:
        """See `Session`."""
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
        """See `batched`."""

        def answered(self, requests: Sequence[Request]) -> Sequence[bytes]:
            """See `Batched`."""
            return answers(self, requests)

    return Together
