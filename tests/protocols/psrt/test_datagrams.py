"""Datagrams: each is whole or broken by itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.protocols.psrt.talking import CODEC
from wireproof.fuzz.strategies import messages
from wireproof.protocols import NEED_DATA, EndOfStream, LocalProtocolError, Message, RemoteProtocolError
from wireproof.protocols.errors import MalformedFrameError
from wireproof.protocols.psrt import DatagramClient, DatagramServer, UnfinishedTopicError
from wireproof.protocols.psrt.replies import DatagramReply, Response
from wireproof.protocols.psrt.requests import Content, Datagram, Greeting, Sealed

HEAD = bytes.fromhex("eeaa010000")
UNANSWERED = {
    "nothing": (b"", "unknown_type"),
    "four bytes": (HEAD[:4], "unknown_type"),
    "another header": (b"\xee\xab" + HEAD[2:], "unknown_type"),
    "another version": (b"\xee\xaa\x02\x00\x00\0\0\x01\x7ft\0", "bad_value"),
    "a reserved encryption": (b"\xee\xaa\x01\x00\x01\0\0\x01\x7ft\0", "bad_value"),
    "one 00": (HEAD + b"user1\0secret", "truncated"),
    "no operation": (HEAD + b"\0\0", "truncated"),
    "no priority": (HEAD + b"\0\0\x01", "truncated"),
    "a short nonce": (b"\xee\xaa\x01\x00\x03user1\0" + bytes(11), "truncated"),
}


@pytest.mark.parametrize("name", UNANSWERED)
def test_a_datagram_that_nobody_answers(name: str) -> None:
    data, code = UNANSWERED[name]
    with pytest.raises(MalformedFrameError) as caught:
        CODEC.decode_datagram(data)
    assert caught.value.code == code
    assert not isinstance(caught.value, UnfinishedTopicError)


def test_a_topic_without_end_names_who_asked_for_what() -> None:
    with pytest.raises(UnfinishedTopicError) as caught:
        CODEC.decode_datagram(HEAD + b"user1\0secret\0\x01\x7ftopic")
    assert (caught.value.op, caught.value.login, caught.value.password) == (1, b"user1", b"secret")
    with pytest.raises(UnfinishedTopicError) as caught:
        CODEC.decode_content(b"\x21\x7ftopic")
    assert caught.value.op == 0x21
    with pytest.raises(MalformedFrameError, match=r"CONTENT.op: expected 1 bytes, got 0"):
        CODEC.decode_content(b"")


@given(messages(CODEC, Datagram).map(lambda one: Datagram(1, 0, *list(map(one.__getattribute__, FIELDS)))))
def test_a_datagram_is_read_as_written(message: Message) -> None:
    client, server = DatagramClient(CODEC), DatagramServer(CODEC)
    server.receive_data(client.send(message))

    assert server.next_event() == message
    assert server.next_event() is NEED_DATA


FIELDS = ("login", "password", "op", "priority", "topic", "message")


@given(st.binary(max_size=60))
def test_any_bytes_are_a_datagram_or_a_named_error(data: bytes) -> None:
    server, offset = DatagramServer(CODEC), None
    server.receive_data(HEAD + data)
    try:
        event = server.next_event()
    except RemoteProtocolError as error:
        event, offset = None, error.offset

    assert isinstance(event, Datagram) if offset is None else 0 <= offset <= len(HEAD + data)


def test_a_broken_datagram_leaves_the_next_one_good() -> None:
    client = DatagramClient(CODEC)
    asked = Datagram(1, 0, b"", b"", 1, 1, b"t", b"")
    silent = Datagram(1, 0, b"", b"", 0x21, 1, b"t", b"")
    sealed = Sealed(1, 3, b"", bytes(12), bytes(16))
    for one in (asked, silent, sealed):
        client.send(one)
    assert client.pending == (asked, sealed)
    for data in (b"\xee\xaa\x01\x00", b"\xee\xaa\x01\x00\x01\x01", b"\xee\xaa\x01\x00\xfe"):
        client.receive_data(data)
    assert client.buffered == 15
    for code in ("truncated", "lying_length"):
        with pytest.raises(RemoteProtocolError, match=f"^{code}"):
            client.next_event()
    assert client.next_event() == DatagramReply(1, 0xFE)
    assert (client.answered, client.span, client.received) == (asked, (10, 15), 15)
    client.receive_data(b"\xee\xaa\x01\x00\x01")
    client.receive_data(b"\xee\xaa\x01\x00\x01")
    assert client.next_event() == client.next_event()
    assert client.answered is None
    client.end_requests()
    client.receive_data(b"")
    assert client.next_event() == EndOfStream(0)
    assert client.next_event() is NEED_DATA
    with pytest.raises(LocalProtocolError, match="after the end"):
        client.receive_data(b"x")


def test_sides_send_what_is_theirs() -> None:
    client, server = DatagramClient(CODEC), DatagramServer(CODEC)
    assert not client.settled
    assert server.send(DatagramReply(1, 1)) == b"\xee\xaa\x01\x00\x01"
    with pytest.raises(LocalProtocolError):
        client.send(Greeting(0))
    with pytest.raises(LocalProtocolError):
        server.send(Response(1))
    with pytest.raises(LocalProtocolError, match="expected bytes"):
        server.receive_data("text")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "message",
    [Content(256, 1, b"", b""), Content(1, 1, b"a\0", b""), Content(1, 1, b"", None), Sealed(1, 2, b"", b"", b"")],
)
def test_what_no_layout_carries_is_not_written(message: Message) -> None:
    with pytest.raises(LocalProtocolError, match="bad_value"):
        CODEC.encode(message)
