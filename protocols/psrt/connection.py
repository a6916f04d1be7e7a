"""Both ends of PSRT's control and data sockets, sans-IO. A reply is framed by the oldest request still pending.

A greeting with mode 01 turns the stream over to TLS: nothing is read or sent until `start_tls`. A server reads nothing
after a PUBLISH_REPL before it has answered, because the answer decides what follows means.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import cast

from wireproof.protocols.connection import DEFAULT_FRAME_LIMIT, NEED_DATA, Connection, EndOfStream, Event
from wireproof.protocols.errors import ErrorCode, LocalProtocolError, MalformedFrameError
from wireproof.protocols.frames import FrameContext
from wireproof.protocols.messages import Message, Push, Reply, Request
from wireproof.protocols.psrt.codec import Codec
from wireproof.protocols.psrt.enums import LONGEST_LOGIN, Mode, ResponseCode
from wireproof.protocols.psrt.profiles import CONTROL, DATA
from wireproof.protocols.psrt.replies import Response
from wireproof.protocols.psrt.requests import Attach, Bye, DataGreeting, Greeting, Login, PublishRepl, ReplData
from wireproof.protocols.psrt.states import CONTROL_TABLE, DATA_TABLE, Move, State
from wireproof.protocols.states import Role, StateMachine

__all__ = ["ControlClient", "ControlServer", "DataClient", "DataServer", "PsrtConnection", "PsrtServer"]

_MOVES: Mapping[type[Request], Move] = {
    Login: Move.LOGIN,
    Attach: Move.LOGIN,
    ReplData: Move.REPL_DATA,
    Bye: Move.BYE,
}
_PUSHED_IN = (State.OPEN, State.ENDING)
"""Where a data socket may stand when a push comes."""


class PsrtConnection(Connection):
    """One side of a control or data socket under one codec."""

    table = CONTROL_TABLE
    requests: tuple[type[Request], ...] = CONTROL

    def __init__(self, codec: Codec, role: Role, max_frame: int) -> None:
        super().__init__(max_frame)
        self.codec = codec
        self.role = role
        self._machine: StateMachine[State, Move] = StateMachine(self.table, role, State.NEW)
        self._pending: deque[Request] = deque()
        self._replications = 0
        """How many of the pending requests are PUBLISH_REPL."""
        self.answered: Request | None = None
        """The request that the last reply given by `next_event` answers (client side)."""

    @property
    def state(self) -> State:
        """Where the socket stands in its table."""
        return self._machine.state

    @property
    def pending(self) -> tuple[Request, ...]:
        """Requests not yet answered, oldest first."""
        return tuple(self._pending)

    def start_tls(self) -> bytes:
        """Go on inside TLS, behind a greeting that asked for it; return what came after it, the first bytes of TLS."""
        self._machine.move(Move.SECURED)
        buffer = self._buffer
        early = buffer.data[buffer.at : buffer.end] + bytes(buffer.gathered)
        buffer.drop()
        return early

    def end_requests(self) -> None:
        """Say that this client sends no more requests."""
        self._machine.move(Move.END_OF_REQUESTS)

    def _asked(self, request: Request) -> None:
        """Follow a request that was sent or read."""
        self._machine.move(self._move(request))
        self._pending.append(request)
        self._replications += type(request) is PublishRepl

    def _move(self, request: Request) -> Move:
        if isinstance(request, Greeting | DataGreeting):
            return Move.GREETING_TLS if request.mode == Mode.STARTTLS else Move.GREETING
        return _MOVES.get(type(request), Move.OPERATION)

    def _answered(self, reply: Message) -> Request:
        """Follow a reply that was sent or read; return the request it answers."""
        request = self._pending.popleft()
        self._replications -= type(request) is PublishRepl
        waits = isinstance(reply, Response) and reply.code == ResponseCode.OK_WAITING
        if waits and type(request) is PublishRepl and self.state is State.OPEN:
            self._machine.move(Move.WAITING)
        else:
            self._machine.move(Move.REPLY)
        return request

    def _replicates(self) -> bool:
        """Say whether a PUBLISH_REPL waits for its answer, which decides what may follow."""
        return self._replications > 0

    def _clause(self, code: ErrorCode) -> str | None:
        return self.codec.profile.clauses.get(code)

    def _failed(self) -> None:
        self._machine.move(Move.FAILURE)


class ControlClient(PsrtConnection):
    """The client's side of a control socket: sends requests, reads replies."""

    def __init__(self, codec: Codec, *, max_frame: int = DEFAULT_FRAME_LIMIT) -> None:
        super().__init__(codec, Role.CLIENT, max_frame)
        self.ambiguous_at: int | None = None
        """Nothing here can be read in two ways."""

    @property
    def settled(self) -> bool:
        """An operation that stands for itself may be sent now."""
        return self.state is State.OPEN and not self._replicates()

    def send(self, message: Message) -> bytes:
        """Return the bytes of a request and wait for its reply; `LocalProtocolError` for anything else."""
        request = self._request(message)
        data = self.codec.encode(message)
        if self._replicates():
            detail = f"{request.NAME} before the PUBLISH_REPL ahead of it is answered"
            raise LocalProtocolError(ErrorCode.ILLEGAL_STATE, detail)
        self._asked(request)
        return data

    def await_reply(self, request: Request) -> None:
        """Note a request whose bytes were sent by other means (a raw frame in a test)."""
        self._asked(self._request(request))

    def _request(self, message: Message) -> Request:
        if type(message) not in self.requests:
            raise self.codec.no_such(message, "request")
        return cast(Request, message)

    def _decode_next(self, data: bytes, at: int, end: int, context: FrameContext) -> tuple[Message | None, int]:
        if self.state is State.SECURING:
            raise MalformedFrameError(ErrorCode.UNEXPECTED_MESSAGE, f"got {data[at]:02x} in clear where TLS is due", at)
        if not self._pending:
            detail = f"got {data[at]:02x} although no request is waiting for a reply"
            raise MalformedFrameError(ErrorCode.UNEXPECTED_MESSAGE, detail, at)
        (reply,) = self.codec.answers[type(self._pending[0])]
        return self.codec.decoders[reply](data, at, end, context)

    def _accept(self, message: Message) -> None:
        self.answered = self._answered(message)

    def _end_of_stream(self) -> EndOfStream:
        self._machine.move(Move.END_OF_REPLIES)
        return EndOfStream(len(self._pending))


