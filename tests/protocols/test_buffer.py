"""The buffer opens what was gathered once it is as much as was wanted, and keeps count of the stream."""

from __future__ import annotations

from wireproof.protocols import NEED_DATA
from wireproof.protocols.buffer import Buffer
from wireproof.protocols.throttr import V732, Codec
from wireproof.protocols.throttr.connection import ServerConnection
from wireproof.protocols.throttr.requests import Set


def test_a_chunk_is_decoded_where_it_lies() -> None:
    buffer, chunk = Buffer(), b"abc"
    buffer.feed(chunk)

    assert buffer.data is chunk
    assert (buffer.at, buffer.end, len(buffer)) == (0, 3, 3)


def test_what_is_wanted_is_opened_when_it_is_there() -> None:
    buffer = Buffer()
    buffer.feed(b"xxab")
    buffer.at = 2
    buffer.want(5)
    buffer.feed(b"cd")

    assert not buffer.refill()
    assert (len(buffer), buffer.offset) == (4, 2)
    buffer.feed(b"ef")
    assert buffer.refill()
    assert buffer.data[buffer.at : buffer.end] == b"abcdef"
    assert buffer.offset == 2


def test_chunks_that_come_early_wait_after_what_is_unread() -> None:
    buffer = Buffer()
    buffer.feed(b"ab")
    buffer.at = 1
    buffer.feed(b"cd")
    buffer.want(2)

    assert buffer.refill()
    assert buffer.data == b"bcd"
    assert buffer.offset == 1


def test_what_was_wanted_once_does_not_hold_back_what_comes_later() -> None:
    buffer = Buffer()
    buffer.feed(b"a")
    buffer.want(3)
    buffer.feed(b"bc")
    assert buffer.refill()
    buffer.feed(b"d")
    buffer.at = buffer.end

    assert buffer.refill()
    assert (buffer.data, buffer.offset) == (b"d", 3)


def test_nothing_is_opened_where_nothing_is() -> None:
    assert not Buffer().refill()


def test_what_is_dropped_is_not_kept() -> None:
    buffer = Buffer()
    buffer.feed(b"ab")
    buffer.feed(b"cd")
    buffer.drop()

    assert len(buffer) == 0


def test_a_connection_keeps_nothing_of_a_large_frame_that_was_read() -> None:
    codec = Codec.of(V732, "uint32")
    connection = ServerConnection(codec)
    connection.receive_data(codec.encode(Set(4, 30, b"k", bytes(100_000))))

    assert isinstance(connection.next_event(), Set)
    assert connection.next_event() is NEED_DATA
    assert (connection._buffer.data, connection.received) == (b"", len(codec.encode(Set(4, 30, b"k", bytes(100_000)))))
