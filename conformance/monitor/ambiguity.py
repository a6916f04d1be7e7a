"""A client's reader of a stream that can go back, to see whether the stream can be read in another way.

Where a protocol lets a byte begin a reply as well as a push, the codec takes the reply. That the rest cannot be read
proves nothing, unless the push leads nowhere either.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator

from wireproof.protocols import Message, Push, RemoteProtocolError, Request
from wireproof.protocols.connection import Event, ReplyReader

ATTEMPTS = 200
"""Readings tried before a stream counts as one that can be read: who cannot be proved guilty is not."""


class BacktrackingReader:
    """A `ReplyReader` that remembers where else a push could have begun; `make` gives readers for other readings."""

    def __init__(self, make: Callable[[], ReplyReader], attempts: Iterator[int] | None = None) -> None:
        self._make = make
        self._client = make()
        self._attempts = attempts
        self._stream = bytearray()
        self._due: deque[Request] = deque()
        self._doubts: dict[int, list[Request]] = {}
        """Offset of a frame that may be a push -> the requests that await their replies then."""
        self._noted: int | None = None
        """The last of these offsets."""
        self._ended = False

    @property
    def span(self) -> tuple[int, int]:
        """See `Connection.span`."""
        return self._client.span

    @property
    def received(self) -> int:
        """See `Connection.received`."""
        return self._client.received

    @property
    def buffered(self) -> int:
        """See `Connection.buffered`."""
        return self._client.buffered

    @property
    def settled(self) -> bool:
        """See `Connection.settled`."""
        return self._client.settled

    @property
    def answered(self) -> Request | None:
        """See `ReplyReader.answered`."""
        return self._client.answered

    @property
    def ambiguous_at(self) -> int | None:
        """See `ReplyReader.ambiguous_at`."""
        return self._client.ambiguous_at

    @property
    def pending(self) -> tuple[Request, ...]:
        """See `ReplyReader.pending`."""
        return self._client.pending

    def start_tls(self) -> bytes:
        """See `Connection.start_tls`."""
        early = self._client.start_tls()
        del self._stream[len(self._stream) - len(early) :]
        return early

    def await_reply(self, request: Request) -> None:
        """Note a request that was sent."""
        self._client.await_reply(request)
        self._due.append(request)
        for due in self._doubts.values():
            due.append(request)

    def receive_data(self, data: bytes) -> None:
        """See `Connection.receive_data`."""
        self._ended = not data
        self._stream += data
        self._client.receive_data(data)

    def bytes_of(self, span: tuple[int, int]) -> bytes:
        """Return what came there."""
        return bytes(self._stream[slice(*span)])

    def next_event(self) -> Event:
        """See `Connection.next_event`; raises `RemoteProtocolError`."""
        try:
            event = self._client.next_event()
        finally:
            at = self._client.ambiguous_at
            if at is not None and at != self._noted:
                self._noted, self._doubts[at] = at, list(self._due)
        if isinstance(event, Message) and not isinstance(event, Push):
            while self._due and self._due.popleft() is not self._client.answered:
                pass
        return event

    def settle(self, offset: int) -> None:
        """Take what was read there as the reply that it was read as: it is known to be no push."""
        self._doubts.pop(offset, None)

    def can_be_read(self) -> bool:
        """Say whether all that came can be read in one way or another."""
        try:
            while isinstance(self.next_event(), Message):
                pass
        except RemoteProtocolError:
            return self.can_be_read_otherwise()
        return True

    def can_be_read_otherwise(self) -> bool:
        """Say whether it can if a frame is the push that it may be."""
        attempts = self._attempts or iter(range(ATTEMPTS))
        return any(self._as_push(at, due, attempts) for at, due in reversed(self._doubts.items()))

    def _as_push(self, at: int, due: Iterable[Request], attempts: Iterator[int]) -> bool:
        if next(attempts, None) is None:
            return True
        data, reader = bytes(self._stream[at:]), self._make()
        reader.receive_data(data)
        try:
            if not isinstance(reader.next_event(), Message):
                return not self._ended
        except RemoteProtocolError:
            return False
        rest = BacktrackingReader(self._make, attempts)
        for request in due:
            rest.await_reply(request)
        following = data[reader.span[1] :]
        if following:
            rest.receive_data(following)
        if self._ended:
            rest.receive_data(b"")
        return rest.can_be_read()
