"""The sans-IO connection every protocol offers: bytes in, events out, events in, bytes out.

`receive_data(bytes)` takes what the transport read (b"" = end of stream), `next_event()` gives a message, an
`EndOfStream` or `NEED_DATA`, `send(message)` gives the bytes to write. After a `RemoteProtocolError` nothing that
follows can be framed: every later `next_event` raises the same error.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import Final, Protocol

import msgspec

from wireproof.protocols.buffer import Buffer
from wireproof.protocols.errors import ErrorCode, LocalProtocolError, MalformedFrameError, RemoteProtocolError
from wireproof.protocols.frames import FrameContext, shown
from wireproof.protocols.messages import Message, Request

MINIMUM_FRAME_LIMIT = 1024
"""No limit below this: every frame without a dynamic body fits in it, so only those with one need a check."""
DEFAULT_FRAME_LIMIT = 64 * 1024 * 1024


class NeedData(Enum):
    """`next_event` has nothing to give until more bytes come."""

    NEED_DATA = "need data"


NEED_DATA: Final = NeedData.NEED_DATA


class EndOfStream(msgspec.Struct, frozen=True, gc=False):
    """The peer sends no more; `pending` requests were still waiting for their replies."""

    pending: int


Event = Message | EndOfStream | NeedData


class Connection(ABC):
    """What is common to all connections: the buffer, the end of the stream, the translation of errors."""

    def __init__(self, max_frame: int) -> None:
        if not isinstance(max_frame, int) or max_frame < MINIMUM_FRAME_LIMIT:
            raise LocalProtocolError(
                ErrorCode.BAD_VALUE, f"max_frame: expected at least {MINIMUM_FRAME_LIMIT}, got {shown(max_frame)}"
            )
        self._buffer = Buffer()
        self._context = FrameContext(max_frame)
        self._ended = False
        self._end_given = False
        self._error: RemoteProtocolError | None = None
        self.span = (0, 0)
        """Offsets in the peer's stream of the last message that `next_event` gave: (first byte, byte after it)."""

    def receive_data(self, data: bytes | bytearray | memoryview) -> None:
        """Take bytes as they came, in any segmentation; empty says that the peer sends no more.

        After a `RemoteProtocolError` they are dropped: nothing in them can be framed.
        Raises `LocalProtocolError` for data after the end (illegal_state) and for what is not bytes (bad_value).
        """
        if type(data) is not bytes:
            if not isinstance(data, bytes | bytearray | memoryview):
                raise LocalProtocolError(ErrorCode.BAD_VALUE, f"data: expected bytes, got {shown(data)}")
            data = bytes(data)
        if self._ended:
            raise LocalProtocolError(ErrorCode.ILLEGAL_STATE, "received data after the end of the stream")
        if not data:
            self._ended = True
        elif self._error is None:
            self._buffer.feed(data)

    @property
    def buffered(self) -> int:
        """Bytes received that belong to no event yet: at most the frame limit plus one chunk once events are read."""
        return len(self._buffer)

    @property
    def received(self) -> int:
        """Bytes of the peer's stream that events were made of."""
        return self._buffer.offset

    @property
    def settled(self) -> bool:
        """Whether requests that stand for themselves may be sent now."""
        return True

    def start_tls(self) -> bytes:
        """Switch to TLS; return what came already and is the first of it."""
        return b""

    def next_event(self) -> Event:
        """Return the next message, an `EndOfStream` (once), or `NEED_DATA`; raises `RemoteProtocolError`."""
        if self._error is not None:
            raise self._error.anew()
        buffer = self._buffer
        while buffer.at < buffer.end or self._refill():
            at = buffer.at
            try:
                message, stop = self._decode_next(buffer.data, at, buffer.end, self._context)
            except MalformedFrameError as error:
                raise self._fail(error) from None
            if message is None:
                buffer.want(stop)
                continue
            buffer.at = stop
            self.span = (buffer.base + at, buffer.base + stop)
            self._accept(message)
            return message
        return self._nothing_more()

    def _refill(self) -> bool:
        """Make gathered bytes decodable once that is worth while; a long frame is measured further without a copy."""
        buffer, resume = self._buffer, self._context.resume
        if resume is not None and len(buffer.gathered) >= buffer.need:
            need = resume(buffer.gathered)
            if need <= self._context.limit:
                buffer.need = need
        return buffer.refill()

    def _nothing_more(self) -> EndOfStream | NeedData:
        if self._buffer.data:
            self._buffer.release()
        if not self._ended or self._end_given:
            return NEED_DATA
        left = len(self._buffer)
        if left:
            raise self._fail(MalformedFrameError(ErrorCode.TRUNCATED, f"the stream ended {left} bytes into a frame", 0))
        self._end_given = True
        return self._end_of_stream()

    def _fail(self, error: MalformedFrameError) -> RemoteProtocolError:
        offset = self._buffer.base + error.at
        self._error = RemoteProtocolError(error.code, error.message, offset=offset, clause=self._clause(error.code))
        self._buffer.drop()
        self._failed()
        return self._error.anew()

    @abstractmethod
    def send(self, message: Message) -> bytes:
        """Return the bytes of `message`; raises `LocalProtocolError` when it is illegal now or does not fit."""

    def follow(self, message: Message) -> None:
        """Take `message` as sent, of which no bytes are needed; raises as `send` does."""
        self.send(message)

    @abstractmethod
    def _decode_next(self, data: bytes, at: int, end: int, context: FrameContext) -> tuple[Message | None, int]:
        """Decode what comes next where this side stands; see `wireproof.protocols.frames.Decoder`.

        A method, not an attribute: a connection that held its own method would be a cycle, which is seldom freed.
        """

    @abstractmethod
    def _accept(self, message: Message) -> None:
        """Follow a decoded message in the connection's own state."""

    @abstractmethod
    def _end_of_stream(self) -> EndOfStream:
        """Follow the end of the peer's stream."""

    @abstractmethod
    def _failed(self) -> None:
        """Follow a broken protocol."""

    @abstractmethod
    def _clause(self, code: ErrorCode) -> str | None:
        """Return the clause that an error of this code breaks."""


class ReplyReader(Protocol):
    """What reads a server's stream: the reading half of a client."""

    @property
    def answered(self) -> Request | None:
        """The request that the last reply given by `next_event` answers."""

    @property
    def ambiguous_at(self) -> int | None:
        """The offset in the peer's stream of the last frame that could also have been read as a push."""

    @property
    def span(self) -> tuple[int, int]:
        """See `Connection.span`."""

    @property
    def received(self) -> int:
        """See `Connection.received`."""

    @property
    def pending(self) -> tuple[Request, ...]:
        """Requests not yet answered, oldest first."""

    @property
    def buffered(self) -> int:
        """See `Connection.buffered`."""

    @property
    def settled(self) -> bool:
        """See `Connection.settled`."""

    def start_tls(self) -> bytes:
        """See `Connection.start_tls`."""

    def receive_data(self, data: bytes) -> None:
        """See `Connection.receive_data`."""

    def next_event(self) -> Event:
        """See `Connection.next_event`."""

    def await_reply(self, request: Request) -> None:
        """Note a request whose bytes were sent by other means (a raw frame in a test)."""


class Client(ReplyReader, Protocol):
    """The client's side of any request-and-reply protocol: reads replies, and sends requests."""

    def send(self, message: Message) -> bytes:
        """See `Connection.send`."""

    def end_requests(self) -> None:
        """Say that this client sends no more requests; replies due may still come."""
