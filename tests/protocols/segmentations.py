"""One stream, delivered every way a network may cut it: the same events, spans and error each time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from wireproof.protocols import NEED_DATA, Connection, EndOfStream, Message, RemoteProtocolError
from wireproof.protocols.connection import Event
from wireproof.protocols.throttr import ClientConnection, Codec, ServerConnection

Make = Callable[[], Connection]
SPLITS = 400
"""Every offset is a split up to this length; longer streams are split at as many, evenly."""


@dataclass(frozen=True)
class Outcome:
    """What a connection made of a stream."""

    events: tuple[tuple[Event, tuple[int, int]], ...]
    error: tuple[str, str, int | None] | None

    @property
    def messages(self) -> list[Message]:
        """The messages among the events."""
        return [event for event, _ in self.events if isinstance(event, Message)]


def drain(connection: Connection) -> list[tuple[Event, tuple[int, int]]]:
    """Return the events that are there, each with its span."""
    found: list[tuple[Event, tuple[int, int]]] = []
    while (event := connection.next_event()) is not NEED_DATA:
        found.append((event, connection.span))
    return found


def deliver(connection: Connection, chunks: Iterable[bytes], *, end: bool = True) -> Outcome:
    """Feed the chunks and the end of the stream, reading events after each."""
    events: list[tuple[Event, tuple[int, int]]] = []
    segments = [chunk for chunk in chunks if chunk] + [b""] * end
    try:
        for chunk in segments:
            connection.receive_data(chunk)
            while (event := connection.next_event()) is not NEED_DATA:
                events.append((event, connection.span))
    except RemoteProtocolError as error:
        return Outcome(tuple(events), (error.code, error.message, error.offset))
    return Outcome(tuple(events), None)


def in_batches(connection: ServerConnection, chunks: Iterable[bytes]) -> Outcome:
    """As `deliver`, but through `next_requests`; spans are left out."""
    events: list[tuple[Event, tuple[int, int]]] = []
    try:
        for chunk in [*filter(None, chunks), b""]:
            connection.receive_data(chunk)
            events += [(request, (0, 0)) for request in connection.next_requests()]
            events += [(event, (0, 0)) for event, _ in drain(connection)]
    except RemoteProtocolError as error:
        return Outcome(tuple(events), (error.code, error.message, error.offset))
    return Outcome(tuple(events), None)


def every_delivery(make: Make, stream: bytes, *, trailing: bytes = b"\xff\x00\x01") -> Outcome:
    """Deliver `stream` whole, byte by byte, split at each offset and with trailing bytes; return the one outcome."""
    whole = deliver(make(), [stream])
    assert deliver(make(), [bytes([byte]) for byte in stream]) == whole
    for at in range(1, len(stream), len(stream) // SPLITS + 1):
        assert deliver(make(), [stream[:at], stream[at:]]) == whole
    followed = deliver(make(), [stream + trailing], end=False)
    read = tuple(one for one in whole.events if not isinstance(one[0], EndOfStream))
    assert followed.events[: len(read)] == read
    if isinstance(make(), ServerConnection):
        middle = len(stream) // 2
        for chunks in ([stream], [stream[:middle], stream[middle:]], [bytes([byte]) for byte in stream]):
            other = in_batches(make(), chunks)
            assert other.messages == whole.messages
            assert other.error == whole.error
    return whole


def client_waiting(codec: Codec, *requests: Message, max_frame: int = 1 << 26) -> Make:
    """Return a maker of clients that have sent `requests`."""

    def make() -> ClientConnection:
        client = ClientConnection(codec, max_frame=max_frame)
        for request in requests:
            client.send(request)
        return client

    return make


def server(codec: Codec, *, max_frame: int = 1 << 26) -> Make:
    """Return a maker of servers."""
    return lambda: ServerConnection(codec, max_frame=max_frame)
