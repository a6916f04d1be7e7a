"""Which frame a byte of the harness's stream belongs to, and whether what was sent is what was intended."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from wireproof.conformance.model.intended import IntendedFrame
from wireproof.conformance.model.wording import describe
from wireproof.protocols import Message
from wireproof.protocols.codec import Codec


class IntendedStream:
    """The frames of one connection's stream, laid end to end."""

    def __init__(self, frames: Sequence[IntendedFrame]) -> None:
        self._frames = frames
        self._ends = list(accumulate(len(one.data) for one in frames))
        self._stream = b"".join(one.data for one in frames)
        self._begun = self._read = 0
        """How many frames are part of a write that began, and of a request that was read."""
        self._unwritten: Message | None = None

    def differs(self, at: int, data: bytes) -> int | None:
        """Return the offset of the first byte of `data`, sent from `at` on, that was not to be sent."""
        intended = self._stream[at : at + len(data)]
        if intended == data:
            return None
        same = (one == other for one, other in zip(intended, data, strict=False))
        return at + next((number for number, equal in enumerate(same) if not equal), len(intended))

    def due(self, number: int) -> int:
        """Return how many bytes were to be sent by writes that began before that event."""
        while self._begun < len(self._frames) and self._frames[self._begun].event < number:
            frame = self._frames[self._begun]
            self._unwritten = self._unwritten or (frame.message if not frame.data else None)
            self._begun += 1
        return self._ends[self._begun - 1] if self._begun else 0

    def unwritten(self, number: int) -> Message | None:
        """Return the first message of writes that began before that event which was given no byte at all."""
        self.due(number)
        return self._unwritten

    def by_hand_since(self, offset: int) -> int | None:
        """Return the event of the write of the byte at `offset`, if the case gives that byte by hand."""
        frame = self._frame(offset)
        return frame.event if frame is not None and frame.message is None else None

    def as_encoded_since(self, offset: int, codec: Codec) -> int | None:
        """Return the event of the write of the message at `offset`, if it was written as its encoder says.

        Its layout holds values that the protocol does not allow: a case that names one means it.
        """
        frame = self._frame(offset)
        if frame is None or frame.message is None or codec.encode(frame.message) != frame.data:
            return None
        return frame.event

    def description(self, offset: int) -> str:
        """Return the message that the byte at `offset` was to be part of, in words."""
        frame = self._frame(offset)
        return "nothing" if frame is None else describe(frame.message or frame.data)

    def problem(self, message: Message, first: int, stop: int) -> str | None:
        """Return in words how a message read from those bytes differs from the intended one; None for bytes by hand."""
        number = bisect_right(self._ends, first)
        frame = self._frames[number]
        if frame.message is None:
            return None
        place = self._ends[number] - len(frame.data), self._ends[number]
        if (first, stop) == place and message == frame.message:
            return None
        return f"{describe(frame.message)} was to be sent in {len(frame.data)} bytes, {describe(message)} was sent"

    def declared(self, request: Message, first: int, stop: int) -> int | None:
        """Return the event since which it is open what comes: a request made of bytes by hand that are to be none.

        One is an ordinary request if all of its bytes are by hand and the last of them say that its like is answered.
        """
        number, last = bisect_right(self._ends, first), bisect_right(self._ends, stop - 1)
        frames = self._frames[number : last + 1]
        by_hand = all(one.message is None for one in frames) and type(frames[-1].like) is type(request)
        if frames[0].message is not None or (by_hand and last >= self._read):
            self._read = last + 1
            return None
        return frames[0].event

    def rest(self, number: int) -> Iterator[tuple[int, IntendedFrame]]:
        """Yield what was not read: (offset, frame) of each in writes that began up to that event, each once."""
        while self._read < len(self._frames) and self._frames[self._read].event <= number:
            frame = self._frames[self._read]
            self._read += 1
            yield self._ends[self._read - 1] - len(frame.data), frame

    def _frame(self, offset: int) -> IntendedFrame | None:
        number = bisect_right(self._ends, offset)
        return self._frames[number] if number < len(self._frames) else None
