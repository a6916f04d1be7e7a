"""Both ends of a TMQP connection, sans-IO. Replies are found by their ids, in whatever order they come.

Both sides begin with eight bytes; then every message is a frame. A client may send its first frame without waiting.
"""

from __future__ import annotations

from collections.abc import Sequence

from wireproof.protocols.connection import DEFAULT_FRAME_LIMIT, NEED_DATA, Connection, EndOfStream, Event
from wireproof.protocols.errors import ErrorCode, LocalProtocolError, MalformedFrameError
from wireproof.protocols.frames import FrameContext
from wireproof.protocols.messages import Message, Push, Reply, Request
from wireproof.protocols.states import Role, StateMachine
from wireproof.protocols.tmqp.codec import Codec
from wireproof.protocols.tmqp.enums import FrameType
from wireproof.protocols.tmqp.frames import RequestFrame
from wireproof.protocols.tmqp.replies import Confirmation, Pong, ProtocolReply, QueueMessage, Response, Welcome
from wireproof.protocols.tmqp.requests import (
    Acknowledge,
    AnswerPing,
    Custom,
    Hello,
    Ping,
    Protocol,
    Pull,
    Respond,
    Terminate,
)
from wireproof.protocols.tmqp.states import TABLE, Move, State

__all__ = ["TmqpClient", "TmqpConnection", "TmqpServer", "answers", "due_replies"]

_FIXED: dict[type[Request], tuple[type[Message], ...]] = {
    Protocol: (ProtocolReply,),
    Hello: (Welcome,),
    Ping: (Pong,),
    **dict.fromkeys((AnswerPing, Terminate, Custom, Acknowledge, Respond), ()),
}
"""What answers a request whatever its flags."""


def due_replies(request: Request) -> tuple[type[Message], ...]:
    """Return the kinds of messages that `request` waits for: what its flags ask for, if it has an id."""
    fixed = _FIXED.get(type(request))
    if isinstance(request, Custom) and request.type == FrameType.PING:
        return (Pong,)
    if fixed is not None:
        return fixed
    if not isinstance(request, RequestFrame) or not request.id:
        return ()
    if isinstance(request, Pull):
        return (QueueMessage,)
    return (Response,) * request.pending_response + (Confirmation,) * request.pending_ack


class TmqpConnection(Connection):
    """One side of a connection under one codec."""

    def __init__(self, codec: Codec, role: Role, max_frame: int) -> None:
        super().__init__(max_frame)
        self.codec = codec
        self.role = role
        self._machine: StateMachine[State, Move] = StateMachine(TABLE, role, State.NEW)

    @property
    def state(self) -> State:
        """Where the connection stands in its table."""
        return self._machine.state

    def start_tls(self) -> bytes:
        """Begin TLS before anything else; return what came already. `LocalProtocolError` once something was sent."""
        self._machine.move(Move.SECURED)
        buffer = self._buffer
        early = buffer.data[buffer.at : buffer.end] + bytes(buffer.gathered)
        buffer.drop()
        return early

    def _asked(self, request: Message) -> None:
        """Follow a request that was sent or read."""
        self._machine.move(Move.PROTOCOL if isinstance(request, Protocol) else Move.FRAME)

    def _clause(self, code: ErrorCode) -> str | None:
        return self.codec.profile.clauses.get(code)

    def _failed(self) -> None:
        self._machine.move(Move.FAILURE)


