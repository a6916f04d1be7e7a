"""Control and data sockets: what may be said when, what is refused, and where one grammar hands over to another."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.protocols.psrt.talking import CODEC, SESSION, TOKEN, data_session, exchange, read, session
from wireproof.fuzz.strategies import chunked, messages
from wireproof.protocols import NEED_DATA, EndOfStream, LocalProtocolError, Message, RemoteProtocolError, Role
from wireproof.protocols.psrt import ControlClient, ControlServer, DataClient, DataServer
from wireproof.protocols.psrt.replies import Beacon, GreetingReply, PushedMessage, Response, Token
from wireproof.protocols.psrt.requests import (
    Attach,
    Bye,
    Datagram,
    DataGreeting,
    Greeting,
    Login,
    Nop,
    Publish,
    PublishRepl,
    ReplData,
    Subscribe,
    Unsubscribe,
)
from wireproof.protocols.psrt.states import CONTROL_TABLE, DATA_TABLE, Move, State
from wireproof.protocols.states import StateMachine

OPERATIONS = (Nop, Publish, Subscribe, Unsubscribe)
TABLES = {"control": CONTROL_TABLE, "data": DATA_TABLE}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("move", Move)
def test_a_cell_is_followed_or_refused(table: str, state: State, move: Move) -> None:
    machine = StateMachine(TABLES[table], Role.CLIENT, state)
    following = TABLES[table].get((Role.CLIENT, state), {}).get(move)

    if following is None:
        with pytest.raises(LocalProtocolError, match=r"^illegal_state"):
            machine.move(move)
    else:
        machine.move(move)
        assert machine.state is following


@given(st.data())
def test_a_session_is_read_the_same_in_every_segmentation(data: st.DataObject) -> None:
    asked = [request for request, _ in SESSION]
    kinds = st.sampled_from(OPERATIONS).flatmap(lambda kind: messages(CODEC, kind))
    asked += data.draw(st.lists(kinds, max_size=4))
    client, server = ControlClient(CODEC), ControlServer(CODEC)
    found: list[object] = []
    for chunk in data.draw(chunked(b"".join(map(client.send, asked)))):
        server.receive_data(chunk)
        found += read(server)

    assert found == asked
    assert client.pending == server.pending == tuple(asked)
    answers: list[Message] = [reply for _, reply in SESSION]
    answers += [Response(data.draw(st.sampled_from([1, 0xFE, 0xFF]))) for _ in asked[2:]]
    received: list[object] = []
    for chunk in data.draw(chunked(b"".join(map(server.send, answers)))):
        client.receive_data(chunk)
        received += read(client)
    assert received == answers


@given(st.data())
def test_pushes_are_read_the_same_in_every_segmentation(data: st.DataObject) -> None:
    client, server = data_session()
    pushes = data.draw(st.lists(messages(CODEC, PushedMessage) | st.just(Beacon()), max_size=5))
    received: list[object] = []
    for chunk in data.draw(chunked(b"".join(map(server.send, pushes)))):
        client.receive_data(chunk)
        received += read(client)

    assert received == pushes


def test_the_answer_decides_what_follows_a_replication() -> None:
    client, server = session()
    ask, more = PublishRepl(b"t"), ReplData(0x7F, 1, b"m")
    server.receive_data(client.send(ask) + CODEC.encode(more))
    assert read(server) == [ask]
    assert not client.settled
    with pytest.raises(LocalProtocolError, match="before the PUBLISH_REPL ahead of it is answered"):
        client.send(Nop())

    client.receive_data(server.send(Response(2)))
    assert read(client) == [Response(2)]
    assert read(server) == [more]
    assert client.send(more) == CODEC.encode(more)
    client.receive_data(server.send(Response(1)))
    assert read(client) == [Response(1)]
    assert client.settled


def test_a_replication_that_is_not_required_leaves_the_session_as_it_was() -> None:
    client, server = session()
    exchange(client, server, PublishRepl(b"t"), Response(0xE0))
    exchange(client, server, Nop(), Response(1))

    assert client.answered == Nop()


def test_the_stream_is_handed_to_tls_and_back() -> None:
    client, server = ControlClient(CODEC), ControlServer(CODEC)
    server.receive_data(client.send(Greeting(1)) + b"\x16\x03\x01")
    assert read(server) == [Greeting(1)]
    server.receive_data(b"\x00")
    assert server.start_tls() == b"\x16\x03\x01\x00"
    assert client.start_tls() == b""
    client.receive_data(server.send(GreetingReply(1)))
    assert read(client) == [GreetingReply(1)]
    exchange(client, server, Login(b"", b""), Token(TOKEN))


@pytest.mark.parametrize(("make", "greeting"), [(ControlClient, Greeting), (DataClient, DataGreeting)])
def test_nothing_is_read_in_clear_where_tls_is_due(make: type[ControlClient], greeting: type[Greeting]) -> None:
    client = make(CODEC)
    client.send(greeting(1))
    client.receive_data(b"\xee\xaa\x01\x00")

    with pytest.raises(RemoteProtocolError, match="in clear where TLS is due"):
        client.next_event()


REFUSED = {
    "another header": (b"\xee\xab\x00", "unknown_type", 1),
    "no header": (b"\x00", "unknown_type", 0),
    "another mode": (b"\xee\xaa\x02", "bad_value", 2),
    "a login without 00": (b"\xee\xaa\x00" + b"\x02\0\0\0ab", "bad_value", 7),
    "an empty login": (b"\xee\xaa\x00" + bytes(4), "bad_value", 7),
    "a long login": (b"\xee\xaa\x00" + b"\x01\x04\0\0", "frame_too_large", 3),
    "an unknown operation": (b"\xee\xaa\x00\x01\0\0\0\0\x04", "unknown_type", 8),
    "a stream that ends early": (b"\xee\xaa\x00\x01\0", "truncated", 3),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_server_refuses(name: str) -> None:
    data, code, offset = REFUSED[name]
    server = ControlServer(CODEC)
    server.receive_data(data)
    server.receive_data(b"")

    with pytest.raises(RemoteProtocolError) as caught:
        read(server)
    assert (caught.value.code, caught.value.offset) == (code, offset)


@pytest.mark.parametrize("chunks", [[b"\xee\xee"], [b"\xee", b"\xee"]])
def test_a_wrong_header_is_refused_at_its_first_wrong_byte(chunks: list[bytes]) -> None:
    server = ControlServer(CODEC)
    for chunk in chunks[:-1]:
        server.receive_data(chunk)
        assert server.next_event() is NEED_DATA
    server.receive_data(chunks[-1])

    with pytest.raises(RemoteProtocolError, match=r"^unknown_type at byte 1: expected ee aa, got ee ee"):
        server.next_event()


def test_a_limit_is_held_on_the_head_alone() -> None:
    client = ControlClient(CODEC)
    server = ControlServer(CODEC, limits={Publish: 4, Subscribe: 3})
    for request, reply in SESSION:
        exchange(client, server, request, reply)
    exchange(client, server, Publish(1, b"ab", b"c"), Response(1))
    exchange(client, server, Subscribe(b"abc"), Response(1))
    server.receive_data(b"\x02\x04\0\0\0")

    with pytest.raises(RemoteProtocolError, match="frame_too_large"):
        server.next_event()


def test_after_bye_nothing_is_read() -> None:
    client, server = session()
    server.receive_data(client.send(Bye()) + b"\x77\x77")
    assert read(server) == [Bye()]
    with pytest.raises(LocalProtocolError, match="illegal_state"):
        client.send(Nop())
    server.receive_data(b"")
    assert read(server) == [EndOfStream(1)]
    client.receive_data(server.send(Response(1)))
    server.end_replies()
    client.receive_data(b"")
    assert read(client) == [Response(1), EndOfStream(0)]
    assert server.state is State.CLOSED


def test_the_end_of_requests_leaves_replies_due() -> None:
    client, server = session()
    server.receive_data(client.send(Nop()))
    client.end_requests()
    server.receive_data(b"")
    assert read(server) == [Nop(), EndOfStream(1)]
    client.receive_data(server.send(Response(1)))
    assert read(client) == [Response(1)]


@pytest.mark.parametrize("code", [0x00, 0x03, 0x7F, 0xFD])
def test_a_response_outside_the_document_is_refused(code: int) -> None:
    client, _ = session()
    client.send(Nop())
    client.receive_data(bytes([code]))

    with pytest.raises(RemoteProtocolError, match=rf"bad_status.*expected a response code.*got {code:02x}"):
        client.next_event()


def test_a_reply_that_nothing_asked_for_is_refused() -> None:
    client, _ = session()
    client.receive_data(b"\x01")

    with pytest.raises(RemoteProtocolError, match="no request is waiting"):
        client.next_event()


def test_a_push_that_is_none_is_refused() -> None:
    client, _ = data_session()
    client.receive_data(b"\x02")

    with pytest.raises(RemoteProtocolError, match="expected a push"):
        client.next_event()


@pytest.mark.parametrize("greeted", [False, True])
def test_a_push_before_the_token_is_answered_is_refused(greeted: bool) -> None:
    client = DataClient(CODEC)
    if greeted:
        client.send(DataGreeting(0))
        client.receive_data(b"\xee\xab\x01\x00")
        assert isinstance(client.next_event(), Message)
    client.receive_data(b"\x00")

    with pytest.raises(RemoteProtocolError, match=r"^unexpected_message at byte"):
        client.next_event()


def test_a_data_socket_is_not_read_after_its_token() -> None:
    client, server = data_session()
    server.receive_data(b"\x77" * 100)
    assert server.next_event() is NEED_DATA
    assert server.buffered == 0
    assert not client.settled


def test_sides_send_what_is_theirs() -> None:
    client, server = session()
    for wrong in (Response(1), Datagram(2, 0, b"", b"", 1, 1, b"", b"")):
        with pytest.raises(LocalProtocolError):
            client.send(wrong)
    with pytest.raises(LocalProtocolError, match="Response where no reply is due"):
        server.send(Response(1))
    server.receive_data(client.send(Nop()))
    server.next_event()
    with pytest.raises(LocalProtocolError, match="Token where a reply to NOP is due"):
        server.send(Token(TOKEN))
    with pytest.raises(LocalProtocolError, match="has no request"):
        client.await_reply(Response(1))  # type: ignore[arg-type]
    with pytest.raises(LocalProtocolError, match="has no message"):
        CODEC.encode(EndOfStream(0))  # type: ignore[arg-type]


def test_a_data_server_pushes_only_once_attached() -> None:
    server = DataServer(CODEC)
    with pytest.raises(LocalProtocolError, match="illegal_state"):
        server.send(Beacon())
    server.receive_data(b"\xee\xab\x00" + TOKEN + b"\x05")
    assert read(server) == [DataGreeting(0), Attach(TOKEN, 5)]
    with pytest.raises(LocalProtocolError, match="Beacon where a reply to DATA_GREETING is due"):
        server.send(Beacon())


@pytest.mark.parametrize(
    "message", [Login(b"a\0b", b""), Publish(1, b"a\0", b""), Publish(256, b"a", b""), Publish(1, b"a", "m")]
)
def test_what_no_layout_carries_is_not_written(message: Message) -> None:
    with pytest.raises(LocalProtocolError, match="bad_value"):
        CODEC.encode(message)
