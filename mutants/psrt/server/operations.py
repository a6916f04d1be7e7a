"""Faults of NOP, BYE, the numbers and codes of all requests, and of what closes a connection."""

from __future__ import annotations

from typing import Any

from wireproof.mutants.psrt.server.mutant import ServerMutant, mutant
from wireproof.mutants.psrt.server.patches import (
    Ask,
    client_of,
    decoding,
    miscounted,
    pushing,
    saying,
    swapped,
    with_answer,
    with_handler,
)
from wireproof.protocols.errors import ErrorCode, MalformedFrameError
from wireproof.protocols.profile import Profile
from wireproof.protocols.psrt import ControlServer
from wireproof.protocols.psrt.profiles import OPERATIONS
from wireproof.protocols.psrt.requests import (
    Attach,
    Bye,
    Login,
    Nop,
    Publish,
    PublishRepl,
    ReplData,
    Subscribe,
    Unsubscribe,
)
from wireproof.reference_server.psrt.session import PsrtSession
from wireproof.reference_server.psrt.state import DENIED, ERROR, OK, Answer, Handler, State
from wireproof.reference_server.psrt.topics import normalised

__all__ = ["MUTANTS"]

REFUSALS = ("PUBLISH-11", "PUBLISH-12", "PUBLISH-13", "PUBLISH-14", "PUBLISH-15", "PUBLISH-17", "SUBSCRIBE-15",
            "UNSUBSCRIBE-13", "LIMIT-2", "LIMIT-3", "LIMIT-5", "LIMIT-6", "LIMIT-7")  # fmt: skip
OPENINGS = ("GREETING-5", "GREETING-6", "DATA_GREETING-4", "LOGIN-6", "LOGIN-7", "LOGIN-8", "LOGIN-9", "LOGIN-10",
            "LOGIN-11", "LOGIN-12", "LOGIN-13", "LOGIN-15", "LOGIN-17", "LOGIN-19", "ACL-11", "ACCOUNT-1",
            "ACCOUNT-2")  # fmt: skip
DENIALS = ("PUBLISH-8", "SUBSCRIBE-9", "PUBLISH_REPL-2", "ACL-1", "ACL-2", "ACL-3", "ACL-4", "ACL-5", "ACL-6", "ACL-9",
           "ACL-12", "ACL-13", "ACL-16", "ACCOUNT-3")  # fmt: skip
DEPTHS = ("PUBLISH-9", "PUBLISH-16", "SUBSCRIBE-10", "UNSUBSCRIBE-6", "TOPIC-9", "TOPIC-7")
LENGTHS = (Publish, Subscribe, Unsubscribe, PublishRepl, ReplData)
EACH_OK = ("NOP-2", "SUBSCRIBE-5", "UNSUBSCRIBE-3", "PUBLISH-6", "BYE-3", "FRAMING-3")


def _forgets_subscriptions(correct: Handler, state: State) -> Handler:
    def handle(request: Any, session: PsrtSession, now: int) -> Answer:
        assert session.client is not None
        state.subscriptions.leave(session.client)
        return correct(request, session, now)

    return handle


def _closes_data(answer: Answer, ask: Ask) -> Answer:
    if client_of(ask).data is not None:
        client_of(ask).data.end()  # type: ignore[union-attr]
    return answer


def _stays_open(request: Any, session: PsrtSession, now: int) -> Answer:
    return OK


def _says_nothing(request: Any, session: PsrtSession, now: int) -> Answer:
    return b""


def _to_the_other_code(answer: Answer, ask: Ask) -> Answer:
    return DENIED if answer == ERROR else ERROR if answer == DENIED else answer


def _wanted(ask: Ask) -> bool:
    return bool(ask.state.subscriptions.match(normalised(ask.request.topic.decode())))


def _odd(connection: Any, error: MalformedFrameError, data: bytes) -> tuple[Nop, int] | None:
    """Take a byte that begins no request for a NOP, which is marked."""
    if error.code is not ErrorCode.UNKNOWN_TYPE or connection.state != "open":
        return None
    connection.is_odd = True
    return Nop(), 1


def _swapped_length(push: bytes) -> bytes:
    return push[:2] + push[5:1:-1] + push[6:]


def _swapped_bytes(profile: Profile) -> Profile:
    return profile.derive(profile.name, leads={Subscribe: b"\3", Unsubscribe: b"\2"})


class _TellsErrors(PsrtSession):
    """Says FF before it closes for an error."""

    def refuse(self, why: str) -> None:
        """See `PsrtSession`."""
        self._out.append(b"\xff")
        super().refuse(why)


class _DropsAnswers(PsrtSession):
    """Drops the answers in hand where it closes for an error."""

    def refuse(self, why: str) -> None:
        """See `PsrtSession`."""
        self._out.clear()
        super().refuse(why)


class _NoLastAnswers(PsrtSession):
    """Drops the answers in hand on BYE."""

    def take(self, request: Any) -> None:
        """See `PsrtSession`."""
        if isinstance(request, Bye):
            self._out.clear()
        super().take(request)