class TmqpClient(TmqpConnection):
    """The client's side: sends requests, reads replies and pushes."""

    def __init__(self, codec: Codec, *, max_frame: int = DEFAULT_FRAME_LIMIT) -> None:
        super().__init__(codec, Role.CLIENT, max_frame)
        self._due: list[tuple[Request, list[type[Message]]]] = []
        """Requests that are not answered, oldest first, with what they wait for."""
        self._is_greeted = False
        self.answered: Request | None = None
        """The request that the last message given by `next_event` answers."""
        self.ambiguous_at: int | None = None
        """Nothing here can be read in two ways."""

    @property
    def pending(self) -> tuple[Request, ...]:
        """Requests not yet answered, oldest first."""
        return tuple(request for request, _ in self._due)

    @property
    def settled(self) -> bool:
        """A ping may be sent now."""
        return self.state is State.OPEN

    def send(self, message: Message) -> bytes:
        """Return the bytes of a request and wait for what it asks for; `LocalProtocolError` for anything else."""
        data = self.codec.encode(message)
        self.await_reply(message)
        return data

    def await_reply(self, request: Message) -> None:
        """Note a request whose bytes were sent by other means; `LocalProtocolError` for what is none."""
        if not isinstance(request, Request) or type(request) not in self.codec.profile.replies:
            raise self.codec.no_such(request, "request")
        self._asked(request)
        if due := due_replies(request):
            self._due.append((request, list(due)))

    def end_requests(self) -> None:
        """Say that this client sends no more requests."""
        self._machine.move(Move.END_OF_REQUESTS)

    def _decode_next(self, data: bytes, at: int, end: int, context: FrameContext) -> tuple[Message | None, int]:
        if self._is_greeted:
            message, stop = self.codec.decode_sent(data, at, end, context)
            if type(message) is Pong and not any(Pong in due for _, due in self._due):
                raise MalformedFrameError(ErrorCode.UNEXPECTED_MESSAGE, "got a pong although nothing was pinged", at)
            return message, stop
        if not any(type(request) is Protocol for request, _ in self._due):
            detail = f"got {data[at]:02x} before the client has sent anything"
            raise MalformedFrameError(ErrorCode.UNEXPECTED_MESSAGE, detail, at)
        return self.codec.decode_protocol(ProtocolReply, data, at, end, context)

    def _accept(self, message: Message) -> None:
        self._is_greeted = True
        self.answered = None
        for place, (request, due) in enumerate(self._due):
            if answers(message, request, due):
                self.answered = request
                due.remove(type(message)) if type(message) in due else due.clear()
                if not due:
                    del self._due[place]
                return

    def _end_of_stream(self) -> EndOfStream:
        self._machine.move(Move.END_OF_REPLIES)
        return EndOfStream(len(self._due))


class TmqpServer(TmqpConnection):
    """The server's side: reads what a client sends, in order; what is answered, and when, is not its matter."""

    def __init__(self, codec: Codec, *, max_frame: int = DEFAULT_FRAME_LIMIT) -> None:
        super().__init__(codec, Role.SERVER, max_frame)

    def next_event(self) -> Event:
        """As `Connection.next_event`; after the client's end nothing more is read."""
        return super().next_event() if self._machine.state is not State.CLOSED else NEED_DATA

    def send(self, message: Message) -> bytes:
        """Return the bytes of a reply or push; `LocalProtocolError` for anything else."""
        if not isinstance(message, Reply | Push):
            raise self.codec.no_such(message, "message of a server")
        if self.state is State.CLOSED:
            raise LocalProtocolError(ErrorCode.ILLEGAL_STATE, "nothing may be sent after the end")
        return self.codec.encode(message)

    def end_replies(self) -> None:
        """Say that this server sends no more: nothing may be sent after it."""
        self._machine.move(Move.END_OF_REPLIES)

    def _decode_next(self, data: bytes, at: int, end: int, context: FrameContext) -> tuple[Message | None, int]:
        state = self._machine.state
        if state is State.NEW:
            return self.codec.decode_protocol(Protocol, data, at, end, context)
        if state is State.GREETED:
            return self.codec.decode_first(data, at, end, context)
        return self.codec.decode_asked(data, at, end, context)

    def _accept(self, message: Message) -> None:
        if self._machine.state is not State.OPEN:  # another frame moves nothing then
            self._asked(message)

    def _end_of_stream(self) -> EndOfStream:
        self._machine.move(Move.END_OF_REQUESTS)
        return EndOfStream(0)


def answers(message: Message, request: Request, due: Sequence[type[Message]] | None = None) -> bool:
    """Say whether a message is what a request waits for, which is `due` or what its flags ask for.

    A response ends the waiting for anything else, too.
    """
    due = due_replies(request) if due is None else due
    if not isinstance(message, Response | Confirmation | QueueMessage):
        return type(message) in due
    if not isinstance(request, RequestFrame) or not request.id or message.id != request.id:
        return False
    return type(message) in due or isinstance(message, Response)
