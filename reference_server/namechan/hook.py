"""One connection of a harness: lines that create queues and publish, each answered by a line, in their order (N21)."""

from __future__ import annotations

from collections import deque

from wireproof.protocols.errors import RemoteProtocolError
from wireproof.protocols.messages import Request
from wireproof.protocols.namechan import HookServer
from wireproof.protocols.namechan.replies import Outcome
from wireproof.reference_server.namechan.session import NamechanSession
from wireproof.reference_server.namechan.state import Done, State

__all__ = ["HookSession"]


class HookSession(NamechanSession):
    """The server's side of the hook."""

    connection: HookServer

    @staticmethod
    def _connection(state: State) -> HookServer:
        return HookServer(state.codec, max_frame=state.options["max_line"])

    def _begin(self) -> None:
        """Wait as long as the harness does: there are no pings."""
        self._outcomes: deque[list[str]] = deque()
        """For each request that is not answered: why it failed, or "", once that is known."""

    def take(self, request: Request) -> None:
        """Handle one request."""
        self.answer(self._handlers[type(request)](request, self, self.state.clock.monotonic_ns()))

    def outcome(self) -> Done:
        """Return what takes the outcome of the request in hand; outcomes are answered in the order of requests."""
        place: list[str] = []
        self._outcomes.append(place)

        def done(why: str) -> None:
            place.append(why)
            while self._outcomes and self._outcomes[0]:
                (known,) = self._outcomes.popleft()
                said = " ".join(known.split("\n")).encode()  # what is quoted of a request may have line ends
                self.push(self.connection.send(Outcome(b"error " + said if known else b"ok")))
            if (self._ended or self._finishing) and not (self._outcomes or self.closed):
                self.state.later(self._go_on)

        return done

    def eof_received(self) -> None:
        """Handle the end of the stream: the harness ends once every outcome is known."""
        if self._outcomes:
            self._ended = True
        else:
            super().eof_received()

    def _follow(self, *, is_over: bool) -> None:
        """See `StreamSession._follow`; outcomes are waited for."""
        if not (self._outcomes and (self._finishing or (is_over and self._ended))):
            super()._follow(is_over=is_over)

    def malformed(self, error: RemoteProtocolError) -> None:
        """Say what is wrong with a line, and close."""
        self.outcome()(error.message)
        self.finish(error.message)
