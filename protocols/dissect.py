"""Dissects a connection: the bytes of both directions in, messages in their order out.

A `Dissection` reads what a client sent as a server would, and what the server sent as a client would that asked exactly
those requests. Feed it chunks of either direction in the order in which they crossed; how they are cut does not matter.

    dissection = Dissection(protocol.link_of(name), codec)
    for chunk in chunks:
        for frame in dissection.feed(Role.CLIENT, chunk.data, at=chunk.time):
            ...                     # frame.message, frame.span, frame.at, frame.request

Three rules decide what is read, and when:

- Each direction is framed by itself, by the connection of its link (`protocols/links.py`), at linear cost. The first
  error of a stream ends the reading of that direction only, since nothing after it can be framed; a broken datagram
  ends nothing. `Direction.error` keeps the first one: its code, offset and clause.
- A reply is framed by its request, so requests go first: all that can be read are given before the next message of
  the server. Bytes of a server that come before the last byte of their request answer nothing, and are an error.
- A reply may decide how the next request is read (PSRT's PUBLISH_REPL, a greeting that asks for TLS), so each reply is
  passed to the reader of requests before it reads on. A request that became readable so keeps the time of its bytes.

Nothing here judges: a caller that doubts a request refuses it by `counts`; requests whose bytes are not to be decoded
are noted by `await_reply`, replies by `note_reply`. A switch to TLS is the caller's to make (`start_tls`), since the
plain bytes of what follows come from elsewhere.
"""

# Strategy
#
# A server's stream cannot be read without the client's: replies are framed by the requests they answer, and some have
# no status byte. A client's stream cannot always be read without the server's, because a reply may change what comes
# next. Reading both with the two ends of a real connection solves this with what exists: the server's end reads
# requests, the client's end reads replies, and each message that one reads is passed to the other as if it had sent it.
# A request goes to the client's end by `await_reply`, which writes nothing; a reply to the server's end by `send`,
# whose bytes are dropped.
#
# The loop of `next_frame` is the whole schedule: take a request if one can be read, otherwise a message of the server.
# Requests go first, since a reply may have been received together with the request that it answers. A reply sets
# `read_on`, so that the next turn tries requests again. `_may_have_more` makes asking in vain cost nothing.
#
# Times and spans come from the chunks, not from the messages. `_chunks` keeps (offset after it, time) of each chunk
# that is not used up; a message crossed when the chunk that holds its last byte did. Chunks before that one are
# dropped, so memory is bounded by what is not read yet, apart from the frames that are kept for the caller.
#
# Pairs are found by identity: the client's end names the request that a reply answers, and `_due` is emptied up to it.
# Requests on the way that got no reply (some never do) leave with it. A request that no client may send there breaks
# this numbering, so `is_paired` becomes false instead of a wrong pair being given.
#
# Errors end a direction, not the dissection: the other side is still read, because the question is often what it did
# before or after. Over datagrams each one is framed by itself, so a broken one is noted and the next is read.

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import cast

import msgspec

from wireproof.protocols.codec import Codec
from wireproof.protocols.connection import Connection, ReplyReader
from wireproof.protocols.errors import LocalProtocolError, RemoteProtocolError
from wireproof.protocols.links import Link
from wireproof.protocols.messages import Message, Push, Request
from wireproof.protocols.states import Role

__all__ = ["Direction", "Dissection", "Frame"]


class Frame(msgspec.Struct, frozen=True):
    """One message, and where and when it crossed."""

    sender: Role
    message: Message
    span: tuple[int, int]
    """Offsets in the sender's stream: (first byte, byte after it). Over datagrams, in all of them laid end to end."""
    at: float
    """When its last byte crossed, as the caller of `feed` gave it."""
    request: Frame | None = None
    """What a reply answers; None for requests, for pushes, and for a datagram that answers nothing."""


