"""Faults of data sockets: the token, what it opens, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wireproof.mutants.psrt.server.mutant import ServerMutant, mutant
from wireproof.mutants.psrt.server.patches import (
    Ask,
    changed,
    field_kind,
    order,
    with_answer,
    with_handler,
    with_request,
)
from wireproof.protocols.fields import U16
from wireproof.protocols.psrt.replies import PushedMessage
from wireproof.protocols.psrt.requests import Attach
from wireproof.reference_server.psrt.client import Client
from wireproof.reference_server.psrt.session import PsrtSession
from wireproof.reference_server.psrt.state import ERROR, OK, Answer, Handler, RefusedError, State

__all__ = ["MUTANTS"]


def _attaching(change: Callable[[Any, PsrtSession, State, Handler, int], Answer]) -> Any:
    """Handle tokens by `change(request, session, state, correct handler, now)`."""

    def make(correct: Handler, state: State) -> Handler:
        return lambda request, session, now: change(request, session, state, correct, now)

    return with_handler(Attach, make)


def _begins(size: int) -> Any:
    """Compare the first bytes of tokens only."""

    def change(request: Attach, ask: Ask) -> Attach:
        alike = (one for one in ask.state.clients if one[:size] == request.token[:size])
        return changed(request, token=next(alike, request.token))

    return with_request(Attach, change)


def _replaces(request: Attach, session: PsrtSession, state: State, correct: Handler, now: int) -> Answer:
    """Close the data socket that there is when another one comes."""
    client = state.clients.get(request.token)
    if client is not None and client.data is not None:
        client.data.end()
    return correct(request, session, now)


def _both_closed(request: Attach, session: PsrtSession, state: State, correct: Handler, now: int) -> Answer:
    """Refuse another data socket and close the one that there is."""
    client = state.clients.get(request.token)
    answer = correct(request, session, now)
    if answer == ERROR and client is not None and client.data is not None:
        client.data.end()
    return answer


def _beside(request: Attach, session: PsrtSession, state: State, correct: Handler, now: int) -> Answer:
    """Answer 01 to another data socket, which gets nothing."""
    answer = correct(request, session, now)
    if answer == ERROR and request.token in state.clients:
        session._finishing = False
        return OK
    return answer


def _takes_over(request: Attach, session: PsrtSession, state: State, correct: Handler, now: int) -> Answer:
    """Let another data socket take over; the first one stays open and gets nothing."""
    client = state.clients.get(request.token)
    if client is not None and client.data is not None:
        client.data.client = None
        client.data = None
    return correct(request, session, now)


def _stays_open(request: Attach, session: PsrtSession, state: State, correct: Handler, now: int) -> Answer:
    answer = correct(request, session, now)
    session._finishing = False
    return answer


def _any_token(request: Attach, session: PsrtSession, state: State, correct: Handler, now: int) -> Answer:
    """Take a token that nobody has for that of a session that is there."""
    if request.token not in state.clients:
        session.feed = session.feed_type(state, request.timeout, session._write, session.too_slow)
        return OK
    return correct(request, session, now)


def _ends_all_on_wrong(request: Attach, session: PsrtSession, state: State, correct: Handler, now: int) -> Answer:
    """End the sessions that have no data socket when a wrong token is shown."""
    if request.token not in state.clients:
        for one in list(state.sessions):
            if one.client is not None and not one.is_data and one.client.data is None:
                one.end()
    return correct(request, session, now)


def _time_over(most: int) -> Any:
    def change(answer: Answer, ask: Ask) -> Answer:
        if ask.request.timeout > most:
            raise RefusedError("too long a time")
        return answer

    return with_answer(Attach, change)


def _not_for_anybody(request: Attach, session: PsrtSession, state: State, correct: Handler, now: int) -> Answer:
    client = state.clients.get(request.token)
    if client is not None and not client.login:
        session.finish()
        return ERROR
    return correct(request, session, now)


class _Spent(PsrtSession):
    """Burns the token when the data socket ends, however it does."""

    def connection_lost(self) -> None:
        """See `PsrtSession`."""
        client, is_data = self.client, self.feed is not None
        super().connection_lost()
        if client is not None and is_data:
            client.is_spent = True


class _SubscriptionsLost(PsrtSession):
    """Forgets the subscriptions when the data socket ends."""

    def connection_lost(self) -> None:
        """See `PsrtSession`."""
        if self.client is not None and self.feed is not None:
            self.state.subscriptions.leave(self.client)
        super().connection_lost()


class _EndsSession(PsrtSession):
    """Ends the session when its data socket ends."""

    def connection_lost(self) -> None:
        """See `PsrtSession`."""
        client = self.client if self.feed is not None else None
        super().connection_lost()
        for one in list(self.state.sessions):
            if client is not None and one.client is client:
                one.end()


class _ReadsOn(PsrtSession):
    """Closes a data socket on which anything comes behind the token."""

    def data_received(self, data: bytes) -> None:
        """See `PsrtSession`."""
        if self.feed is not None:
            self.end()
        else:
            super().data_received(data)


class _ReadsRequests(PsrtSession):
    """Answers what comes on a data socket as if it were a control socket."""

    def data_received(self, data: bytes) -> None:
        """See `PsrtSession`."""
        if self.feed is not None and not self.closed:
            self._write(b"\1")
        else:
            super().data_received(data)


class _Kept(State):
    """Keeps messages for those who have no data socket."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.kept: dict[Client, list[tuple[str, int, bytes]]] = {}

    def publish(self, topic: str, priority: int, message: bytes) -> None:
        """See `State`."""
        super().publish(topic, priority, message)
        for client in self.subscriptions.match(topic):
            if client.data is None:
                self.kept.setdefault(client, []).append((topic, priority, message))


