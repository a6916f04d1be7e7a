"""Faults of how requests come and answers go: segments, order, and what others feel of it."""

from __future__ import annotations

from typing import Any

from wireproof.mutants.psrt.server.mutant import ServerMutant, mutant
from wireproof.mutants.psrt.server.patches import with_handler
from wireproof.protocols.psrt.requests import Nop, Publish, Subscribe, Unsubscribe
from wireproof.reference_server.psrt.session import GREETING_SIZE, PsrtSession
from wireproof.reference_server.psrt.state import Answer, Handler, State

__all__ = ["MUTANTS"]

A_FEW = 3
MOST_AT_ONCE = 64
MOST_SUBSCRIPTIONS = 16


class _Backwards(PsrtSession):
    """Writes the answers to one segment last one first, where there are more than a few."""

    def flush(self) -> None:
        """See `PsrtSession`."""
        if self.client is not None and len(self._out) > A_FEW and all(len(one) == 1 for one in self._out):
            self._out.reverse()
        super().flush()


class _NoPieces(PsrtSession):
    """Forgets a request of which a segment holds a part only."""

    def data_received(self, data: bytes) -> None:
        """See `PsrtSession`."""
        super().data_received(data)
        if self.client is not None and self.connection is not None and not self.closed and self.feed is None:
            self.connection._buffer.drop()


class _NoLastByte(PsrtSession):
    """Forgets a byte that came alone, where a request is not whole."""

    def data_received(self, data: bytes) -> None:
        """See `PsrtSession`."""
        if len(data) == 1 and self.client is not None and self.connection is not None and self.connection.buffered:
            return
        super().data_received(data)


class _NoLateGreeting(PsrtSession):
    """Wants the greeting in one segment."""

    def data_received(self, data: bytes) -> None:
        """See `PsrtSession`."""
        if self.connection is None and len(data) < 3:
            self.end()
        else:
            super().data_received(data)


class _NoLateLogin(PsrtSession):
    """Forgets a login that does not come in one segment."""

    def data_received(self, data: bytes) -> None:
        """See `PsrtSession`."""
        super().data_received(data)
        is_login = self.connection is not None and self.client is None and not self.is_data and not self.closed
        if is_login and self.connection is not None and self.connection.received == GREETING_SIZE:
            self.connection._buffer.drop()


class _FewAtOnce(PsrtSession):
    """Loses requests beyond a number in one segment."""

    taken = 0

    def data_received(self, data: bytes) -> None:
        """See `PsrtSession`."""
        self.taken = 0
        super().data_received(data)

    def answer(self, request: Any, answer: Answer) -> None:
        """See `PsrtSession`."""
        self.taken += 1
        super().answer(request, answer)
        if self.taken > MOST_AT_ONCE:
            self._out.pop()


class _PartsCarriedOut(PsrtSession):
    """Publishes what came of a PUBLISH when its client goes away."""

    def connection_lost(self) -> None:
        """See `PsrtSession`."""
        if self.client is not None and self.connection is not None and not self.closed and not self.is_data:
            buffer = self.connection._buffer
            rest = buffer.data[buffer.at : buffer.end] + bytes(buffer.gathered)
            topic, found, message = rest[6:].partition(b"\0")
            if rest[:1] == b"\1" and found:
                self.state.publish(topic.decode(errors="replace"), rest[1], message)
        super().connection_lost()
        self.state.flush()


class _WaitsForAll(PsrtSession):
    """Answers nobody while a request of somebody is not whole."""

    def flush(self) -> None:
        """See `PsrtSession`."""
        others = (one for one in self.state.sessions if one is not self and one.client and one.connection)
        if self.client is None or not any(one.connection and one.connection.buffered for one in others):
            super().flush()


class _OneWaits(PsrtSession):
    """Answers nobody while a connection waits for its greeting to be whole."""

    def flush(self) -> None:
        """See `PsrtSession`."""
        if not any(one._first for one in self.state.sessions):
            super().flush()


