"""Both ends of a namechan connection and of the hook, sans-IO.

A client's bytes are a version and lines; a server's are a version and frames. An Error answers the oldest request that
waits for an answer; where none does, it says why the server closes, or what became of a request without an answer.
"""

from __future__ import annotations

from collections import deque

from wireproof.protocols.connection import DEFAULT_FRAME_LIMIT, NEED_DATA, Connection, EndOfStream, Event
from wireproof.protocols.errors import ErrorCode, LocalProtocolError, MalformedFrameError
from wireproof.protocols.frames import FrameContext
from wireproof.protocols.messages import Message, Push, Reply, Request
from wireproof.protocols.namechan.codec import Codec, LineReader
from wireproof.protocols.namechan.profiles import HOOK, LINES
from wireproof.protocols.namechan.replies import Error, Outcome, VersionReply
from wireproof.protocols.namechan.requests import Version
from wireproof.protocols.namechan.states import HOOK_TABLE, TABLE, Move, State
from wireproof.protocols.states import Role, StateMachine

__all__ = ["HookClient", "HookServer", "NamechanClient", "NamechanServer"]


class NamechanConnection(Connection):
    """One side of a connection under one codec."""

    table = TABLE
    requests = LINES

    def __init__(self, codec: Codec, role: Role, max_frame: int) -> None:
        super().__init__(max_frame)
        self.codec = codec
        self.role = role
        self._machine: StateMachine[State, Move] = StateMachine(self.table, role, State.NEW)

    @property
    def state(self) -> State:
        """Where the connection stands in its table."""
        return self._machine.state

    def _asked(self, request: Message) -> None:
        """Follow a request that was sent or read."""
        self._machine.move(Move.VERSION if isinstance(request, Version) else Move.LINE)

    def _clause(self, code: ErrorCode) -> str | None:
        return self.codec.profile.clauses.get(code)

    def _failed(self) -> None:
        self._machine.move(Move.FAILURE)


class NamechanClient(NamechanConnection):
    """The client's side: sends requests, reads replies and pushes."""

    def __init__(self, codec: Codec, *, max_frame: int = DEFAULT_FRAME_LIMIT) -> None:
        super().__init__(codec, Role.CLIENT, max_frame)
        self._due: deque[Request] = deque()
        self._is_greeted = False
        self.answered: Request | None = None
        """The request that the last message given by `next_event` answers."""
        self.ambiguous_at: int | None = None
        """Nothing here can be read in two ways."""

    @property
    def pending(self) -> tuple[Request, ...]:
        """Requests not yet answered, oldest first."""
        return tuple(self._due)

    @property
    def settled(self) -> bool:
        """A request that stands for itself may be sent now."""
        return self.state is State.OPEN

    def send(self, message: Message) -> bytes:
        """Return the bytes of a request and wait for its answer; `LocalProtocolError` for anything else."""
        data = self.codec.encode(message)
        self.await_reply(message)
        return data

    def await_reply(self, request: Message) -> None:
        """Note a request whose bytes were sent by other means; `LocalProtocolError` for what is none."""
        replies = self.codec.profile.replies
        if not isinstance(request, Request) or type(request) not in self.requests or type(request) not in replies:
            raise self.codec.no_such(request, "request")
        self._asked(request)
        if replies[type(request)]:
            self._due.append(request)

    def end_requests(self) -> None:
        """Say that this client sends no more requests."""
        self._machine.move(Move.END_OF_REQUESTS)

    def _decode_next(self, data: bytes, at: int, end: int, context: FrameContext) -> tuple[Message | None, int]:
        if self._is_greeted:
            message, stop = self.codec.decode_frame(data, at, end, context)
            due = self.codec.profile.replies[type(self._due[0])] if self._due else (Error,)
            if isinstance(message, Reply) and type(message) not in due:
                wanted = f"the answer to {self._due[0].NAME}" if self._due else "nothing"
                detail = f"got {message.NAME} where {wanted} is due"
                raise MalformedFrameError(ErrorCode.UNEXPECTED_MESSAGE, detail, at)
            return message, stop
        if not self._due:
            detail = f"got {data[at]:02x} before the client has sent anything"
            raise MalformedFrameError(ErrorCode.UNEXPECTED_MESSAGE, detail, at)
        return self.codec.decode_version(VersionReply, data, at, end, context)

    def _accept(self, message: Message) -> None:
        self._is_greeted = True
        self.answered = self._due.popleft() if isinstance(message, Reply) and self._due else None

    def _end_of_stream(self) -> EndOfStream:
        self._machine.move(Move.END_OF_REPLIES)
        return EndOfStream(len(self._due))


class HookClient(NamechanClient):
    """The side of a harness at the hook: lines, each answered by a line."""

    table = HOOK_TABLE
    requests = HOOK

    @property
    def settled(self) -> bool:
        """Nothing at the hook stands for itself."""
        return False

    def _decode_next(self, data: bytes, at: int, end: int, context: FrameContext) -> tuple[Message | None, int]:
        if not self._due:
            detail = f"got {data[at]:02x} although nothing was asked"
            raise MalformedFrameError(ErrorCode.UNEXPECTED_MESSAGE, detail, at)
        return self.codec.decode_outcome(data, at, end, context)


class NamechanServer(NamechanConnection):
    """The server's side: reads what a client sends, in order; what is answered, and when, is not its matter."""

    def __init__(self, codec: Codec, *, max_frame: int = DEFAULT_FRAME_LIMIT) -> None:
        super().__init__(codec, Role.SERVER, max_frame)
        self._lines = LineReader(codec.lines)

    def next_event(self) -> Event:
        """As `Connection.next_event`; after the client's end nothing more is read."""
        return super().next_event() if self.state is not State.CLOSED else NEED_DATA

    def send(self, message: Message) -> bytes:
        """Return the bytes of a reply or push; `LocalProtocolError` for anything else."""
        if not isinstance(message, Reply | Push) or isinstance(message, Outcome) is not isinstance(self, HookServer):
            raise self.codec.no_such(message, "message of a server")
        if self.state is State.CLOSED:
            raise LocalProtocolError(ErrorCode.ILLEGAL_STATE, "nothing may be sent after the end")
        return self.codec.encode(message)

    def end_replies(self) -> None:
        """Say that this server sends no more: nothing may be sent after it."""
        self._machine.move(Move.END_OF_REPLIES)

    def _decode_next(self, data: bytes, at: int, end: int, context: FrameContext) -> tuple[Message | None, int]:
        if self.state is State.NEW:
            return self.codec.decode_version(Version, data, at, end, context)
        return self._lines.decode(data, at, end, context)

    def _accept(self, message: Message) -> None:
        self._asked(message)

    def _end_of_stream(self) -> EndOfStream:
        self._machine.move(Move.END_OF_REQUESTS)
        return EndOfStream(0)


class HookServer(NamechanServer):
    """The server's side of the hook."""

    table = HOOK_TABLE
    requests = HOOK

    def __init__(self, codec: Codec, *, max_frame: int = DEFAULT_FRAME_LIMIT) -> None:
        super().__init__(codec, max_frame=max_frame)
        self._lines = LineReader(codec.hook)

    def _decode_next(self, data: bytes, at: int, end: int, context: FrameContext) -> tuple[Message | None, int]:
        return self._lines.decode(data, at, end, context)
