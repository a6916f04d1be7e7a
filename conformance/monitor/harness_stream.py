"""The harness's side of one connection: its bytes read as a server would, and compared with what was intended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple
from weakref import ref

from wireproof.conformance.model.intended import Intended, IntendedFrame
from wireproof.conformance.model.violation import MISREAD, NOT_INTENDED
from wireproof.conformance.model.wording import describe
from wireproof.conformance.monitor.intended_stream import IntendedStream
from wireproof.protocols import ErrorCode, LocalProtocolError, Message, RemoteProtocolError, Request, Role
from wireproof.protocols.codec import Codec
from wireproof.protocols.connection import ReplyReader
from wireproof.protocols.dissect import Dissection, Frame
from wireproof.protocols.links import Link


class HarnessFault(NamedTuple):
    """What the harness did wrong, from which byte of a stream on."""

    offset: int
    error: str
    description: str
    clause: str | None = None


def writes_back(codec: Codec, message: Message, data: bytes) -> bool:
    """Say whether a message is written as it was read: encoder and decoder check each other.

    Where a message has several forms, the codec says whether what it writes is another one.
    """
    try:
        written = codec.encode(message)
    except LocalProtocolError:
        return False
    is_other_form: Callable[[Message, bytes], bool] | None = getattr(codec, "is_other_form", None)
    return written == data or (is_other_form is not None and is_other_form(message, written))


def _counts_by(stream: HarnessStream) -> Callable[[Frame], bool]:
    """Return what a dissection asks of each request; it does not keep the stream, which keeps the dissection.

    Otherwise all that crossed would stay until the collector of cycles looks for it, which it does seldom.
    """
    there = ref(stream)

    def counts_there(frame: Frame) -> bool:
        stream = there()
        return stream is not None and stream.counts(frame)

    return counts_there


class HarnessStream:
    """Follows what the harness sends on one connection, until there is a `fault`."""

    def __init__(self, link: Link, codec: Codec, intended: Intended | None, replies: ReplyReader) -> None:
        """`account` says what was intended; None: nobody knows. `replies` reads what the target sends."""
        self._link = link
        self._codec = codec
        self.dissection = Dissection(link, codec, client=replies, counts=_counts_by(self))
        """Both directions; a request counts while it is what was intended."""
        self._intended = IntendedStream(intended.frames) if intended is not None else None
        self._account = intended
        self._stream = bytearray()
        self._ended = self._lost = False
        self.fault: HarnessFault | None = None
        self.unframed: int | None = None
        """The event since which requests cannot be read: bytes by hand that are none, or a write that failed."""

    def unframed_since(self) -> int | None:
        """Return `unframed`; a request by hand that is not whole yet counts, too."""
        sent = self.dissection.of_client
        if self.unframed is None and self._intended is not None and sent.buffered:
            return self._intended.by_hand_since(sent.read)
        return self.unframed

    def take(self, number: int, data: bytes) -> None:
        """Take what the event of that number sent; the target may answer its requests from now on."""
        self.fault = self.fault or self._differs(number, data)
        if self.fault is not None:
            return
        self._stream += data
        if self.unframed is None:
            self.dissection.feed(Role.CLIENT, data, number)
            self.check_error()
        self._await_intended(number)

    def settle(self, number: int) -> None:
        """Check, once the writes before an event are done, that all that was intended crossed as whole messages."""
        if self.fault is not None or self._intended is None:
            return
        lost = self._account.lost if self._account is not None else []
        if lost and number >= lost[0]:
            self._lost = True
            if self.unframed is None:
                self._stop(lost[0])
            self._await_intended(number)
            return
        due, whole = self._intended.due(number), self.dissection.of_client.read
        if len(self._stream) < due:
            described = f"{due} bytes were to be sent, {len(self._stream)} were"
            self.fault = HarnessFault(len(self._stream), NOT_INTENDED, described)
        elif (lacking := self._intended.unwritten(number)) is not None:
            self.fault = HarnessFault(due, NOT_INTENDED, f"{describe(lacking)} was intended, nothing was sent")
        elif self.unframed is None and whole < due and self._intended.by_hand_since(whole) is None:
            described = f"{self._intended.description(whole)} was intended, no whole message was sent"
            self.fault = HarnessFault(whole, NOT_INTENDED, described)

    def end(self) -> None:
        """Take the end of the stream."""
        if not self._ended and self.fault is None and self.unframed is None:
            self.dissection.end(Role.CLIENT)
            self.check_error()
        self._ended = True

    def check_error(self) -> None:
        """Judge what cannot be read, if there is such: the harness's fault, or bytes by hand."""
        sent = self.dissection.of_client
        if sent.error is None or self.fault is not None or self.unframed is not None:
            return
        start = sent.frames[-1].span[1] if sent.frames else 0
        unframed = self._intended_malformed(start, sent.error)
        if unframed is not None:
            self._stop(unframed)
            return
        sent.stop()
        offset = start if sent.error.offset is None else sent.error.offset
        self.fault = HarnessFault(offset, sent.error.code, sent.error.message, sent.error.clause)

    def _intended_malformed(self, start: int, error: RemoteProtocolError) -> int | None:
        """Return the event of the write whose bytes from `start` on are intended as no message; None if not."""
        if self._intended is None:
            return None
        unframed = self._intended.by_hand_since(start)
        if error.code is ErrorCode.BAD_VALUE and unframed is None:
            unframed = self._intended.as_encoded_since(start, self._codec)
        return unframed

    def _stop(self, unframed: int) -> None:
        self.unframed = unframed
        self.dissection.of_client.stop()

    def _differs(self, number: int, data: bytes) -> HarnessFault | None:
        at = len(self._stream)
        if self._ended:
            return HarnessFault(at, ErrorCode.ILLEGAL_STATE, "bytes after the end of the stream")
        if self._intended is None or self._lost:
            return None
        lacking = self._intended.unwritten(number + 1)
        if lacking is not None:
            return HarnessFault(at, NOT_INTENDED, f"{describe(lacking)} was intended, nothing was sent")
        offset = self._intended.differs(at, data)
        described = "the bytes sent are not those the player gave to the driver"
        return None if offset is None else HarnessFault(offset, NOT_INTENDED, described)

    def counts(self, frame: Frame) -> bool:
        """Compare a request with what was intended; say whether its reply is due and what follows may be read."""
        (first, stop), request = frame.span, frame.message
        if self._intended is not None:
            problem = self._intended.problem(request, first, stop)
            if problem is not None:
                self.fault = HarnessFault(first, NOT_INTENDED, problem)
                return False
            self.unframed = self._intended.declared(request, first, stop)
        if self.unframed is None and not writes_back(self._codec, request, bytes(self._stream[first:stop])):
            self.fault = HarnessFault(first, MISREAD, f"{describe(request)} is not written as it was read")
        return self.fault is None and self.unframed is None

    def _await_intended(self, number: int) -> None:
        """Where requests cannot be read, await the replies to those that the player says it sent."""
        if self.unframed is None or self._intended is None:
            return
        found: list[Request] = []
        for start, frame in self._intended.rest(number):
            if frame.message is not None and not self._says(frame):
                described = f"{describe(frame.message)} was intended, {describe(frame.data)} was sent"
                self.fault = HarnessFault(start, NOT_INTENDED, described)
                return
            request = frame.message or frame.like
            if isinstance(request, Request):
                found.append(request)
        for request in found:
            self.dissection.await_reply(request, number)

    def _says(self, frame: IntendedFrame) -> bool:
        """Say whether a frame, read by itself or where a connection has begun as usual, is the intended message."""
        if self._lost and frame.message is not None and writes_back(self._codec, frame.message, frame.data):
            return True  # what came before it may have been lost, and without that it cannot be read
        handshake = self._link.handshake()
        return any(self._reads(frame, handshake[:number]) for number in range(len(handshake) + 1))

    def _reads(self, frame: IntendedFrame, before: Sequence[Request]) -> bool:
        dissection = Dissection(self._link, self._codec)
        for request in before:
            dissection.feed(Role.CLIENT, self._codec.encode(request))
        read = [one.message for one in dissection.feed(Role.CLIENT, frame.data)]
        error = dissection.of_client.error
        if error is not None and error.code is ErrorCode.BAD_VALUE and frame.message is not None:
            return writes_back(self._codec, frame.message, frame.data)
        return read == [frame.message] and dissection.of_client.is_whole
