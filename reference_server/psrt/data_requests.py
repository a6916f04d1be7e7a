"""Handlers of the requests on a data socket."""

from __future__ import annotations

from wireproof.protocols.psrt.enums import PROTOCOL_VERSION
from wireproof.protocols.psrt.replies import DataGreetingReply
from wireproof.protocols.psrt.requests import Attach, DataGreeting
from wireproof.reference_server.psrt.control_requests import begin
from wireproof.reference_server.psrt.session import PsrtSession
from wireproof.reference_server.psrt.state import ERROR, OK, Answer, Handlers, State

__all__ = ["DataRequests"]


class DataRequests:
    """The handlers of a data socket's requests."""

    def __init__(self, state: State) -> None:
        self._state = state

    def handlers(self) -> Handlers:
        """Return request class -> handler."""
        return {DataGreeting: self.greeting, Attach: self.attach}

    def greeting(self, request: DataGreeting, session: PsrtSession, now: int) -> Answer:
        """Begin; the mode is independent of the control socket's."""
        begin(self._state, session, request.mode)
        return DataGreetingReply(PROTOCOL_VERSION)

    def attach(self, request: Attach, session: PsrtSession, now: int) -> Answer:
        """Accept the token of a client without data socket; refuse any other, and close (P15)."""
        client = self._state.clients.get(request.token)
        if client is None or client.data is not None or client.is_spent:
            session.finish()
            return ERROR
        session.attach(client, request)
        return OK