class Direction:
    """What one side sent, and how far it is read."""

    def __init__(self, sender: Role, reader: Connection | ReplyReader, *, is_stream: bool) -> None:
        self.sender = sender
        self.frames: list[Frame] = []
        """All that was read, in order."""
        self.size = 0
        """Bytes that were sent."""
        self.error: RemoteProtocolError | None = None
        """Why they cannot be read to their end: the first error."""
        self.is_stopped = False
        """Whether what comes is not read any more: after the error of a stream, or `stop`."""
        self._reader = reader
        self._is_stream = is_stream
        self._chunks: deque[tuple[int, float]] = deque()
        """(offset after it, time) of each chunk with bytes that are part of no frame yet."""
        self._may_have_more = False

    @property
    def messages(self) -> list[Message]:
        """The messages of `frames`."""
        return [frame.message for frame in self.frames]

    @property
    def read(self) -> int:
        """Bytes that are part of frames; for a stream, the offset of the first byte that is part of none."""
        return self._reader.received

    @property
    def buffered(self) -> int:
        """Bytes after the last frame that may begin another one; 0 after an error."""
        return self._reader.buffered

    @property
    def is_whole(self) -> bool:
        """Whether all that was sent is whole messages."""
        return self.error is None and self.read == self.size

    def stop(self) -> None:
        """Read nothing more of what this side sends."""
        self.is_stopped = True

    def start_tls(self) -> bytes:
        """Switch to TLS; return what came already and is the first of it.

        Raises `LocalProtocolError` (illegal_state) where the protocol does not switch.
        """
        early = self._reader.start_tls()
        self.size -= len(early)
        while self._chunks and self._chunks[-1][0] > self.size:
            self._chunks.pop()
        return early

    def feed(self, data: bytes, at: float) -> None:
        """Take the next bytes, without reading them.

        Raises `LocalProtocolError` (illegal_state) for bytes after the end.
        """
        if data and not self.is_stopped:
            self._reader.receive_data(data)
            self._chunks.append((self.size + len(data), at))
            self._may_have_more = True
        self.size += len(data)

    def end(self) -> None:
        """Say that this side sends no more."""
        if not self.is_stopped:
            self._reader.receive_data(b"")
            self._may_have_more = True

    def read_on(self) -> None:
        """Say that what was not readable yet may be so now."""
        self._may_have_more = True

    def next_message(self) -> Message | None:
        """Return the next message; None when more bytes must come first."""
        while self._may_have_more and not self.is_stopped:
            try:
                event = self._reader.next_event()
            except RemoteProtocolError as error:
                self.error = self.error or error.anew()
                self.is_stopped = self._is_stream
                continue
            if isinstance(event, Message):
                return event
            self._may_have_more = False
        return None

    def frame(self, message: Message, request: Frame | None) -> Frame:
        """Return the frame of the message that `next_message` gave last, and keep it."""
        span, chunks = self._reader.span, self._chunks
        while chunks[0][0] < span[1]:
            chunks.popleft()
        frame = Frame(self.sender, message, span, chunks[0][1], request)
        self.frames.append(frame)
        return frame


def _every(frame: Frame) -> bool:
    return True


