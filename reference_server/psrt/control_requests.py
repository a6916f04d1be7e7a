"""Handlers of the requests on a control socket."""

from __future__ import annotations

from wireproof.protocols.psrt.enums import PROTOCOL_VERSION, Mode
from wireproof.protocols.psrt.replies import GreetingReply, Token
from wireproof.protocols.psrt.requests import (
    Bye,
    Greeting,
    Login,
    Nop,
    Publish,
    PublishRepl,
    ReplData,
    Subscribe,
    Unsubscribe,
)
from wireproof.reference_server.psrt.client import Client
from wireproof.reference_server.psrt.rights import ALL, Rights
from wireproof.reference_server.psrt.session import PsrtSession
from wireproof.reference_server.psrt.state import (
    DENIED,
    ERROR,
    OK,
    OK_WAITING,
    UNWANTED,
    Answer,
    Handlers,
    RefusedError,
    State,
)
from wireproof.reference_server.psrt.topics import depth, is_mask, normalised

__all__ = ["ControlRequests", "begin", "text"]


def text(data: bytes, what: str) -> str:
    """Return UTF-8 as text; `what` names it in messages. Raises RefusedError if it is not UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise RefusedError(f"{what}: expected UTF-8, got byte {data[error.start]:02x}") from None


def begin(state: State, session: PsrtSession, mode: int) -> None:
    """Switch to TLS or continue in clear text, as a greeting asks. Raises RefusedError if that is not possible."""
    if mode == Mode.STARTTLS:
        if not session.secure():
            raise RefusedError("expected mode plain: this server has no TLS")
    elif not state.options["allow_no_tls"] and session.peer.family != "unix":
        raise RefusedError("expected TLS: this server does not allow clear text")


class ControlRequests:
    """The handlers of a control socket's requests."""

    def __init__(self, state: State) -> None:
        self._state = state

    def handlers(self) -> Handlers:
        """Return request class -> handler."""
        return {
            Greeting: self.greeting,
            Login: self.login,
            Nop: self.nop,
            Publish: self.publish,
            Subscribe: self.subscribe,
            Unsubscribe: self.unsubscribe,
            PublishRepl: self.publish_repl,
            ReplData: self.repl_data,
            Bye: self.bye,
        }

    def greeting(self, request: Greeting, session: PsrtSession, now: int) -> Answer:
        """Begin; after a switch to TLS the answer is the first inside it (P2)."""
        begin(self._state, session, request.mode)
        return GreetingReply(PROTOCOL_VERSION)

    def login(self, request: Login, session: PsrtSession, now: int) -> Answer:
        """Answer a correct login with a token, and no other (P23). Raises `RefusedError` for a wrong login."""
        login = text(request.login, "login")
        rights = self.rights(login, request.password, session)
        if rights is None:
            raise RefusedError("unknown login, wrong password or no rights")
        client = Client(login, rights, self._state.new_token())
        session.client = self._state.clients[client.token] = client
        return Token(client.token)

    def rights(self, login: str, password: bytes, session: PsrtSession) -> Rights | None:
        """Return the rights of a login, on a UNIX socket all; None if it is refused."""
        if session.peer.family == "unix":
            return ALL
        return self._state.accounts.login(login, text(password, "password"))

    def nop(self, request: Nop, session: PsrtSession, now: int) -> Answer:
        """Answer OK (P6)."""
        return OK

    def publish(self, request: Publish, session: PsrtSession, now: int) -> Answer:
        """Deliver a message to the subscribers with its own priority (P14).

        Raises `RefusedError` for a topic that the client may not publish to.
        """
        if not request.topic:
            raise RefusedError("expected a topic, got none")
        topic = normalised(text(request.topic, "topic"))
        if depth(topic) > self._state.max_depth:
            return ERROR
        if is_mask(topic):
            raise RefusedError("expected a topic, got a mask")
        if not _client(session).rights.may_publish(topic):
            return DENIED
        self._state.publish(topic, request.priority, request.message)
        return OK

    def subscribe(self, request: Subscribe, session: PsrtSession, now: int) -> Answer:
        """Subscribe to each mask up to the first one that is refused (P8)."""
        client, options = _client(session), self._state.options
        subscriptions = self._state.subscriptions
        for item in filter(None, text(request.topics, "topics").split("\0")):
            mask = normalised(item)
            if depth(mask) > self._state.max_depth:
                return ERROR
            if not client.rights.may_subscribe(mask):
                return DENIED
            is_full = subscriptions.count(client) >= options["max_topics"] or (
                is_mask(mask) and subscriptions.masks(client) >= options["max_masks"]
            )
            if is_full and not subscriptions.has(client, mask):
                return ERROR
            subscriptions.add(client, mask)
        return OK

    def unsubscribe(self, request: Unsubscribe, session: PsrtSession, now: int) -> Answer:
        """Remove subscriptions up to the first mask that is too deep; a missing one is no error."""
        for item in filter(None, text(request.topics, "topics").split("\0")):
            mask = normalised(item)
            if depth(mask) > self._state.max_depth:
                return ERROR
            self._state.subscriptions.remove(_client(session), mask)
        return OK

    def publish_repl(self, request: PublishRepl, session: PsrtSession, now: int) -> Answer:
        """Answer whether the message of another server is wanted (P13); its topic is not normalised.

        Raises `RefusedError` if the client may not replicate.
        """
        if not self._state.options["replication"]:
            raise RefusedError("this server does not replicate")
        client, topic = _client(session), text(request.topic, "topic")
        if not client.rights.replicator:
            return DENIED
        if not self._state.subscriptions.match(topic):
            return UNWANTED
        client.waiting_for = topic
        return OK_WAITING

    def repl_data(self, request: ReplData, session: PsrtSession, now: int) -> Answer:
        """Deliver the message to the subscribers; its timestamp is only for logs."""
        self._state.publish(_client(session).waiting_for, request.priority, request.message)
        return OK

    def bye(self, request: Bye, session: PsrtSession, now: int) -> Answer:
        """Answer, then close (P7)."""
        session.finish()
        return OK


def _client(session: PsrtSession) -> Client:
    assert session.client is not None
    return session.client
