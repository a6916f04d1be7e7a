"""Both ends of PSRT over UDP, sans-IO: each datagram given is one message, whole, or broken by itself."""

from __future__ import annotations

from collections import deque
from typing import cast

from wireproof.protocols.connection import DEFAULT_FRAME_LIMIT, NEED_DATA, Connection, EndOfStream, Event
from wireproof.protocols.errors import ErrorCode, LocalProtocolError, MalformedFrameError, RemoteProtocolError
from wireproof.protocols.frames import FrameContext, shown
from wireproof.protocols.messages import Message, Request
from wireproof.protocols.psrt.codec import Codec
from wireproof.protocols.psrt.enums import DatagramOperation
from wireproof.protocols.psrt.replies import DatagramReply
from wireproof.protocols.psrt.requests import Datagram, Sealed

__all__ = ["DatagramClient", "DatagramServer"]


class _Datagrams(Connection):
    """What came, datagram by datagram; offsets count the bytes of all of them."""

    def __init__(self, codec: Codec, max_frame: int) -> None:
        super().__init__(max_frame)
        self.codec = codec
        self._came: deque[bytes] = deque()
        self._read = 0

    @property
    def buffered(self) -> int:
        """Bytes of datagrams not looked at yet."""
        return sum(map(len, self._came))

    @property
    def received(self) -> int:
        """Bytes of the datagrams that were looked at."""
        return self._read

    def receive_data(self, data: bytes | bytearray | memoryview) -> None:
        """Take one datagram; empty says that no more will come. Raises as `Connection.receive_data`.

        Raises `LocalProtocolError` if `data` is not bytes or comes after the end.
        """
        if not isinstance(data, bytes | bytearray | memoryview):
            raise LocalProtocolError(ErrorCode.BAD_VALUE, f"data: expected bytes, got {shown(data)}")
        if self._ended:
            raise LocalProtocolError(ErrorCode.ILLEGAL_STATE, "received data after the end")
        if data:
            self._came.append(bytes(data))
        else:
            self._ended = True

    def next_event(self) -> Event:
        """Return the next datagram's message; `RemoteProtocolError` for one that is none, those after it stay good."""
        if not self._came:
            if not self._ended or self._end_given:
                return NEED_DATA
            self._end_given = True
            return self._end_of_stream()
        data, start = self._came.popleft(), self._read
        self._read += len(data)
        try:
            decoded, _ = self._decode_next(data, 0, len(data), self._context)
        except MalformedFrameError as error:
            clause = self._clause(error.code)
            raise RemoteProtocolError(error.code, error.message, offset=start + error.at, clause=clause) from None
        self.span = (start, self._read)
        message = cast(Message, decoded)  # a datagram is whole
        self._accept(message)
        return message

    def _accept(self, message: Message) -> None:
        pass

    def _end_of_stream(self) -> EndOfStream:
        return EndOfStream(0)

    def _failed(self) -> None:  # pragma: no cover - a broken datagram breaks nothing else
        pass

    def _clause(self, code: ErrorCode) -> str | None:
        return self.codec.profile.clauses.get(code)


class DatagramClient(_Datagrams):
    """The client's side: a reply belongs to the oldest datagram that asked for one and has none."""

    ambiguous_at: int | None = None
    settled = False
    """Nothing travels beside a datagram."""

    def __init__(self, codec: Codec, *, max_frame: int = DEFAULT_FRAME_LIMIT) -> None:
        super().__init__(codec, max_frame)
        self._pending: deque[Request] = deque()
        self.answered: Request | None = None

    @property
    def pending(self) -> tuple[Request, ...]:
        """Datagrams that asked for a reply and have none; what is sealed is taken to ask."""
        return tuple(self._pending)

    def send(self, message: Message) -> bytes:
        """Return the datagram; `LocalProtocolError` for what is none."""
        if not isinstance(message, Datagram | Sealed):
            raise self.codec.no_such(message, "datagram")
        data = self.codec.encode(message)
        self.await_reply(message)
        return data

    def await_reply(self, request: Request) -> None:
        """Note a datagram that was sent by other means."""
        if not isinstance(request, Datagram) or request.op != DatagramOperation.PUBLISH_NO_ACK:
            self._pending.append(request)

    def end_requests(self) -> None:
        """Datagrams have no end that could be reported."""

    def _decode_next(self, data: bytes, at: int, end: int, context: FrameContext) -> tuple[Message | None, int]:
        return self.codec.decode(DatagramReply, data), end

    def _accept(self, message: Message) -> None:
        self.answered = self._pending.popleft() if self._pending else None


class DatagramServer(_Datagrams):
    """The server's side."""

    def __init__(self, codec: Codec, *, max_frame: int = DEFAULT_FRAME_LIMIT) -> None:
        super().__init__(codec, max_frame)

    def send(self, message: Message) -> bytes:
        """Return the datagram of a reply; `LocalProtocolError` for what is none."""
        if not isinstance(message, DatagramReply):
            raise self.codec.no_such(message, "reply to a datagram")
        return self.codec.encode(message)

    def _decode_next(self, data: bytes, at: int, end: int, context: FrameContext) -> tuple[Message | None, int]:
        return self.codec.decode_datagram(data), end
