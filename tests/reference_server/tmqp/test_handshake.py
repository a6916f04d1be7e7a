"""How connections begin and end: eight bytes, hello, who is refused, pings, what closes a connection."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reference_server.tmqp.simulated import WAITS, Server, hello, produce, rows
from wireproof.protocols.tmqp.bodies import ClientList
from wireproof.protocols.tmqp.replies import Pong, ProtocolReply, ServerPing
from wireproof.protocols.tmqp.requests import (
    AnswerPing,
    Custom,
    Hello,
    Join,
    ListClients,
    Ping,
    Protocol,
    SendDirect,
    Terminate,
)

WELCOME = 202


def test_the_document_answers_the_eight_bytes_at_once(document: Server) -> None:
    line = document.line()

    assert line.send(Protocol()) == [ProtocolReply()]
    assert line.codes(hello("me")) == [("WELCOME", WELCOME)]


def test_a_release_answers_with_the_first_frame(released: Server) -> None:
    line = released.line()

    assert line.send(Protocol()) == []
    assert line.codes(hello("me")) == [("PROTOCOL_REPLY", -1), ("WELCOME", WELCOME)]


def test_in_one_segment(server: Server) -> None:
    welcome = server.line().send(Protocol(), hello("me", "bob", "worker"))[1]

    assert (welcome.target, welcome.one_delivery, welcome.source) == (b"me", 1, b"")  # type: ignore[attr-defined]


def test_a_client_without_id_gets_one(server: Server) -> None:
    welcome = server.line().send(Protocol(), hello())[1]

    assert len(welcome.target) == 32  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "text", [b"/ CONNECT\nclient-id: me\n", b"tmq://host CONNECT\r\nCLIENT-ID:me \r\nnothing\r\n", b"Client-Id:me"]
)
def test_the_text_of_a_hello(server: Server, text: bytes) -> None:
    welcome = server.line().send(Protocol(), Hello(payload=text))[1]

    assert welcome.target == b"me"  # type: ignore[attr-defined]


def test_another_version_closes(server: Server) -> None:
    line = server.line()
    line.write(b"TMQP/3.0")

    assert line.closed
    assert not line.raw


def test_the_old_version(document: Server, released: Server) -> None:
    for server, answered in ((document, b""), (released, b"TMQ/1.01")):
        line = server.line()
        line.codec.await_reply(Protocol())
        line.write(b"TMQ/1.01" + server.codec.encode(hello("me")))
        assert bytes(line.raw[:8]) == answered
        assert line.closed == (not answered)


def test_a_taken_id(document: Server, released: Server) -> None:
    document.client("me")
    line = document.line()
    assert line.codes(Protocol(), hello(" me")) == [("PROTOCOL_REPLY", -1), ("WELCOME", 503)]
    assert line.closed
    released.client("me")
    line = released.line()
    assert line.codes(Protocol(), hello("me")) == [("PROTOCOL_REPLY", -1)]
    assert line.closed


def test_a_release_does_not_notice_a_taken_id_after_a_space(released: Server) -> None:
    first, second = released.client("me"), released.client(" me")
    first.session.eof_received()
    assert second.send(SendDirect(id=b"1", target=b"me")) != []
    second.session.eof_received()
    assert not released.service.state.clients


def test_of_clients_of_a_release_with_one_id_the_oldest_gets_what_is_sent_to_it(released: Server) -> None:
    other, first, second = released.client("other"), released.client("me", "a"), released.client(" me", "b")
    released.channel(first)
    released.join(first)
    (listed,) = other.send(ListClients(id=b"l", **WAITS))
    names = [row.Name for row in released.codec.decode(ClientList, listed.payload).rows]  # type: ignore[attr-defined]
    assert names == [b"", b"a", b"b"]
    assert other.send(SendDirect(id=b"1", target=b"me")) == []
    assert (len(first.take()), second.take()) == (1, [])
    assert second.codes(Join(id=b"j", target=b"ch", **WAITS)) == [("RESPONSE", 0)]
    assert len(released.service.state.channels[b"ch"].members) == 1
    second.session.eof_received()
    other.send(SendDirect(id=b"2", target=b"me"))
    assert len(first.take()) == 1


def test_repeated_properties_and_empty_hellos(document: Server, released: Server) -> None:
    repeated = Hello(payload=b"Client-Id:a\r\nclient-id:b\r\n")
    assert document.line().send(Protocol(), repeated)[1].target == b"a"  # type: ignore[attr-defined]
    assert document.line().codes(Protocol(), Hello())[1:] == [("WELCOME", WELCOME)]
    for request in (repeated, Hello()):
        line = released.line()
        assert line.codes(Protocol(), request) == [("PROTOCOL_REPLY", -1)]
        assert line.closed


def test_ids_that_no_target_can_hold(server: Server) -> None:
    line = server.line()
    assert line.codes(Protocol(), hello("x" * 256))[1:] == [("WELCOME", 400)]
    assert line.closed


def test_tokens_and_limits(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("tokens: [secret]\nadmins: [boss]\n")
    server = Server(config=config, client_limit=2)
    for token in ("", "other"):
        line = server.line()
        assert line.codes(Protocol(), hello("me", **{"Client-Token": token}))[1:] == [("WELCOME", 401)]
        assert line.closed
    boss = server.client("a", kind="boss", **{"Client-Token": "secret"})
    other = server.client("b", **{"Client-Token": "secret"})
    assert boss.codes(ListClients(id=b"1", pending_response=1)) == [("RESPONSE", 0)]
    assert other.codes(ListClients(id=b"1", pending_response=1)) == [("RESPONSE", 401)]
    line = server.line()
    assert line.codes(Protocol(), hello("c", **{"Client-Token": "secret"})) == [("PROTOCOL_REPLY", -1)]
    assert line.closed


def test_types_that_are_denied_and_tokens_that_are_refused(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("denied: [guest]\nrefused_tokens: [stolen]\n")
    server = Server(config=config)
    line = server.line()
    assert line.codes(Protocol(), hello("me", **{"Client-Token": "stolen"}))[1:] == [("WELCOME", 401)]
    assert line.closed
    anybody, guest = server.client("a"), server.client("b", kind="guest")
    assert anybody.codes(ListClients(id=b"1", pending_response=1)) == [("RESPONSE", 0)]
    assert guest.codes(ListClients(id=b"1", pending_response=1)) == [("RESPONSE", 401)]


def test_a_first_frame_that_is_no_hello(document: Server, released: Server) -> None:
    line = document.line()
    assert line.codes(Protocol(), Join(target=b"ch")) == [("PROTOCOL_REPLY", -1)]
    assert line.closed
    line = released.line()
    assert line.codes(Protocol(), Join(target=b"ch"), Ping(), Join(target=b"ch")) == [("PROTOCOL_REPLY", -1)]
    assert line.codes(Ping()) == []
    assert not line.closed


def test_without_hello_the_connection_ends(server: Server) -> None:
    line = server.line()
    line.send(Protocol())
    server.wait(3.9)
    assert not line.closed
    server.wait(0.2)
    assert line.closed


def test_pings(server: Server) -> None:
    line = server.client("me")
    assert line.send(Ping()) == [Pong()]
    assert line.send(AnswerPing(), Custom(type=1), Custom(type=0x3F), Terminate(ttl=0)) == []
    server.wait(119)
    assert line.take() == []
    server.wait(1.1)
    assert line.take() == [ServerPing()]
    server.wait(4)
    assert line.send(AnswerPing()) == []
    server.wait(119.9)
    assert line.take() == []
    server.wait(0.2)
    assert line.take() == [ServerPing()]
    server.wait(5.1)
    assert line.closed


def test_terminate_closes(server: Server) -> None:
    line = server.client("me")

    assert line.send(Terminate(), Ping()) == []
    assert line.closed


def test_what_is_dead_is_dropped(server: Server) -> None:
    one, other = server.client("one"), server.client("other")

    assert one.send(SendDirect(ttl=0, id=b"1", target=b"other", pending_response=1)) == []
    assert other.take() == []
    one.send(SendDirect(ttl=2, id=b"1", target=b"other"))
    assert [message.ttl for message in other.take()] == [1]  # type: ignore[attr-defined]
    one.send(SendDirect(ttl=1, id=b"1", target=b"other"))
    (found,) = other.take()
    assert found.ttl == int(server.rules.never_sends_dead_messages)  # type: ignore[attr-defined]


def test_who_lies_about_itself_is_disconnected(server: Server) -> None:
    one, other = server.client("one"), server.client("other")

    one.send(SendDirect(id=b"1", source=b"one", target=b"other"))
    assert len(other.take()) == 1
    one.send(SendDirect(id=b"1", source=b"other", target=b"other"))
    assert one.closed
    assert other.take() == []


def test_the_end_of_a_stream_closes(server: Server) -> None:
    one = server.client("one")
    one.session.eof_received()

    assert one.closed
    assert not server.service.state.clients


def test_what_cannot_be_read_closes_after_the_answers(server: Server) -> None:
    line = server.client("me")
    line.codec.await_reply(Ping())
    line.write(server.codec.encode(Ping()) + bytes.fromhex("11100000000000 ff ffffffffffffffff"))

    assert line.closed
    assert line.take() == [Pong()]


def test_a_reader_that_is_too_slow_is_closed(server: Server) -> None:
    server = Server(limits={"push_limit": 5000, "high_water": 1000})
    one, other = server.client("one"), server.client("other")
    other.session.pause_writing()
    for _ in range(4):
        one.send(SendDirect(id=b"1", target=b"other", payload=bytes(1000)))
    assert not other.closed
    one.send(SendDirect(id=b"1", target=b"other", payload=bytes(1000)))
    assert other.closed
    assert one.codes(SendDirect(id=b"1", target=b"other", pending_response=1)) == [("RESPONSE", 404)]


def test_a_paused_reader_gets_all_later(server: Server) -> None:
    one, other = server.client("one"), server.client("other")
    other.session.pause_writing()
    one.send(SendDirect(id=b"1", target=b"other", payload=b"a"))
    assert other.send(Ping()) == []
    other.session.eof_received()
    assert not other.closed
    other.session.resume_writing()
    assert [found.NAME for found in other.take()] == ["DIRECT", "PONG"]
    assert other.closed


def test_many_requests_in_one_segment_are_sliced(server: Server) -> None:
    one = server.client("one")
    server.channel(one)
    data = server.codec.encode(Ping()) * 600
    for _ in range(600):
        one.codec.await_reply(Ping())
    one.write(data)
    written = len(one.raw)

    assert one.take() == [Pong()] * 600
    assert len(one.raw) - written > 0


def test_the_trace_hides_tokens(server: Server) -> None:
    server.client("me", **{"Client-Token": "secret"}).send(produce(b"x" * 1000), Join(target=b"@"), hello("x"))

    assert not any("secret" in line for line in server.traced)
    assert any("< nothing" in line for line in server.traced)
    assert all(len(line) < 500 for line in server.traced)
    assert rows(A_b="c")[0].name == b"A-b"
