"""Both ends of a Throttr connection, sans-IO. A reply is framed by the oldest request still pending.

Servers on a hot path use the two batch forms, `next_requests` and `send_all`; they do what `next_event` and `send` do,
a list at a time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import cast

from wireproof.protocols.connection import DEFAULT_FRAME_LIMIT, Connection, EndOfStream
from wireproof.protocols.errors import ErrorCode, LocalProtocolError, MalformedFrameError
from wireproof.protocols.frames import FrameContext
from wireproof.protocols.messages import Message, Push, Request
from wireproof.protocols.states import Role, StateMachine
from wireproof.protocols.throttr.codec import Codec
from wireproof.protocols.throttr.replies import EventReply
from wireproof.protocols.throttr.states import TABLE, Move, State


class ThrottrConnection(Connection):
    """One side of a connection under one codec."""

    def __init__(self, codec: Codec, role: Role, max_frame: int) -> None:
        super().__init__(max_frame)
        self.codec = codec
        self.role = role
        self._machine: StateMachine[State, Move] = StateMachine(TABLE, role, State.OPEN)
        self._pending: deque[Request] = deque()
        self.answered: Request | None = None
        """The request that the last reply given by `next_event` answers (client side)."""

    @property
    def state(self) -> State:
        """Where the connection stands in its table."""
        return self._machine.state

    @property
    def pending(self) -> tuple[Request, ...]:
        """Requests not yet answered, oldest first."""
        return tuple(self._pending)

    def end_requests(self) -> None:
        """Say that this client sends no more requests (it half-closes); replies due may still come."""
        self._machine.move(Move.END_OF_REQUESTS)

    def _clause(self, code: ErrorCode) -> str | None:
        return self.codec.profile.clauses.get(code)

    def _failed(self) -> None:
        self._machine.move(Move.FAILURE)


class ClientConnection(ThrottrConnection):
    """The client's side: sends requests, reads replies and pushes."""

    def __init__(self, codec: Codec, *, max_frame: int = DEFAULT_FRAME_LIMIT) -> None:
        super().__init__(codec, Role.CLIENT, max_frame)
        self.ambiguous_at: int | None = None
        """The offset in the server's stream of the last byte that may lead a push and was read as a reply's (T37)."""
        self._sent = self._replied = 0
        self._asked_at: dict[int, int] = {}
        """Number of a request -> the offset in the server's stream before which nothing can answer it, if not read."""

    def send(self, message: Message) -> bytes:
        """Return the bytes of a request and wait for its reply; `LocalProtocolError` for anything else."""
        return self.send_all((message,))

    def send_all(self, messages: Iterable[Message]) -> bytes:
        """Return the bytes of requests in this order; after a `LocalProtocolError` none of them counts as sent."""
        messages = messages if isinstance(messages, list) else list(messages)
        data = self.codec.encode_requests(messages)
        self._await_replies(cast(list[Request], messages))
        return data

    def await_reply(self, request: Request) -> None:
        """Note a request whose bytes were sent by other means (a raw frame); `LocalProtocolError` for none."""
        if type(request) not in self.codec.answers:
            raise self.codec.no_such(request, "request")
        self._await_replies([request])

    def _await_replies(self, requests: list[Request]) -> None:
        self._machine.move(Move.REQUEST)
        answered = self.codec.answered(requests)
        self._pending.extend(answered)
        first, self._sent = self._sent, self._sent + len(answered)
        if self._buffer:
            self._asked_at.update(dict.fromkeys(range(first, self._sent), self._buffer.offset + len(self._buffer)))

    def _decode_next(self, data: bytes, at: int, end: int, context: FrameContext) -> tuple[Message | None, int]:
        push = self.codec.pushes[data[at]]
        request = self._pending[0] if self._pending else None
        if push is not None:
            if not self._is_bare_reply(request):
                return push(data, at, end, context)
            self.ambiguous_at = self._buffer.base + at
        if request is None:
            raise MalformedFrameError(
                ErrorCode.UNEXPECTED_MESSAGE, f"got {data[at]:02x} although no request is waiting for a reply", at
            )
        context.request = request
        return self.codec.replies[type(request)](data, at, end, context)

    def _is_bare_reply(self, request: Request | None) -> bool:
        """Say whether a byte that could lead a push leads a reply (T37): what came before its request is none."""
        return type(request) in self.codec.bare and self._buffer.offset >= self._asked_at.get(self._replied, 0)

    def _accept(self, message: Message) -> None:
        if isinstance(message, Push):
            self._machine.move(Move.PUSH)
        else:
            self._machine.move(Move.REPLY)
            self.answered = self._pending.popleft()
            self._asked_at.pop(self._replied, None)
            self._replied += 1

    def _end_of_stream(self) -> EndOfStream:
        self._machine.move(Move.END_OF_REPLIES)
        return EndOfStream(len(self._pending))


