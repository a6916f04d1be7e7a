"""One socket of an SDK, followed from its first byte by the server's side of its link. Sans-IO.

What the SDK may send by itself, such as pings, is answered in its turn and left out of what a case is compared with.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import NamedTuple, cast

from wireproof.protocols import Message, Role
from wireproof.protocols.codec import Codec
from wireproof.protocols.dissect import Dissection, Frame
from wireproof.protocols.links import Link
from wireproof.protocols.messages import Reply, Request

__all__ = ["ServerSide"]


class _Due(NamedTuple):
    """What a request without a reply gets."""

    reply: Reply | None = None
    """Given here; None: the case gives it."""
    parts: bool = False
    """It is the last one: the SDK goes."""
    request: Message | None = None
    """What is answered; None: a request that the SDK makes by itself."""


class ServerSide:
    """What came on one socket and was not taken yet, as bytes and as messages."""

    def __init__(self, link: Link, codec: Codec) -> None:
        self.link = link
        self.messages: list[tuple[int, Message]] = []
        """(offset after it in the stream, without what is left out; message) of what came and was not taken yet."""
        self.replies: list[Reply] = []
        """What was written as a reply, those to what the SDK asks by itself left out."""
        self.pings = 0
        """Requests that came to keep the line alive."""
        self.holds = False
        """Whether what is answered here waits until something is written."""
        self._parting: Mapping[type[Request], Reply | None] = {}
        """What may come from now on because the SDK goes, and is answered here."""
        self.parted = False
        """Whether such a request was answered: a server closes now."""
        self._codec = codec
        self._dissection = Dissection(link, codec)
        self._ping: Request | None = None
        self._pong: Reply | None = None
        if link.keeps_alive:
            self._ping, self._pong = link.noop(b"")
        self._raw = bytearray()
        self._gone = 0
        """Offset in the stream, without what is left out, of the first byte not taken."""
        self._left_out = 0
        """Bytes that are left out."""
        self._due: deque[_Due] = deque()
        """One for each request without a reply."""
        self._answers = True
        """Nobody else answers what came last."""

    @property
    def came(self) -> bytes:
        """What came and was not taken, without what is left out."""
        return bytes(self._raw)

    @property
    def is_whole(self) -> bool:
        """Whether everything that came is messages."""
        return self._dissection.of_client.is_whole

    @property
    def _blind(self) -> bool:
        """Whether what we wrote cannot be read: nobody knows which request is answered next."""
        return self._dissection.of_server.error is not None or not self._dissection.is_paired

    def received(self, data: bytes, *, answered: bool = True) -> bytes:
        """Take what came; return what must be written at once. `answered`: nobody else answers."""
        self._raw += data
        self._answers = answered
        self._follow(Role.CLIENT, data)
        return self._turn() if answered else b""

    def wrote(self, data: bytes) -> bytes:
        """Take what is to be written; return it with the replies that are due before, in between and after."""
        self.holds, self._answers = False, True
        before = self._turn()
        if self._blind or not any(one.reply for one in self._due):
            self._write(data)
            written = data
        else:
            parts = [bytes([byte]) + (self._turn() if self._write(bytes([byte])) else b"") for byte in data]
            written = b"".join(parts)
        return before + written + self._turn()

    def take(self, size: int | None = None) -> bytes:
        """Take the first `size` bytes of what came, or all."""
        taken = bytes(self._raw[:size])
        del self._raw[: len(taken)]
        self._gone += len(taken)
        self.messages = [one for one in self.messages if one[0] > self._gone]
        return taken

    def size_of(self, messages: int) -> int:
        """Return the bytes of the first so many messages of what came and was not taken."""
        return self.messages[messages - 1][0] - self._gone if messages else 0

    def take_messages(self, number: int | None = None) -> None:
        """Take the first so many messages of what came, or all."""
        self.take(self.size_of(len(self.messages) if number is None else number))

    def part(self, parting: Mapping[type[Request], Reply | None]) -> bytes:
        """Answer `parting` here from now on, and what came of it already; return what must be written at once."""
        self._parting = parting
        last = type(self.messages[-1][1]) if self.messages and self.is_whole else None
        if len(self.messages) == 1 and last in parting and parting[last] is None:  # type: ignore[index]
            self.take()
            self.parted = True
        elif len(self.messages) == 1 and last in parting and self._due:
            self.take()
            self._due[-1] = _Due(parting[last], parts=True)  # type: ignore[index]
            return self._turn()
        return b""

    def start_tls(self) -> bytes:
        """Go on inside TLS; return what came already and is the first of it. Raises `LocalProtocolError`."""
        self._dissection.start_tls()
        early = self.take()
        self._gone = self._dissection.of_client.read - self._left_out
        return early

    def _follow(self, sender: Role, data: bytes) -> int:
        """Follow what crosses; return how many replies it completed."""
        replies = 0
        for frame in self._dissection.feed(sender, data):
            if frame.sender is Role.CLIENT:
                self._accept(frame)
            elif not self.link.answers_in_order:
                if frame.request is not None and frame.request.message != self._ping:
                    self.replies.append(frame.message)  # type: ignore[arg-type]
                replies += frame.request is not None
            elif isinstance(frame.message, Reply) and self._due:
                replies += 1
                if self._due.popleft().request is not None:
                    self.replies.append(frame.message)
        return replies

    def _accept(self, frame: Frame) -> None:
        (start, end), message = frame.span, frame.message
        kind = cast(type[Request], type(message))
        due, is_last = _Due(self._parting.get(kind), parts=True), kind in self._parting
        if message == self._ping:
            self.pings += 1
            due = _Due(self._pong)
        is_blank = kind in self.link.blank
        self.pings += is_blank
        if due.reply is not None or is_last or is_blank:
            self.parted = self.parted or (is_last and due.reply is None)
            at = start - self._left_out - self._gone
            del self._raw[at : at + end - start]
            self._left_out += end - start
        else:
            self.messages.append((end - self._left_out, message))
        if not self.link.answers_in_order:
            self._due.extend([due] if self._answers and due.reply else [])
        elif self.link.transport == "stream" and self._is_answered(kind):
            self._due.append(due if self._answers and due.reply else _Due(request=None if due.reply else message))

    def _is_answered(self, request: type[Request]) -> bool:
        """Say whether a request gets a reply."""
        return request in self._parting or self._codec.profile.replies.get(request) != ()

    def _write(self, data: bytes) -> int:
        """Follow what is written on a stream; return how many replies it completed."""
        return 0 if self._blind or self.link.transport != "stream" else self._follow(Role.SERVER, data)

    def _turn(self) -> bytes:
        """Return the replies of ours whose turn it is."""
        written = b""
        while self._due and not self.holds and (self._due[0].reply or self._blind):
            due = self._due[0]
            if due.reply is None:
                self._due.popleft()
                continue
            data = bytes(self._codec.encode(due.reply))
            written += data
            self.parted = self.parted or due.parts
            if not self._write(data) or not self.link.answers_in_order:
                self._due.popleft()
        return written
