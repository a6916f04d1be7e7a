"""Faults in how an SDK reads a stream: cuts, several answers in one segment, pushes between, whose answer it is."""

from __future__ import annotations

from typing import Any

from wireproof.mutants.throttr.client.mutant import changed, connection, link, mutant
from wireproof.protocols.frames import FrameContext
from wireproof.protocols.messages import Message, Push, Reply, Request
from wireproof.protocols.throttr import ClientConnection
from wireproof.protocols.throttr.replies import Status
from wireproof.reference_client.errors import BadReplyError
from wireproof.reference_client.link import Link
from wireproof.reference_client.throttr.client import Client

__all__ = ["MUTANTS"]

LIMIT = 1 << 26


def _buffer(one: Link) -> Any:
    return one._codec._buffer  # type: ignore[attr-defined]


class _OneASegment(Link):
    """Takes one message of each segment and drops the rest."""

    def _read(self) -> None:
        event = self._codec.next_event() if self.ended is None else None
        if isinstance(event, Push):
            self._on_push(event)
        elif isinstance(event, Reply):
            self._answer(event)
        else:
            super()._read()
        if isinstance(event, Message):
            _buffer(self).drop()


class _Whole(Link):
    """Drops what is no whole message at the end of a segment."""

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        _buffer(self).drop()


class _LastSegment(Link):
    """Keeps only the last segment of an unfinished answer of more than 2000 bytes."""

    def data_received(self, data: bytes) -> None:
        if self._codec.buffered > 2000:
            _buffer(self).drop()
        super().data_received(data)


class _Short(Link):
    """Believes an answer whole one byte too soon."""

    _owed = 0

    def data_received(self, data: bytes) -> None:
        data, self._owed = data[self._owed :], max(0, self._owed - len(data))
        if data:
            super().data_received(data)
        left, pending = bytes(_buffer(self).gathered), self._codec.pending
        if not left or not pending or self.ended is not None:
            return
        decode = self._codec.codec.replies[type(pending[0])]  # type: ignore[attr-defined]
        message, _ = decode(left + b"\0", 0, len(left) + 1, FrameContext(LIMIT, request=pending[0]))
        if message is not None:
            self._owed = 1
            super().data_received(b"\0")


class _FixedOffset(ClientConnection):
    """Takes 01 alone for a whole answer to GET whatever its size field says: the value is 5 bytes."""

    def _accept(self, message: Message) -> None:
        super()._accept(message)
        buffer = self._buffer
        value = getattr(message, "value", None)
        if value is not None and len(value) != 5 and buffer.at < buffer.end:
            buffer.at += 1


class _PushAnswers(Link):
    """Takes a push for the answer to the request that waits."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        description = self._on_push

        def pushed(push: Push) -> None:
            if self._waiting:
                self._answer(Status(True))
            else:
                description(push)

        self._on_push = pushed

    def _answer(self, reply: Reply) -> None:
        if self._waiting:
            super()._answer(reply)


class _PushesLost(Link):
    """Loses a push behind an answer in the same segment."""

    _answered = False

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        description = self._on_push
        self._on_push = lambda push: None if self._answered else description(push)

    def _read(self) -> None:
        self._answered = False
        super()._read()

    def _answer(self, reply: Reply) -> None:
        self._answered = True
        super()._answer(reply)


class _Backwards(Link):
    """Hands on the pushes of one segment from the end."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._told, self._held = self._on_push, list[Push]()
        self._on_push = self._held.append

    def _read(self) -> None:
        super()._read()
        while self._held:
            self._told(self._held.pop())


class _Newest(Link):
    """Gives an answer to the newest request that waits."""

    def _answer(self, reply: Reply) -> None:
        self._waiting.appendleft(self._waiting.pop())
        super()._answer(reply)


class _Pairs(Link):
    """Mixes up the answers of two requests that were asked at the same time, from the third on."""

    def _answer(self, reply: Reply) -> None:
        if len(self._waiting) > 2:
            self._waiting.rotate(-1)
        super()._answer(reply)


class _Kept(ClientConnection):
    """Keeps bytes that answer nothing for the next request."""

    def _decode_message(self, data: bytes, at: int, end: int, context: FrameContext) -> tuple[Message | None, int]:
        if not self._pending and self.codec.pushes[data[at]] is None:
            return None, end - at + 1
        return super()._decode_message(data, at, end, context)