class _Later(State):
    """Carries SUBSCRIBE and UNSUBSCRIBE out once the segment is done."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.due: list[Any] = []

    def flush(self) -> None:
        """See `State`."""
        due, self.due = self.due, []
        for one in due:
            one()
        super().flush()


def _set(subscriptions: Any, client: Any, now: frozenset[str], wanted: frozenset[str]) -> None:
    for text in now - wanted:
        subscriptions.remove(client, text)
    for text in wanted - now:
        subscriptions.add(client, text)


def _later(correct: Handler, state: State) -> Handler:
    assert isinstance(state, _Later)

    def handle(request: Any, session: PsrtSession, now: int) -> Answer:
        client, subscriptions = session.client, state.subscriptions
        assert client is not None
        before = subscriptions.of(client)
        answer = correct(request, session, now)
        after = subscriptions.of(client)
        _set(subscriptions, client, after, before)
        state.due.append(lambda: _set(subscriptions, client, before, after))
        return answer

    return handle


def _dropping(correct: Handler, state: State) -> Handler:
    """Take the messages that wait away with the subscription."""

    def handle(request: Unsubscribe, session: PsrtSession, now: int) -> Answer:
        client = session.client
        if client is not None and client.data is not None and client.data.feed is not None:
            client.data.feed._waiting.clear()
        return correct(request, session, now)

    return handle


def _few(correct: Handler, state: State) -> Handler:
    """Forget the oldest subscription beyond a number of all sessions."""
    order: list[tuple[Any, str]] = []

    def handle(request: Subscribe, session: PsrtSession, now: int) -> Answer:
        assert session.client is not None
        before = state.subscriptions.of(session.client)
        answer = correct(request, session, now)
        order.extend((session.client, text) for text in sorted(state.subscriptions.of(session.client) - before))
        while len(order) > MOST_SUBSCRIPTIONS:
            state.subscriptions.remove(*order.pop(0))
        return answer

    return handle


def _losing(correct: Any, state: State) -> Any:
    last: dict[Any, bool] = {}

    def publish(request: Any, session: PsrtSession, now: int) -> Answer:
        last[session] = True
        return correct[Publish](request, session, now)  # type: ignore[no-any-return]

    def nop(request: Any, session: PsrtSession, now: int) -> Answer:
        return b"" if last.pop(session, False) else correct[Nop](request, session, now)

    return {Publish: publish, Nop: nop}


PIECES = ("ROBUSTNESS-4", "ROBUSTNESS-6", "TIMEOUT-7")
MUTANTS: tuple[ServerMutant, ...] = (
    mutant("answers-backwards", "More than three answers to one segment come last one first.", "ORDER-1", "ROBUSTNESS-5",
          "FRAMING-6", "BYE-4", session=_Backwards),
    mutant("pieces-forgotten", "A request that does not come in one segment is forgotten.", *PIECES,
          "ROBUSTNESS-9", "LIMIT-2", session=_NoPieces),
    mutant("single-bytes-forgotten", "A byte of a request that comes alone is forgotten.", *PIECES,
          session=_NoLastByte),
    mutant("greeting-in-one-piece", "A greeting that does not come in one segment is refused.", "ROBUSTNESS-4",
          "GREETING-10", "GREETING-2", "TIMEOUT-4", "ROBUSTNESS-9", session=_NoLateGreeting),
    mutant("login-in-one-piece", "A login that does not come in one segment is forgotten.", "ROBUSTNESS-4",
          "LOGIN-15", "LOGIN-1", session=_NoLateLogin),
    mutant("answers-beyond-64-lost", "Of the answers to one segment the first 64 come.", "ROBUSTNESS-10",
          "ROBUSTNESS-5", "ROBUSTNESS-13", session=_FewAtOnce),
    mutant("nop-behind-publish-unanswered", "A NOP behind a PUBLISH is not answered.", "ROBUSTNESS-10", "NOP-2",
          "ORDER-1", handlers=_losing),
    mutant("part-of-a-publish-published", "What came of a PUBLISH is published when its client goes away.",
          "ROBUSTNESS-7", "LIMIT-5", "BYE-5", session=_PartsCarriedOut),
    mutant("all-wait-for-one", "While a request of one client is not whole nobody is answered.", "ROBUSTNESS-9",
          "ROBUSTNESS-8", session=_WaitsForAll),
    mutant("all-wait-for-a-greeting", "While one connection's greeting is not whole nobody is answered.",
          "ROBUSTNESS-9", session=_OneWaits),
    mutant("lists-carried-out-later", "SUBSCRIBE and UNSUBSCRIBE are carried out behind what else is in their segment.",
          "ORDER-2", state=_Later, handlers=with_handler((Subscribe, Unsubscribe), _later)),
    mutant("unsubscribe-drops-messages", "UNSUBSCRIBE drops messages that were published before it.", "ORDER-5",
          "ORDER-2", handlers=with_handler(Unsubscribe, _dropping)),
    mutant("subscriptions-of-16", "Beyond 16 subscriptions of all sessions the oldest is forgotten.", "ROBUSTNESS-13",
          "SUBSCRIBE-6", "MESSAGE-8", handlers=with_handler(Subscribe, _few)),
)  # fmt: skip