class ServerConnection(ThrottrConnection):
    """The server's side: reads requests, sends replies in their order and pushes at any time."""

    def __init__(self, codec: Codec, *, max_frame: int = DEFAULT_FRAME_LIMIT) -> None:
        super().__init__(codec, Role.SERVER, max_frame)

    def _decode_next(self, data: bytes, at: int, end: int, context: FrameContext) -> tuple[Message | None, int]:
        return self.codec.requests[data[at]](data, at, end, context)

    def next_requests(self) -> list[Request]:
        """Return every whole request that is there; what stops the run (error, end) is reported by `next_event`."""
        found: list[Request] = []
        buffer, context, decoders, append = self._buffer, self._context, self.codec.requests, found.append
        going_on = self._error is None
        while going_on and (buffer.at < buffer.end or self._refill()):
            data, at, end = buffer.data, buffer.at, buffer.end
            try:
                while at < end:
                    message, stop = decoders[data[at]](data, at, end, context)
                    if message is None:
                        break
                    append(message)
                    at = stop
            except MalformedFrameError:
                going_on = False
            buffer.at = at
            if going_on and at < end:
                buffer.want(stop)
        self._pending.extend(self.codec.answered(found))
        return found

    def send(self, message: Message) -> bytes:
        """Return the bytes of a reply to the oldest pending request, or of a push."""
        return self.send_all((message,))

    def send_all(self, messages: Iterable[Message]) -> bytes:
        """Return the bytes of replies and pushes in this order; `LocalProtocolError` for a reply out of turn.

        After an error nothing of `messages` counts as sent.
        """
        if self._machine.state is State.CLOSED:
            self._machine.move(Move.REPLY)
        pending, answers, pushes, out, answered = self._pending, self.codec.answers, self.codec.push_encoders, [], []
        try:
            for message in messages:
                kind = type(message)
                encode = answers[type(pending[0])].get(kind) if pending else None
                if encode is not None:
                    if kind is EventReply:
                        self.codec.check_event_reply(pending[0], message)
                    out.append(encode(message))
                    answered.append(pending.popleft())
                elif kind in pushes:
                    out.append(pushes[kind](message))
                else:
                    raise self._out_of_turn(message)
        except LocalProtocolError:
            pending.extendleft(reversed(answered))
            raise
        return b"".join(out)

    def follow(self, message: Message) -> None:
        """See `Connection.follow`."""
        if self._machine.state is State.CLOSED or not self._pending:
            return
        if type(message) in self.codec.answers[type(self._pending[0])]:
            self._pending.popleft()

    def end_replies(self) -> None:
        """Say that this server sends no more: nothing may be sent after it."""
        self._machine.move(Move.END_OF_REPLIES)

    def _out_of_turn(self, message: Message) -> LocalProtocolError:
        due = f"a reply to {self._pending[0].NAME}" if self._pending else "no reply"
        return LocalProtocolError(ErrorCode.UNEXPECTED_MESSAGE, f"{type(message).__name__} where {due} is due")

    def _accept(self, message: Message) -> None:
        if type(message) not in self.codec.silent:
            self._pending.append(cast(Request, message))

    def _end_of_stream(self) -> EndOfStream:
        self._machine.move(Move.END_OF_REQUESTS)
        return EndOfStream(len(self._pending))
