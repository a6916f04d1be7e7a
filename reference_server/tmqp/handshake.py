"""Handlers of what begins a connection, and of pings and the end."""

from __future__ import annotations

from wireproof.protocols.tmqp import ResultCode
from wireproof.protocols.tmqp.enums import VERSION
from wireproof.protocols.tmqp.replies import Pong, ProtocolReply, Welcome
from wireproof.protocols.tmqp.requests import AnswerPing, Custom, Hello, Ping, Protocol, Terminate
from wireproof.reference_server.tmqp.client import Client
from wireproof.reference_server.tmqp.session import TmqpSession
from wireproof.reference_server.tmqp.state import Answer, Handlers, RefusedError, State

__all__ = ["Handshake", "properties"]

LONGEST_ID = 255


def properties(payload: bytes) -> list[tuple[bytes, bytes]]:
    """Return the properties of a hello: names in lower case, values as they were sent (E7)."""
    lines = (line.removesuffix(b"\r").partition(b":") for line in payload.split(b"\n"))
    return [(name.strip().lower(), value) for name, colon, value in lines if colon]


class Handshake:
    """The handlers of the handshake, of pings and of the end."""

    def __init__(self, state: State) -> None:
        self._state = state

    def handlers(self) -> Handlers:
        """Return request class -> handler."""
        return {
            Protocol: self.protocol,
            Hello: self.hello,
            Ping: self.ping,
            AnswerPing: self.nothing,
            Terminate: self.terminate,
            Custom: self.nothing,
        }

    def protocol(self, request: Protocol, session: TmqpSession, now: int) -> Answer:
        """Answer with the same eight bytes (E6). Raises `RefusedError` for a version that is not spoken."""
        if request.version != VERSION and not self._state.rules.takes_old_version:
            raise RefusedError(f"version {request.version!r}")
        session.version = request.version
        return ProtocolReply(request.version) if self._state.rules.answers_protocol_at_once else None

    def hello(self, request: Hello, session: TmqpSession, now: int) -> Answer:
        """Accept a client, or close after saying why not."""
        replies = session.greeting()
        refused = self._refused(request, session)
        if refused is not None:
            session.finish(f"refused: {refused}")
            answer = Welcome(one_delivery=1, id=self._state.new_id(), content_type=refused)
            return (*replies, answer) if refused else replies
        client = self._client(request, now)
        session.opened(client)
        welcome = Welcome(one_delivery=1, id=self._state.new_id(), target=client.id, content_type=ResultCode.ACCEPTED)
        return (*replies, welcome)

    def ping(self, request: Ping, session: TmqpSession, now: int) -> Answer:
        """Answer at once."""
        return Pong()

    def terminate(self, request: Terminate, session: TmqpSession, now: int) -> Answer:
        """Close, without a word (E37)."""
        session.finish("the client ends")
        return None

    def nothing(self, request: AnswerPing | Custom, session: TmqpSession, now: int) -> Answer:
        """Do nothing: what was read is enough, or not for the server."""
        return None

    def _client(self, request: Hello, now: int) -> Client:
        given = dict(reversed(properties(request.payload)))
        type_ = given.get(b"client-type", b"").strip()
        admins, denied = self._state.config.admins, self._state.config.denied
        return Client(
            given.get(b"client-id", b"").strip() or self._state.new_id(),
            given.get(b"client-name", b"").strip(),
            type_,
            is_admin=bool(self._state.options["admin"]) and type_ not in denied and (admins is None or type_ in admins),
            since_ns=now,
        )

    def _refused(self, request: Hello, session: TmqpSession) -> int | None:
        """Return why a client is refused, 0 where that is not reported; None if it is not."""
        state, found = self._state, properties(request.payload)
        rules, given = state.rules, dict(reversed(found))
        if (not request.payload and not rules.takes_empty_hello) or (
            len(given) < len(found) and not rules.takes_repeated_properties
        ):
            return 0
        if 0 < state.options["client_limit"] <= len(state.clients):
            return 0
        tokens, token = state.config.tokens, given.get(b"client-token", b"").strip()
        if token in state.config.refused_tokens or (tokens is not None and token not in tokens):
            return ResultCode.UNAUTHORIZED
        id_ = given.get(b"client-id", b"")
        if len(id_.strip()) > LONGEST_ID:
            return ResultCode.BAD_REQUEST
        if rules.reports_duplicate_clients:
            return ResultCode.BUSY if id_.strip() in state.clients else None
        return 0 if id_ in state.clients else None
