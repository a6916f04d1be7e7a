"""The harness's side of one connection: its bytes read as a server would, and held against what was meant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from wireproof.conformance.model.intended import Account, Meant
from wireproof.conformance.model.violation import MISREAD, NOT_MEANT
from wireproof.conformance.model.wording import describe
from wireproof.conformance.monitor.intended_stream import Meaning
from wireproof.protocols import Connection, ErrorCode, LocalProtocolError, Message, RemoteProtocolError, Request


class Fault(NamedTuple):
    """What the harness did wrong, from which byte of its stream on."""

    offset: int
    error: str
    told: str
    clause: str | None = None


def writes_back(codec: Any, message: Message, data: bytes) -> bool:
    """Say whether a message is written as it was read: encoder and decoder check each other."""
    try:
        return bool(codec.encode(message) == data)
    except LocalProtocolError:
        return False


class Sending:
    """Reads what the harness sends, until there is a `fault`; `serve` makes the server's side of a connection."""

    def __init__(
        self,
        serve: Callable[[], Connection],
        codec: Any,
        account: Account | None,
        opening: Sequence[Request] = (),
    ) -> None:
        """`opening` is what such a connection begins with, where requests are read otherwise behind it."""
        self._serve = serve
        self._opening = opening
        self._codec = codec
        self._answering = serve()
        self._meaning = Meaning(account.meant) if account is not None else None
        self._account = account
        self._stream = bytearray()
        self._ended = self._lost = False
        self.mutant: Fault | None = None
        self.unframed: int | None = None
        """The event since which requests cannot be told: bytes by hand that are none, or a write that failed."""

    def unframed_since(self) -> int | None:
        """Return `unframed`; a request by hand that is not whole yet counts, too."""
        if self.unframed is None and self._meaning is not None and self._answering.buffered:
            return self._meaning.by_hand_since(self._answering.received)
        return self.unframed

    def start_tls(self) -> None:
        """See `Connection.start_tls`."""
        with suppress(LocalProtocolError):
            self._answering.start_tls()

    def answered(self, reply: Message) -> list[Request]:
        """Follow what the target said, which may tell how the next request is read; return those read now."""
        if self.unframed is not None or self.mutant is not None:
            return []
        with suppress(LocalProtocolError):
            self._answering.send(reply)
        return self._read()

    def take(self, number: int, data: bytes) -> list[Request]:
        """Take what the event of that number sent; return the requests that may be answered from now on."""
        self.mutant = self.mutant or self._differs(number, data)
        if self.mutant is not None:
            return []
        self._stream += data
        found = []
        if self.unframed is None:
            self._answering.receive_data(data)
            found = self._read()
        return found + self._as_meant(number)

    def settle(self, number: int) -> list[Request]:
        """Once the writes before an event are done, all that was meant must have crossed, as whole messages."""
        if self.mutant is not None or self._meaning is None:
            return []
        lost = self._account.lost if self._account is not None else []
        if lost and number >= lost[0]:
            self._lost = True
            self.unframed = lost[0] if self.unframed is None else self.unframed
            return self._as_meant(number)
        due, whole = self._meaning.due(number), self._answering.received
        if len(self._stream) < due:
            told = f"{due} bytes were to be sent, {len(self._stream)} were"
            self.mutant = Fault(len(self._stream), NOT_MEANT, told)
        elif (lacking := self._meaning.unwritten(number)) is not None:
            self.mutant = Fault(due, NOT_MEANT, f"{describe(lacking)} was meant, nothing was sent")
        elif self.unframed is None and whole < due and self._meaning.by_hand_since(whole) is None:
            self.mutant = Fault(whole, NOT_MEANT, f"{self._meaning.told(whole)} was meant, no whole message was sent")
        return []

    def end(self) -> None:
        """Take the end of the stream."""
        if not self._ended and self.mutant is None and self.unframed is None:
            self._answering.receive_data(b"")
            self._read()
        self._ended = True

    def _differs(self, number: int, data: bytes) -> Fault | None:
        at = len(self._stream)
        if self._ended:
            return Fault(at, ErrorCode.ILLEGAL_STATE, "bytes after the end of the stream")
        if self._meaning is None or self._lost:
            return None
        lacking = self._meaning.unwritten(number + 1)
        if lacking is not None:
            return Fault(at, NOT_MEANT, f"{describe(lacking)} was meant, nothing was sent")
        offset = self._meaning.differs(at, data)
        told = "the bytes sent are not those the player gave to the driver"
        return None if offset is None else Fault(offset, NOT_MEANT, told)

    def _read(self) -> list[Request]:
        found: list[Request] = []
        while self.mutant is None and self.unframed is None:
            try:
                event = self._answering.next_event()
            except RemoteProtocolError as error:
                self._malformed(error)
                break
            if not isinstance(event, Request):
                break
            self._judge(event, *self._answering.span)
            if self.mutant is None and self.unframed is None:
                found.append(event)
        return found

    def _malformed(self, error: RemoteProtocolError) -> None:
        start = self._answering.span[1]
        if self._meaning is not None:
            self.unframed = self._meaning.by_hand_since(start)
            if error.code is ErrorCode.BAD_VALUE and self.unframed is None:
                self.unframed = self._meaning.as_encoded_since(start, self._codec)
        if self.unframed is None:
            offset = start if error.offset is None else error.offset
            self.mutant = Fault(offset, error.code, error.message, error.clause)

    def _judge(self, request: Request, first: int, stop: int) -> None:
        """Hold a whole request against what was meant."""
        if self._meaning is not None:
            problem = self._meaning.problem(request, first, stop)
            if problem is not None:
                self.mutant = Fault(first, NOT_MEANT, problem)
                return
            self.unframed = self._meaning.declared(request, first, stop)
        if self.unframed is None and not writes_back(self._codec, request, bytes(self._stream[first:stop])):
            self.mutant = Fault(first, MISREAD, f"{describe(request)} is not written as it was read")

    def _as_meant(self, number: int) -> list[Request]:
        """Return, where requests cannot be told, those that the player says it asked."""
        found: list[Request] = []
        if self.unframed is None or self._meaning is None:
            return found
        for start, frame in self._meaning.rest(number):
            if frame.message is not None and not self._says(frame):
                told = f"{describe(frame.message)} was meant, {describe(frame.data)} was sent"
                self.mutant = Fault(start, NOT_MEANT, told)
                return []
            request = frame.message or frame.like
            if isinstance(request, Request):
                found.append(request)
        return found

    def _says(self, frame: Meant) -> bool:
        """Say whether a frame, read by itself or where a connection has begun as usual, is the message meant."""
        return any(self._reads(frame, self._opening[:number]) for number in range(len(self._opening) + 1))

    def _reads(self, frame: Meant, behind: Sequence[Request]) -> bool:
        reader = self._serve()
        try:
            for request in behind:
                reader.receive_data(self._codec.encode(request))
                reader.next_event()
            reader.receive_data(frame.data)
            return reader.next_event() == frame.message and not reader.buffered
        except RemoteProtocolError as error:
            if error.code is not ErrorCode.BAD_VALUE or frame.message is None:
                return False
            return writes_back(self._codec, frame.message, frame.data)
        except LocalProtocolError:
            return False