class Dissection:
    """Both directions of one connection; see the module."""

    def __init__(
        self,
        link: Link,
        codec: Codec,
        *,
        client: ReplyReader | None = None,
        counts: Callable[[Frame], bool] = _every,
    ) -> None:
        """`client` reads what the server sends, where that is not the link's own client.

        `counts` is asked of each request that was read: from the first that it refuses, which may be answered no more,
        requests are read no further.
        """
        is_stream = link.transport == "stream"
        self.link = link
        self._server = link.server(codec)
        self._client: ReplyReader = link.client(codec) if client is None else client
        self._counts = counts
        self.of_client = Direction(Role.CLIENT, self._server, is_stream=is_stream)
        self.of_server = Direction(Role.SERVER, self._client, is_stream=is_stream)
        self.pairs: list[tuple[Frame, Frame]] = []
        """Requests that were answered, with their replies, in the order of the replies."""
        self._due: deque[Frame] = deque()
        """Requests that were sent, oldest first; those that are never answered leave when a later one is."""
        self.is_paired = True
        """False once a request was read that no client may send there: which one a reply answers is unknown then."""

    @property
    def requests(self) -> list[Request]:
        """The requests that were read, in order."""
        return cast(list[Request], self.of_client.messages)

    @property
    def pending(self) -> tuple[Request, ...]:
        """Requests whose replies are due, oldest first."""
        return self._client.pending

    @property
    def settled(self) -> bool:
        """See `Connection.settled`."""
        return self._client.settled

    @property
    def ambiguous_at(self) -> int | None:
        """See `ReplyReader.ambiguous_at`."""
        return self._client.ambiguous_at

    def direction(self, sender: Role) -> Direction:
        """Return what that side sent."""
        return self.of_client if sender is Role.CLIENT else self.of_server

    def feed(self, sender: Role, data: bytes, at: float = 0.0) -> list[Frame]:
        """Take what a side sent at that time; return what can be read now, of both sides, in order.

        Raises `LocalProtocolError` (illegal_state) for bytes after the end.
        """
        self.receive(sender, data, at)
        found: list[Frame] = []
        while (frame := self.next_frame()) is not None:
            found.append(frame)
        return found

    def end(self, sender: Role) -> None:
        """Take the end of what a side sent; a message that it cuts short is an error of that side."""
        direction = self.direction(sender)
        direction.end()
        direction.next_message()

    def receive(self, sender: Role, data: bytes, at: float = 0.0) -> None:
        """Take what a side sent, as `feed` does, but leave it to `next_frame` to read it."""
        self.direction(sender).feed(data, at)

    def next_frame(self) -> Frame | None:
        """Return the next message that can be read: a request, if there is one; None when more must come first."""
        message = self.of_client.next_message()
        if message is not None:
            return self._asked(self.of_client.frame(message, None))
        message = self.of_server.next_message()
        if message is None:
            return None
        request = self._answered(message) if self._answers(message) else None
        frame = self.of_server.frame(message, request)
        if request is not None:
            self.pairs.append((request, frame))
        return frame

    def await_reply(self, request: Request, at: float = 0.0) -> None:
        """Note a request whose bytes are not read here; its frame, when it is answered, has an empty span."""
        place = self.of_client.size
        self._await(Frame(Role.CLIENT, request, (place, place), at))

    def note_reply(self, reply: Message) -> None:
        """Note a reply whose bytes are not read here: it may decide how the next request is read."""
        with suppress(LocalProtocolError):
            self._server.follow(reply)
            self.of_client.read_on()

    def start_tls(self) -> bytes:
        """Switch both directions to TLS; return what the client sent already and is the first of it.

        Raises `LocalProtocolError` (illegal_state) where the protocol does not switch.
        """
        self.of_server.start_tls()
        return self.of_client.start_tls()

    def follow_tls(self) -> None:
        """Switch each direction to TLS where the protocol switches it; what comes next is inside."""
        for direction in (self.of_server, self.of_client):
            with suppress(LocalProtocolError):
                direction.start_tls()

    def _asked(self, frame: Frame) -> Frame:
        if self._counts(frame):
            self._await(frame)
        else:
            self.of_client.stop()
        return frame

    def _await(self, frame: Frame) -> None:
        try:
            self._client.await_reply(cast(Request, frame.message))
        except LocalProtocolError:
            self.is_paired = False
        else:
            self._due.append(frame)

    def _answers(self, message: Message) -> bool:
        """Say whether a message of the server is a reply, or a push that answers a request all the same."""
        return not isinstance(message, Push) or (not self.link.answers_in_order and self._client.answered is not None)

    def _answered(self, reply: Message) -> Frame | None:
        """Return the request that the last message answers, and follow it on the client's side."""
        answered, request = self._client.answered, None
        if not self.link.answers_in_order:
            request = next((one for one in self._due if one.message is answered), None)
            if request is not None:
                self._due.remove(request)
            answered = None
        while answered is not None and (request is None or request.message is not answered):
            request = self._due.popleft()
        self.note_reply(reply)
        return request