class _Delivers(PsrtSession):
    """Hands what was kept to a data socket that comes."""

    def attach(self, client: Client, request: Attach) -> None:
        """See `PsrtSession`."""
        super().attach(client, request)
        assert isinstance(self.state, _Kept)
        for topic, priority, message in self.state.kept.pop(client, ()):
            client.deliver(self.state.codec.encode(PushedMessage(priority, topic.encode(), message)))


class _OnlyOnBye(PsrtSession):
    """Closes the data socket on BYE, or an error, only."""

    def connection_lost(self) -> None:
        """See `PsrtSession`."""
        if self.client is not None and self.feed is None and not (self.closed or self._finishing):
            self.client.data = None
        super().connection_lost()


class _HalfClosed(PsrtSession):
    """Takes the end of what a client sends on its control socket for no end."""

    def eof_received(self) -> None:
        """See `PsrtSession`."""
        if self.client is None or self.is_data:
            super().eof_received()


REUSED = ("ATTACH-9", "ATTACH-10", "ATTACH-11", "ATTACH-13")
_TOKENS: tuple[ServerMutant, ...] = (
    mutant("attach-answered-00", "A token is answered with 00.", "ATTACH-2", "FRAMING-3", "STARTTLS-5",
          "ATTACH-1", "DATA_GREETING-5",
          handlers=with_answer(Attach, lambda answer, ask: b"\0" if answer == OK else answer)),
    mutant("attach-unanswered", "A token that is taken is not answered.", "ATTACH-2", "STARTTLS-5",
          "ATTACH-1", "DATA_GREETING-5",
          handlers=with_answer(Attach, lambda answer, ask: b"" if answer == OK else answer)),
    mutant("attach-answered-twice", "A token is answered 01 01.", "ATTACH-2",
          "ATTACH-1", "DATA_GREETING-5",
          handlers=with_answer(Attach, lambda answer, ask: b"\1\1" if answer == OK else answer)),
    mutant("attach-time-of-2-bytes", "TIMEOUT_SEC has 2 bytes.", "ATTACH-1", "ATTACH-2",
          "DATA_GREETING-5", profile=field_kind(Attach, "timeout", U16)),
    mutant("attach-time-first", "TIMEOUT_SEC stands before the token.", "ATTACH-1", "ATTACH-2",
          "DATA_GREETING-5", profile=order(Attach, "timeout", "token")),
    mutant("attach-compares-31-bytes", "The last byte of a token is not compared.", "ATTACH-5", "ATTACH-3",
          handlers=_begins(31)),
    mutant("attach-compares-8-bytes", "The first 8 bytes of tokens are compared.", "ATTACH-5", "ATTACH-3",
          handlers=_begins(8)),
    mutant("attach-any-token", "Every token is answered 01.", "ATTACH-3", "ATTACH-5", "ATTACH-6", "BYE-7",
          "ATTACH-19", "ROBUSTNESS-12", handlers=_attaching(_any_token)),
    mutant("attach-refused-stays-open", "A data socket that is refused is answered FF and stays open.", "ATTACH-3",
          "ATTACH-7", "ATTACH-6", "ATTACH-5", "BYE-7", "ROBUSTNESS-12", "ATTACH-8", handlers=_attaching(_stays_open)),
    mutant("attach-refused-with-fe", "A data socket that is refused is answered FE.", "ATTACH-3", "ATTACH-5",
          "ATTACH-6", "ATTACH-7", "ATTACH-8", "BYE-7", "ATTACH-19", "ATTACH-4", "ROBUSTNESS-12",
          handlers=with_answer(Attach, lambda answer, ask: b"\xfe" if answer == ERROR else answer)),
    mutant("attach-replaces", "Another data socket with the same token takes the place of the first.", "ATTACH-7",
          "ATTACH-8", handlers=_attaching(_replaces)),
    mutant("attach-takes-over", "Another data socket takes over; the first stays open and gets nothing.", "ATTACH-7",
          "ATTACH-8", handlers=_attaching(_takes_over)),
    mutant("attach-closes-both", "Another data socket is refused, and the first is closed.", "ATTACH-8", "ATTACH-19",
          handlers=_attaching(_both_closed)),
    mutant("attach-beside", "Another data socket is answered 01 and gets nothing.", "ATTACH-7",
          "ATTACH-8", handlers=_attaching(_beside)),
    mutant("attach-wrong-ends-sessions", "A wrong token ends the sessions that have no data socket.", "ATTACH-19",
          "ROBUSTNESS-8", "ATTACH-5", "ATTACH-3", handlers=_attaching(_ends_all_on_wrong)),
    mutant("attach-time-of-7-bits", "TIMEOUT_SEC above 127 is refused.", "ATTACH-17", "ATTACH-2",
          handlers=_time_over(127)),
    mutant("attach-time-below-255", "TIMEOUT_SEC 255 is refused.", "ATTACH-17", handlers=_time_over(254)),
    mutant("attach-not-anonymous", "The token of an anonymous session opens no data socket.", "ATTACH-20", "ATTACH-2",
          handlers=_attaching(_not_for_anybody)),
)  # fmt: skip
_ENDS: tuple[ServerMutant, ...] = (
    mutant("data-socket-burns-its-token", "The token of a data socket that ended is refused.", *REUSED,
          profiles=("1",), session=_Spent),
    mutant("data-socket-ends-subscriptions", "The subscriptions of a session end with its data socket.", "ATTACH-11",
          "ATTACH-9", "SUBSCRIBE-6", profiles=("1",), session=_SubscriptionsLost),
    mutant("data-socket-ends-its-session", "The session ends with its data socket.", "ATTACH-12", *REUSED,
          session=_EndsSession),
    mutant("data-socket-reads-on", "What comes on a data socket behind the token closes it.", "ATTACH-14",
          session=_ReadsOn),
    mutant("data-socket-answers", "What comes on a data socket behind the token is answered 01.", "ATTACH-14",
          "BEACON-7", session=_ReadsRequests),
    mutant("messages-kept-for-a-data-socket", "What is published without a data socket is kept for it.", "ATTACH-13",
          "PUBLISH-18", state=_Kept, session=_Delivers),
    mutant("data-socket-ends-on-bye-only", "Only BYE, or an error, closes the data socket of a session.", "ATTACH-15",
          "TIMEOUT-10", session=_OnlyOnBye),
    mutant("half-closed-control-stays", "A control socket that its client half-closes stays open.", "ATTACH-15",
          "ATTACH-6", "ROBUSTNESS-7", session=_HalfClosed),
)  # fmt: skip
MUTANTS = _TOKENS + _ENDS
