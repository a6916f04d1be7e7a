"""One connection: its bytes in and out, its pings and its end. The meaning of requests is in the handlers.

Frames for a connection are gathered while requests are handled, and written with one call afterwards. A peer that does
not read what it is sent is not served either; what others send to it waits, up to a limit that ends the connection.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from wireproof.protocols import NEED_DATA
from wireproof.protocols.connection import EndOfStream
from wireproof.protocols.errors import RemoteProtocolError
from wireproof.protocols.messages import Request
from wireproof.protocols.namechan import NamechanServer
from wireproof.protocols.namechan.replies import Error, Ping
from wireproof.protocols.namechan.requests import Blank, Connect, Version
from wireproof.reference_server.deadline import Deadline
from wireproof.reference_server.namechan.state import Handlers, State
from wireproof.reference_server.service import Close, Peer, Write
from wireproof.reference_server.stream_session import StreamSession

if TYPE_CHECKING:
    from wireproof.reference_server.namechan.queue import Subscription

__all__ = ["NamechanSession"]

log = logging.getLogger(__name__)

TURN = 256
"""Requests of one connection in one turn of the loop."""
EARLY = 0.02
"""The part of the interval by which a ping is early, so that it is never late."""
SECOND = 1_000_000_000


class NamechanSession(StreamSession[State, NamechanServer]):
    """The server's side of one connection."""

    def __init__(self, state: State, handlers: Handlers, name: bytes, peer: Peer, write: Write, close: Close) -> None:
        super().__init__(state, self._connection(state), peer, write, close)
        self.name, self._handlers = name, handlers
        self.version = 0
        """The version of the handshake; 0 before it."""
        self.is_connected = False
        """A Connect was accepted."""
        self.subscriptions: dict[bytes, Subscription] = {}
        self.waiting: list[Callable[[], object]] = []
        """What is to be done once the client reads again."""
        self._deadline = Deadline(state.clock, self.missed)
        self._last_input = self._pinged = state.clock.monotonic_ns()
        state.sessions[self] = None
        self._begin()

    @staticmethod
    def _connection(state: State) -> NamechanServer:
        return NamechanServer(state.codec, max_frame=state.options["max_line"])

    def _begin(self) -> None:
        self._deadline.set(self._last_input + round(self.state.options["handshake_timeout"] * SECOND))

    def data_received(self, data: bytes) -> None:
        """Handle the bytes that the transport read."""
        if self.closed or self._finishing:
            return
        self.connection.receive_data(data)
        self._work()

    def connection_lost(self) -> None:
        """Drop the state of a connection that is gone; may be called twice."""
        if self.closed:
            return
        self.closed = True
        self._out.clear()
        self.waiting.clear()
        del self.state.sessions[self]
        self._deadline.clear()
        for name in list(self.subscriptions):
            self.state.queues[name].unsubscribe(self)
        self.state.flush()

    def resume_writing(self) -> None:
        """Continue: the write buffer has room."""
        self.is_slow = False
        self.flush()
        waiting, self.waiting = self.waiting, []
        for work in waiting:
            work()
        self._work()

    def greeted(self, version: int) -> None:
        """Speak this version from now on, and ping."""
        self.version = version
        self._last_input = self._pinged = self.state.clock.monotonic_ns()
        self._set_deadline()

    def take(self, request: Request) -> None:
        """Handle one request; the first line must be a Connect (N6)."""
        if not (self.is_connected or isinstance(request, Version | Connect | Blank)):
            self.answer(self.fatal(f"expected a Connect first, got {request.NAME}"))
            return
        self.answer(self._handlers[type(request)](request, self, self.state.clock.monotonic_ns()))

    def refuse(self, what: str, why: str) -> None:
        """Say why a request without an answer failed; nothing where it did not."""
        if why:
            self.answer(Error(f"{what}: {why}".encode()))

    def fatal(self, why: str) -> Error:
        """Return what is sent before the connection closes."""
        self.finish(why)
        return Error(why.encode(errors="replace"))

    def missed(self) -> None:
        """Ping; drop a client that is silent, or did not send its version in time."""
        now = self.state.clock.monotonic_ns()
        if not self.version:
            log.info("%s: no version, closing", self.peer)
            self.end()
        elif now >= self._last_input + self.state.rules.silent_intervals * self._interval():
            self.answer(self.fatal("nothing was heard for two ping intervals"))
            self.end()
        else:
            self._pinged = now
            self.push(self.connection.send(Ping(self.state.clock.wall_ns() // SECOND & 0xFFFFFFFF)))
            self._set_deadline()
            self.state.flush()

    def malformed(self, error: RemoteProtocolError) -> None:
        """Say what is wrong with a line, and close (N13)."""
        self.answer(self.fatal(error.message))

    def _interval(self) -> int:
        return round(float(self.state.options["ping_interval"]) * SECOND)

    def _set_deadline(self) -> None:
        interval = self._interval()
        silent = self._last_input + self.state.rules.silent_intervals * interval
        self._deadline.set(min(self._pinged + round(interval * (1 - EARLY)), silent))

    def _work(self) -> None:
        """Handle what was received, as far as the peer reads, some of it in each turn of the loop."""
        if self._is_busy:
            return
        left = TURN
        while left and not (self.is_slow or self._finishing or self.closed):
            try:
                request = self.connection.next_event()
            except RemoteProtocolError as error:
                self.malformed(error)
                break
            if not isinstance(request, Request):
                assert request is NEED_DATA or isinstance(request, EndOfStream)
                break
            self._last_input = self.state.clock.monotonic_ns()
            self.take(request)
            left -= 1
        self.state.flush()
        self._follow(is_over=bool(left))