class DataClient(ControlClient):
    """The client's side of a data socket: two requests, then pushes."""

    table = DATA_TABLE
    requests = DATA

    @property
    def settled(self) -> bool:
        """Nothing more may be sent."""
        return False

    def _decode_next(self, data: bytes, at: int, end: int, context: FrameContext) -> tuple[Message | None, int]:
        if self._pending or self.state not in _PUSHED_IN:
            return super()._decode_next(data, at, end, context)
        push = self.codec.pushes.get(data[at])
        if push is None:
            raise MalformedFrameError(ErrorCode.UNKNOWN_TYPE, f"expected a push (00 or 01), got {data[at]:02x}", at)
        return self.codec.decoders[push](data, at, end, context)

    def _accept(self, message: Message) -> None:
        if isinstance(message, Push):
            self._machine.move(Move.PUSH)
        else:
            super()._accept(message)


class PsrtServer(PsrtConnection):
    """The server's side of either: reads requests one by one, sends their replies in order."""

    def __init__(
        self,
        codec: Codec,
        *,
        max_frame: int = DEFAULT_FRAME_LIMIT,
        limits: Mapping[type[Request], int] | None = None,
    ) -> None:
        """`limits`: request -> the most that its LEN may announce, decided on its head alone (P4)."""
        super().__init__(codec, Role.SERVER, max_frame)
        most: dict[type[Request], int] = {Login: LONGEST_LOGIN, **(limits or {})}
        self._most = {one: codec.layout(one).fixed_size + limit for one, limit in most.items()}
        self._max_frame = max_frame

    def next_event(self) -> Event:
        """As `Connection.next_event`; NEED_DATA too while what follows is not known yet, or is no longer read."""
        if self.state is State.SECURING or self._replicates():
            return NEED_DATA if self._buffer else self._released()
        if self.state is State.ENDING and self._buffer:
            self._buffer.drop()
        return super().next_event()

    def _released(self) -> Event:
        """Keep nothing of what was read; return NEED_DATA."""
        self._buffer.release()
        return NEED_DATA

    def send(self, message: Message) -> bytes:
        """Return the bytes of a reply to the oldest pending request; `LocalProtocolError` for anything else."""
        due = self.codec.answers[type(self._pending[0])] if self._pending else ()
        if type(message) not in due:
            detail = f"a reply to {self._pending[0].NAME}" if self._pending else "no reply"
            raise LocalProtocolError(ErrorCode.UNEXPECTED_MESSAGE, f"{type(message).__name__} where {detail} is due")
        data = self.codec.encode(message)
        self._answered(cast(Reply, message))
        return data

    def end_replies(self) -> None:
        """Say that this server sends no more: nothing may be sent after it."""
        self._machine.move(Move.END_OF_REPLIES)

    def _decode_next(self, data: bytes, at: int, end: int, context: FrameContext) -> tuple[Message | None, int]:
        request = self._expected(data, at)
        context.limit = min(self._max_frame, self._most.get(request, self._max_frame))
        message, stop = self.codec.decoders[request](data, at, end, context)
        if message is not None and isinstance(message, Greeting | DataGreeting) and message.mode > Mode.STARTTLS:
            raise MalformedFrameError(ErrorCode.BAD_VALUE, f"mode: expected 00 or 01, got {message.mode:02x}", at + 2)
        return message, stop

    def _expected(self, data: bytes, at: int) -> type[Request]:
        """Return the request that must come next; `MalformedFrameError` for a byte that begins none."""
        state = self.state
        if state in (State.NEW, State.GREETED):
            return self.requests[state is State.GREETED]
        if state is State.REPLICATING:
            return ReplData
        request = self.codec.operations.get(data[at])
        if request is None:
            raise MalformedFrameError(ErrorCode.UNKNOWN_TYPE, f"expected an operation, got {data[at]:02x}", at)
        return request

    def _accept(self, message: Message) -> None:
        self._asked(cast(Request, message))

    def _end_of_stream(self) -> EndOfStream:
        if self.state is not State.ENDING:
            self._machine.move(Move.END_OF_REQUESTS)
        return EndOfStream(len(self._pending))


class ControlServer(PsrtServer):
    """The server's side of a control socket."""


class DataServer(PsrtServer):
    """The server's side of a data socket: after the token it reads nothing, and pushes."""

    table = DATA_TABLE
    requests = DATA

    def next_event(self) -> Event:
        """As `PsrtServer.next_event`; what comes after the token is dropped (facts 1.7)."""
        if self.state is State.OPEN and self._buffer:
            self._buffer.drop()
        return super().next_event()

    def send(self, message: Message) -> bytes:
        """Return the bytes of a reply, or of a push once the token was answered."""
        if isinstance(message, Push) and not self._pending:
            data = self.codec.encode(message)
            self._machine.move(Move.PUSH)
            return data
        return super().send(message)