class _ReadsBehindBye(ControlServer):
    """Goes on reading behind BYE."""

    def _accept(self, message: Any) -> None:
        if not isinstance(message, Bye):
            super()._accept(message)
        else:
            self._pending.append(message)


class _ServesBehindBye(PsrtSession):
    """Carries out what came in one segment with BYE, and answers it."""

    control_type = _ReadsBehindBye

    def take(self, request: Any) -> None:
        """See `PsrtSession`."""
        super().take(request)
        if isinstance(request, Bye):
            self._finishing, self.is_over = False, True

    def flush(self) -> None:
        """See `PsrtSession`."""
        super().flush()
        if getattr(self, "is_over", False):
            self._finishing = True


def _answers_odd(answer: bytes) -> type[PsrtSession]:
    """Return sessions that answer a byte that begins no request."""

    class Odd(decoding(_odd)):  # type: ignore[misc]
        """Goes on behind it."""

        def take(self, request: Any) -> None:
            """See `PsrtSession`."""
            is_odd, self.connection.is_odd = getattr(self.connection, "is_odd", False), False
            if is_odd:
                self.answer(request, answer)
            else:
                super().take(request)

    return Odd


class _EverybodyOut(PsrtSession):
    """Closes all connections where it closes one for an error."""

    def refuse(self, why: str) -> None:
        """See `PsrtSession`."""
        super().refuse(why)
        for one in list(self.state.sessions):
            if one is not self:
                one.end()


class _KeepsAll(State):
    """Keeps subscriptions and token of who is gone, whose data socket stays open."""

    def forget(self, client: Any) -> None:
        """See `State`."""


class _KeepsToken(State):
    """Keeps the token of who is gone."""

    def forget(self, client: Any) -> None:
        """See `State`."""
        super().forget(client)
        self.clients[client.token] = client


class _KeepsData(State):
    """Leaves the data socket of who is gone open."""

    def forget(self, client: Any) -> None:
        """See `State`."""
        if self.clients.pop(client.token, None) is not None:
            self.subscriptions.leave(client)


