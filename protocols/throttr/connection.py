"""Both ends of a Throttr connection, sans-IO. A reply is framed by the oldest request still pending.

Servers on a hot path use the two batch forms, `next_requests` and `send_all`; they do what `next_event` and `send` do,
a list at a time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from protocols.connection import DEFAULT_FRAME_LIMIT, Connection, EndOfStream
from protocols.errors import ErrorCode, LocalProtocolError, MalformedFrameError
from protocols.messages import Message, Push, Request
from protocols.states import Role, StateMachine
from protocols.throttr.codec import Codec
from protocols.throttr.states import TABLE, Move, State


class ThrottrConnection(Connection):
    """One side of a connection under one codec."""

    def __init__(self, codec: Codec, role: Role, *, max_frame: int = DEFAULT_FRAME_LIMIT) -> None:
        super().__init__(max_frame)
        self.codec = codec
        self.role = role
        self._machine: StateMachine[State, Move] = StateMachine(TABLE, role, State.OPEN)
        self._pending: deque[Request] = deque()
        self._legal = {request: frozenset(answers) for request, answers in codec.profile.replies.items()}
        self._pushes = frozenset(codec.profile.pushes)
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
        super().__init__(codec, Role.CLIENT, max_frame=max_frame)

    def send(self, message: Message) -> bytes:
        """Return the bytes of a request and wait for its reply; `LocalProtocolError` for anything else."""
        data = self.codec.encode(message)
        if not isinstance(message, Request):
            raise LocalProtocolError(ErrorCode.UNEXPECTED_MESSAGE, f"a client sends requests, not {message.NAME}")
        self.await_reply(message)
        return data

    def await_reply(self, request: Request) -> None:
        """Note a request whose bytes were sent by other means (a raw frame in a test)."""
        self._machine.move(Move.REQUEST)
        if self._legal[type(request)]:
            self._pending.append(request)

    def _decode(self, data: bytes, at: int, end: int) -> tuple[Message | None, int]:
        push = self.codec.pushes[data[at]]
        request = self._pending[0] if self._pending else None
        if push is not None and (request is None or not self.codec.is_bare(type(request))):
            return push(data, at, end, self._context)
        if request is None:
            raise MalformedFrameError(
                ErrorCode.UNEXPECTED_MESSAGE, f"got {data[at]:02x} although no request is waiting for a reply", at
            )
        self._context.request = request
        return self.codec.replies[type(request)](data, at, end, self._context)

    def _accept(self, message: Message) -> None:
        if isinstance(message, Push):
            self._machine.move(Move.PUSH)
        else:
            self._machine.move(Move.REPLY)
            self.answered = self._pending.popleft()

    def _end_of_stream(self) -> EndOfStream:
        self._machine.move(Move.END_OF_REPLIES)
        return EndOfStream(len(self._pending))


class ServerConnection(ThrottrConnection):
    """The server's side: reads requests, sends replies in their order and pushes at any time."""

    def __init__(self, codec: Codec, *, max_frame: int = DEFAULT_FRAME_LIMIT) -> None:
        super().__init__(codec, Role.SERVER, max_frame=max_frame)
        self._silent = frozenset(request for request, answers in self._legal.items() if not answers)

    def next_requests(self) -> list[Request]:
        """Return every whole request that is there; what stops the run (error, end) is told by `next_event`."""
        found: list[Request] = []
        buffer = self._buffer
        data, at, end, context, decoders = buffer.data, buffer.at, buffer.end, self._context, self.codec.requests
        if self._error is None:
            try:
                while at < end:
                    decode = decoders[data[at]]
                    if decode is None:
                        break
                    message, stop = decode(data, at, end, context)
                    if message is None:
                        buffer.at = at
                        buffer.want(stop)
                        break
                    found.append(message)
                    at = stop
            except MalformedFrameError:
                pass
            if buffer.end:
                buffer.at = at
        silent = self._silent
        self._pending.extend([request for request in found if type(request) not in silent] if silent else found)
        return found

    def send(self, message: Message) -> bytes:
        """Return the bytes of a reply to the oldest pending request, or of a push."""
        return self.send_all((message,))

    def send_all(self, messages: Iterable[Message]) -> bytes:
        """Return the bytes of replies and pushes in this order; `LocalProtocolError` for a reply out of turn."""
        pending, legal, encoders, out = self._pending, self._legal, self.codec.encoders, []
        for message in messages:
            kind = type(message)
            if pending and kind in legal[type(pending[0])]:
                out.append(encoders[kind](message))
                pending.popleft()
            elif kind in self._pushes:
                out.append(encoders[kind](message))
            else:
                due = pending[0].NAME if pending else "nothing"
                raise LocalProtocolError(ErrorCode.UNEXPECTED_MESSAGE, f"{kind.__name__} where a reply to {due} is due")
        return b"".join(out)

    def _decode(self, data: bytes, at: int, end: int) -> tuple[Message | None, int]:
        return self.codec.decode_request(data, at, end, self._context)

    def _accept(self, message: Message) -> None:
        if isinstance(message, Request) and self._legal[type(message)]:
            self._pending.append(message)

    def _end_of_stream(self) -> EndOfStream:
        self._machine.move(Move.END_OF_REQUESTS)
        return EndOfStream(len(self._pending))