class _PushFirst(ClientConnection):
    """Takes a byte that may begin a push for one, whatever answer is due."""

    def _is_bare_reply(self, request: Request | None) -> bool:
        return False


class _Deaf(Client):
    """Ignores pushes."""

    def _pushed(self, push: Push) -> None:
        pass


class _Echoing(Client):
    """Hands each push on twice."""

    def _pushed(self, push: Push) -> None:
        super()._pushed(push)
        super()._pushed(push)


class _Nameless(Client):
    """Forgets the channel of a push."""

    def _pushed(self, push: Any) -> None:
        super()._pushed(changed(push, channel=b""))


class _Textual(Client):
    """Decodes the payload of a push as text."""

    def _pushed(self, push: Any) -> None:
        super()._pushed(changed(push, payload=push.payload.decode("utf-8", "replace").encode()))


class _Empty(Client):
    """Ignores pushes without payload."""

    def _pushed(self, push: Any) -> None:
        if push.payload:
            super()._pushed(push)


class _Strict(Link):
    """Takes a push to a channel that was never subscribed to for the end."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        description = self._on_push

        def pushed(push: Any) -> None:
            if push.channel == b"never-asked-for":
                self._end(BadReplyError("a push that was not subscribed to"))
                self._transport.abort()
            else:
                description(push)

        self._on_push = pushed


MUTANTS = (
    mutant("one-answer-a-segment", "Of several answers in one segment the first is read, the rest is dropped.",
          "ROBUSTNESS-24", "ROBUSTNESS-25", client=link(_OneASegment)),
    mutant("answers-come-whole", "What is no whole answer at the end of a segment is dropped.", "ROBUSTNESS-24",
          client=link(_Whole)),
    mutant("long-answers-begin-again", "Of a long answer in several segments only the last is kept.", "ROBUSTNESS-24",
          "FRAGMENT-8", client=link(_LastSegment)),
    mutant("one-byte-short", "An answer is believed whole one byte too soon.", "ROBUSTNESS-24", "ROBUSTNESS-26",
          client=link(_Short)),
    mutant("value-at-a-fixed-offset", "What follows a value that is not of 5 bytes is read one byte too late.",
          "ROBUSTNESS-24", "ROBUSTNESS-25", client=connection(_FixedOffset)),
    mutant("pushes-ignored", "Pushes are dropped.", "CLIENT-12", "ROBUSTNESS-24", client=_Deaf),
    mutant("pushes-answer", "A push is taken for the answer to the request that waits.", "ROBUSTNESS-25",
          client=link(_PushAnswers)),
    mutant("pushes-behind-answers-lost", "A push behind an answer in one segment is lost.", "ROBUSTNESS-24",
          "ROBUSTNESS-25", "CLIENT-12", client=link(_PushesLost)),
    mutant("pushes-twice", "A push is handed on twice.", "CLIENT-12", client=_Echoing),
    mutant("pushes-backwards", "Pushes in one segment are handed on from the end.", "CLIENT-12",
          client=link(_Backwards)),
    mutant("pushes-without-channel", "A push names no channel.", "CLIENT-12", profiles=("7.3.2",), client=_Nameless),
    mutant("pushes-as-text", "The payload of a push is decoded as text.", "CLIENT-4", client=_Textual),
    mutant("empty-pushes-ignored", "A push without payload is dropped.", "CLIENT-12", client=_Empty),
    mutant("unsolicited-push-is-the-end", "A push to a channel that was not subscribed to ends the connection.",
          "CLIENT-13", profiles=("7.3.2",), client=link(_Strict)),
    mutant("newest-first", "An answer is given to the newest request that waits.", "ROBUSTNESS-25",
          "ROBUSTNESS-24", client=link(_Newest)),
    mutant("answers-mixed-up", "With three requests under way the answers are mixed up.", "ROBUSTNESS-25",
          client=link(_Pairs)),
    mutant("leftovers-kept", "Bytes behind an answer are taken for the next one.", "CLIENT-7",
          client=connection(_Kept)),
    mutant("bare-answer-is-a-push", "An answer without status byte that begins with 03 is read as a push.", "PUSH-16",
          profiles=("7.1.0",), client=connection(_PushFirst)),
)  # fmt: skip
