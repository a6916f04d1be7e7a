"""Both ends of a connection: the handshake, replies found by their ids, ends."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.protocols.tmqp.talking import CODEC, read, session
from wireproof.protocols import EndOfStream, LocalProtocolError, Message, RemoteProtocolError, Request, Role
from wireproof.protocols.dissect import Dissection
from wireproof.protocols.tmqp import PROTOCOL, Header, State, TmqpClient, TmqpServer
from wireproof.protocols.tmqp.connection import due_replies
from wireproof.protocols.tmqp.enums import FrameType
from wireproof.protocols.tmqp.replies import (
    Confirmation,
    Notification,
    Pong,
    ProtocolReply,
    QueueMessage,
    Response,
    Welcome,
)
from wireproof.protocols.tmqp.requests import Acknowledge, Custom, Hello, Join, Ping, Produce, Protocol, Pull


@pytest.mark.parametrize("cut", range(1, 8))
def test_the_protocol_may_come_in_pieces(cut: int) -> None:
    server = TmqpServer(CODEC)
    server.receive_data(b"TMQP/2.0"[:cut])
    assert read(server) == []
    server.receive_data(b"TMQP/2.0"[cut:])
    assert read(server) == [Protocol()]
    assert server.state is State.GREETED


@pytest.mark.parametrize(("data", "byte"), [(b"TMQP/3.0", 5), (b"GET / HT", 0), (b"TMQ/1.02", 7), (b"TMQP/1", 5)])
@pytest.mark.parametrize("size", [1, 3, 8])
def test_another_protocol_is_refused_at_the_byte_that_differs(data: bytes, byte: int, size: int) -> None:
    server = TmqpServer(CODEC)
    for at in range(0, len(data), size):
        server.receive_data(data[at : at + size])
        if at + size <= byte:
            assert read(server) == []

    with pytest.raises(RemoteProtocolError, match=r"expected TMQP/2\.0") as error:
        server.next_event()

    assert error.value.offset == byte
    assert error.value.message.endswith(f"got {data[: byte + 1].hex(' ')}")
    assert server.state is State.FAILED


def test_the_old_version_is_read() -> None:
    server = TmqpServer(CODEC)
    server.receive_data(b"TMQ/1.01")

    assert read(server) == [Protocol(b"TMQ/1.01")]


def test_the_first_frame_may_be_any() -> None:
    server = TmqpServer(CODEC)
    server.receive_data(b"TMQP/2.0" + CODEC.encode(Join(target=b"c"))[:5])
    assert read(server) == [Protocol()]
    server.receive_data(CODEC.encode(Join(target=b"c"))[5:])
    assert read(server) == [Join(target=b"c")]
    assert server.state is State.OPEN


def test_what_a_server_says_before_it_is_asked() -> None:
    client = TmqpClient(CODEC)
    client.receive_data(b"T")
    with pytest.raises(RemoteProtocolError, match="got 54 before the client"):
        client.next_event()
    client, _ = session()
    client.receive_data(CODEC.encode(Pong()))
    with pytest.raises(RemoteProtocolError, match="nothing was pinged"):
        client.next_event()


def test_replies_are_found_by_their_ids() -> None:
    client, server = session()
    first, second = Join(pending_response=1, id=b"1", target=b"c"), Join(pending_response=1, id=b"2", target=b"c")
    ping = Ping()
    assert client.settled
    for one in (first, second, ping):
        client.send(one)
    steps: list[tuple[Message, Request | None]] = [
        (Response(id=b"2"), second),
        (Notification(), None),
        (Response(id=b"3"), None),
        (Pong(), ping),
        (Response(id=b"1"), first),
        (Response(id=b"1"), None),
        (Welcome(), None),
    ]
    for reply, request in steps:
        client.receive_data(server.send(reply))
        assert read(client) == [reply]
        assert client.answered is request
    assert client.pending == ()


def test_what_a_request_waits_for() -> None:
    flags = {"pending_response": 1, "pending_ack": 1, "id": b"1"}
    assert due_replies(Produce(**flags)) == (Response, Confirmation)
    assert due_replies(Produce(pending_ack=1)) == due_replies(Acknowledge(**flags)) == due_replies(Request()) == ()
    assert due_replies(Pull(id=b"1")) == (QueueMessage,)


@pytest.mark.parametrize(
    ("request_sent", "replies", "left"),
    [
        (Produce(pending_response=1, pending_ack=1, id=b"1"), [Response(id=b"1")], 1),
        (Produce(pending_response=1, pending_ack=1, id=b"1"), [Response(id=b"1"), Confirmation(id=b"1")], 0),
        (Produce(pending_ack=1, id=b"1"), [Response(id=b"1")], 0),
        (Produce(pending_response=1, id=b"1"), [Confirmation(id=b"1")], 1),
        (Pull(id=b"1"), [QueueMessage(id=b"2"), QueueMessage(id=b"1")], 0),
        (Pull(id=b"1"), [Response(id=b"1")], 0),
        (Ping(), [Response()], 1),
    ],
)
def test_what_ends_the_waiting(request_sent: Request, replies: list[Message], left: int) -> None:
    client, server = session()
    client.send(request_sent)
    for reply in replies:
        client.receive_data(server.send(reply))
    read(client)

    assert len(client.pending) == left
    client.receive_data(b"")
    assert read(client) == [EndOfStream(left)]
    assert client.state is State.CLOSED


def test_ends() -> None:
    client, server = session()
    client.end_requests()
    with pytest.raises(LocalProtocolError, match="allows no frame"):
        client.send(Ping())
    server.receive_data(b"")
    assert read(server) == [EndOfStream(0)]
    assert server.state is State.ENDING
    server.end_replies()
    assert read(server) == []
    with pytest.raises(LocalProtocolError, match="after the end"):
        server.send(Pong())


def test_tls_begins_before_anything_else() -> None:
    server = TmqpServer(CODEC)
    server.receive_data(b"\x16\x03")
    assert server.start_tls() == b"\x16\x03"
    server.receive_data(b"TMQP/2.0")
    assert read(server) == [Protocol()]
    with pytest.raises(LocalProtocolError, match="allows no secured"):
        server.start_tls()


def test_a_dissection_pairs_replies_that_come_out_of_order() -> None:
    dissection = Dissection(PROTOCOL.link, CODEC)
    first, second = Join(pending_response=1, id=b"1"), Join(pending_response=1, id=b"2")
    sent = [Protocol(), Hello(), first, second]
    dissection.feed(Role.CLIENT, b"".join(map(CODEC.encode, sent)))
    replies = [ProtocolReply(), Welcome(), Response(id=b"2"), Response(id=b"9"), Response(id=b"1")]

    dissection.feed(Role.SERVER, b"".join(map(CODEC.encode, replies)))

    pairs = [(request.message, reply.message) for request, reply in dissection.pairs]
    assert [(getattr(one, "id", b""), getattr(two, "id", b"")) for one, two in pairs][2:] == [
        (b"2", b"2"),
        (b"1", b"1"),
    ]
    assert dissection.of_server.error is None
    assert dissection.is_paired


def test_headers_in_another_order_say_the_same() -> None:
    rows = (Header(b"b", b"1"), Header(b"A", b"2"))
    canonical = PROTOCOL.sdk.canonical

    assert canonical(Produce(headers=rows)) == canonical(Produce(headers=rows[::-1]))
    assert canonical(Ping()) == Ping()
    assert PROTOCOL.link.noop(b"x") == (Ping(), Pong())
    assert replace(Produce(), ttl=3) != Produce()


def test_a_ping_that_cannot_be_read_is_at_the_same_byte_however_it_is_cut() -> None:
    stream = bytes.fromhex("544d51502f322e30 1010000000650000 4a80000000000000 ca000000000000ffffffffffffffffff")

    def all_read(pieces: list[bytes]) -> None:
        server = TmqpServer(CODEC, max_frame=1024)
        for piece in pieces:
            server.receive_data(piece)
            read(server)

    with pytest.raises(RemoteProtocolError) as whole:
        all_read([stream])
    with pytest.raises(RemoteProtocolError) as cut:
        all_read([stream[at : at + 1] for at in range(len(stream))])
    assert whole.value.offset == cut.value.offset == 24


def test_a_frame_of_the_type_of_a_ping_is_answered_as_one() -> None:
    assert due_replies(Custom(type=FrameType.PING)) == (Pong,)
    assert due_replies(Custom(type=FrameType.PING - 1)) == ()