_NOP: tuple[ServerMutant, ...] = (
    mutant("nop-unanswered", "NOP is not answered.", "NOP-2", "NOP-1", "TIMEOUT-2", "TIMEOUT-3", "ORDER-1",
          "ROBUSTNESS-10", handlers=with_handler(Nop, lambda correct, state: _says_nothing)),
    mutant("nop-answered-00", "NOP is answered with 00.", "NOP-2", "FRAMING-3", handlers=saying(Nop, b"\0")),
    mutant("nop-answered-twice", "NOP is answered 01 01.", "NOP-2", "ROBUSTNESS-10", handlers=saying(Nop, b"\1\1")),
    mutant("nop-ends-subscriptions", "NOP takes all subscriptions of the session back.", "NOP-3",
          "ATTACH-11", handlers=with_handler(Nop, _forgets_subscriptions)),
    mutant("nop-closes-data-socket", "NOP closes the data socket of the session.", "NOP-3", "ATTACH-11", "ATTACH-8",
          handlers=with_answer(Nop, _closes_data)),
)  # fmt: skip
_BYE: tuple[ServerMutant, ...] = (
    mutant("bye-without-answer", "BYE is answered by closing alone.", "BYE-3", "GREETING-8",
          handlers=saying(Bye, b"")),
    mutant("bye-stays-open", "BYE is answered 01, and the connection stays open.", "BYE-2", "BYE-6", "BYE-7",
          "GREETING-8", "BYE-5", "ATTACH-15", handlers=with_handler(Bye, lambda correct, state: _stays_open)),
    mutant("bye-ignored", "BYE is not answered, and the connection stays open.", "BYE-2", "BYE-3", "BYE-6", "BYE-7",
          "GREETING-8", "BYE-1", "BYE-5", "BYE-4", "ATTACH-15",
          handlers=with_handler(Bye, lambda correct, state: _says_nothing)),
    mutant("bye-answered-00", "BYE is answered with 00, then the connection is closed.", "BYE-3", "FRAMING-3",
          "BYE-2", "GREETING-8", handlers=saying(Bye, b"\0")),
    mutant("bye-drops-answers", "What was asked in one segment with BYE is not answered.", "BYE-4", "GREETING-8",
          "FRAMING-6", "ORDER-1", "ROBUSTNESS-5", session=_NoLastAnswers),
    mutant("bye-is-not-the-end", "What came in one segment with BYE is carried out and answered.", "BYE-5",
          session=_ServesBehindBye),
)  # fmt: skip
_END: tuple[ServerMutant, ...] = (
    mutant("session-survives-its-socket", "Token, subscriptions and data socket outlive the control socket.", "BYE-6",
          "BYE-7", "ATTACH-15", "ATTACH-6", "TIMEOUT-10", "SUBSCRIBE-19", "ROBUSTNESS-12", "PUBLISH_REPL-3",
          "ATTACH-3", state=_KeepsAll),
    mutant("token-outlives-its-session", "The token of a session that ended opens a data socket.", "BYE-7", "ATTACH-6",
          "ROBUSTNESS-12", state=_KeepsToken),
    mutant("data-socket-outlives-its-session", "The data socket stays open when the control socket ends.", "ATTACH-15",
          "BYE-6", "TIMEOUT-10", state=_KeepsData),
    mutant("error-closes-everybody", "An error of one client closes all connections.", "ROBUSTNESS-8", "LIMIT-8",
          "ROBUSTNESS-2", "ROBUSTNESS-7", "LOGIN-19", session=_EverybodyOut),
)  # fmt: skip
_CODES: tuple[ServerMutant, ...] = (
    mutant("lengths-big-endian", "LEN stands high byte first, in requests behind the login and in pushes.", "FRAMING-1",
          "SUBSCRIBE-2", "SUBSCRIBE-5", "UNSUBSCRIBE-2", "UNSUBSCRIBE-3", "PUBLISH-3", "PUBLISH-6", "MESSAGE-1",
          "MESSAGE-3", "PUBLISH_REPL-1", "PUBLISH_REPL-2", "PUBLISH_REPL-3", "REPL_DATA-1", "LIMIT-2", "LIMIT-3",
          "LIMIT-5", "MESSAGE-12", "DATAGRAM-7", "SEALED-8", "SEALED-17",
          "UNSUBSCRIBE-5", session=miscounted(LENGTHS, swapped),
          state=pushing(lambda message, state: _swapped_length(state.codec.encode(message)))),
    mutant("login-len-big-endian", "The LEN of a login stands high byte first.", "LOGIN-1", "LOGIN-2", "FRAMING-1",
          "LOGIN-15", session=miscounted(Login, swapped)),
    mutant("subscribe-and-unsubscribe-swapped", "02 unsubscribes and 03 subscribes.", "SUBSCRIBE-1", "UNSUBSCRIBE-1",
          "SUBSCRIBE-6", "UNSUBSCRIBE-4", "UNSUBSCRIBE-5", "ACL-14", "SUBSCRIBE-9", "SUBSCRIBE-11", "SUBSCRIBE-13",
          "SUBSCRIBE-14", "PUBLISH_REPL-4", "MESSAGE-8", profile=_swapped_bytes),
    mutant("denied-and-error-swapped", "FE and FF have changed places.", *DENIALS, *DEPTHS, "UNSUBSCRIBE-7",
          "SUBSCRIBE-11", "SUBSCRIBE-12", "SUBSCRIBE-13", "SUBSCRIBE-14", "PUBLISH-10", "TIMEOUT-11", "TOPIC-8",
          "UNSUBSCRIBE-16", handlers=with_answer((Publish, Subscribe, Unsubscribe, PublishRepl), _to_the_other_code)),
    mutant("ok-is-00", "A request that is carried out is answered 00.", *EACH_OK, "BYE-2", "ATTACH-2", "REPL_DATA-2",
          "GREETING-8", "UNSUBSCRIBE-5", "ATTACH-1", "DATA_GREETING-5", handlers=with_answer(
              (*OPERATIONS, ReplData, Attach), lambda answer, ask: b"\0" if answer == OK else answer)),
    mutant("error-told-before-closing", "FF is sent before a connection is closed for an error.", "FRAMING-9",
          "FRAMING-5", "PUBLISH_REPL-9", *REFUSALS, *OPENINGS, "STARTTLS-4", session=_TellsErrors),
    mutant("error-drops-answers", "Where an error closes a connection, what was asked before is not answered.",
          "FRAMING-6", "ROBUSTNESS-5", "GREETING-8", session=_DropsAnswers),
    mutant("unknown-request-answered-ff", "A byte that begins no request is answered FF, and the session goes on.",
          "FRAMING-5", "FRAMING-9", "ATTACH-15", "ATTACH-6", "STARTTLS-4", session=_answers_odd(b"\xff")),
    mutant("unknown-request-ignored", "A byte that begins no request is overlooked.", "FRAMING-5", "ATTACH-15",
          "ATTACH-6", "STARTTLS-4", session=_answers_odd(b"")),
    mutant("subscribe-to-nothing-answered-e0", "SUBSCRIBE with LEN 0 is answered E0.", "FRAMING-4", "SUBSCRIBE-8",
          handlers=with_answer(Subscribe, lambda answer, ask: answer if ask.request.topics else b"\xe0")),
    mutant("publish-answered-not-required", "PUBLISH to a topic that nobody is subscribed to is answered E0.",
          "PUBLISH-7", "FRAMING-4", "PUBLISH-6", "PUBLISH-19", "PUBLISH-20", "PUBLISH-5", "PUBLISH-10", "TOPIC-6",
          "TOPIC-8", "LIMIT-4", "ACL-2", handlers=with_answer(
              Publish, lambda answer, ask: b"\xe0" if answer == OK and not _wanted(ask) else answer)),
)  # fmt: skip
MUTANTS = _NOP + _BYE + _END + _CODES
