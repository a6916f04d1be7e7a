"""A reply is framed by the oldest request still pending; pushes stand between replies."""

from __future__ import annotations

import pytest

from tests.protocols.segmentations import client_waiting, drain, every_delivery
from wireproof.protocols import NEED_DATA, EndOfStream, LocalProtocolError, RemoteProtocolError
from wireproof.protocols.errors import MalformedFrameError
from wireproof.protocols.frames import FrameContext
from wireproof.protocols.throttr import OK, REFUSED, V710, V732, ClientConnection, Codec, ServerConnection
from wireproof.protocols.throttr.replies import PushedEvent, PushedMessage, QueryReply, StatReply, WhoamiReply
from wireproof.protocols.throttr.requests import Event, Insert, Query, Stat, Whoami

OLD, NEW = Codec.of(V710, "uint16"), Codec.of(V732, "uint16")
INSERT, QUERY = Insert(1, 4, 1, b"k"), Query(b"k")


def test_equal_bytes_are_read_by_the_request_that_is_due() -> None:
    stream = b"\x01" + b"\x01\x01\x00\x04\x01\x00" + b"\x01" + bytes(32) + b"\x00"
    outcome = every_delivery(client_waiting(OLD, INSERT, QUERY, Stat(b"k"), QUERY), stream)

    assert outcome.messages == [OK, QueryReply(1, 4, 1), StatReply(0, 0, 0, 0), REFUSED]


def test_the_request_that_a_reply_answers_is_reported() -> None:
    client = client_waiting(OLD, INSERT, QUERY)()
    client.receive_data(b"\x01\x00")
    answered = []
    while client.next_event() is not NEED_DATA:
        answered.append(client.answered)

    assert answered == [INSERT, QUERY]


@pytest.mark.parametrize(
    ("codec", "push"), [(OLD, PushedMessage(b"hi")), (NEW, PushedEvent(b"ch", b"hi"))], ids=["7.1.0", "7.3.2"]
)
def test_pushes_stand_between_replies(codec: Codec, push: PushedMessage | PushedEvent) -> None:
    wire = ServerConnection(codec).send(push)
    stream = wire + b"\x01" + wire + wire + b"\x00" + wire
    outcome = every_delivery(client_waiting(codec, INSERT, QUERY), stream, trailing=b"\x55")

    assert outcome.messages == [push, OK, push, push, REFUSED, push]
    assert outcome.events[-1][0] == EndOfStream(0)


def test_a_codec_decodes_what_a_server_sends_without_a_connection() -> None:
    push, waiting, idle = OLD.encode(PushedMessage(b"hi")), FrameContext(1024, QUERY), FrameContext(1024)

    assert OLD.decode_answer(b"\x55\x00", 1, 2, waiting) == (REFUSED, 2)
    assert OLD.decode_answer(push, 0, len(push), idle) == (PushedMessage(b"hi"), len(push))
    with pytest.raises(MalformedFrameError, match="got 55 although no request is waiting"):
        OLD.decode_answer(b"\x55", 0, 1, idle)


def test_byte_03_belongs_to_a_bare_reply_that_is_due() -> None:
    """T37, THR-PUSH-16."""
    outcome = every_delivery(client_waiting(OLD, Whoami()), b"\x03" * 16)

    assert outcome.messages == [WhoamiReply(b"\x03" * 16)]


def test_byte_03_is_a_push_while_a_reply_with_status_is_due() -> None:
    outcome = every_delivery(client_waiting(OLD, INSERT), b"\x03\x01\x00x\x01")

    assert outcome.messages == [PushedMessage(b"x"), OK]


@pytest.mark.parametrize("come", [1, 3, 4])
def test_a_push_that_began_before_a_bare_reply_was_asked_for_stays_a_push(come: int) -> None:
    client, push = ClientConnection(OLD), b"\x03\x01\x00x"
    client.receive_data(push[:come])
    if come < 4:
        client.next_event()
    client.send_all([Whoami(), INSERT])
    client.receive_data(push[come:] + b"\x03" * 16 + b"\x01") if come < 4 else client.receive_data(b"\x03" * 16)

    expected = [PushedMessage(b"x"), WhoamiReply(b"\x03" * 16), OK]
    assert [event for event, _ in drain(client)] == expected[: 3 if come < 4 else 2]


def test_every_bare_reply_is_distinguished_from_the_pushes_that_came_before_its_request() -> None:
    client, push, reply = ClientConnection(OLD), b"\x03\x01\x00x", b"\x03" * 16
    for _ in range(3):
        client.receive_data(push + push)
        client.send(Whoami())
        client.receive_data(reply)
        expected = [PushedMessage(b"x"), PushedMessage(b"x"), WhoamiReply(reply)]
        assert [event for event, _ in drain(client)] == expected

        client.send(Whoami())
        client.receive_data(reply + push)
        assert [event for event, _ in drain(client)] == [WhoamiReply(reply), PushedMessage(b"x")]
    assert not client._asked_at


@pytest.mark.parametrize(
    ("stream", "at"), [(b"\x03\x01\x00x\x01" + b"i" * 16, None), (b"\x01" + b"\x03" * 16, 1), (b"\x01\x03", 1)]
)
def test_it_is_reported_where_a_push_could_have_been_read_instead(stream: bytes, at: int | None) -> None:
    client = ClientConnection(OLD)
    client.send_all([INSERT, Whoami()])
    client.receive_data(stream)
    drain(client)

    assert client.ambiguous_at == at


def test_a_reply_that_nobody_asked_for_is_refused() -> None:
    outcome = every_delivery(client_waiting(OLD, INSERT), b"\x01\x01")

    assert outcome.messages == [OK]
    assert outcome.error == ("unexpected_message", "got 01 although no request is waiting for a reply", 1)


def test_the_end_reports_how_many_replies_are_missing() -> None:
    assert every_delivery(client_waiting(OLD, INSERT, QUERY), b"\x01").events[-1][0] == EndOfStream(1)


def test_a_status_outside_its_set_is_refused() -> None:
    outcome = every_delivery(client_waiting(NEW, INSERT, QUERY), b"\x01\x02")

    assert outcome.error == ("bad_status", "expected 00 or 01, got 02", 1)


def test_a_reply_cut_off_at_the_end_is_truncated() -> None:
    outcome = every_delivery(client_waiting(NEW, INSERT, QUERY), b"\x01\x01\x07\x00")

    assert outcome.error == ("truncated", "the stream ended 3 bytes into a frame", 1)


def test_a_raw_request_is_awaited_like_one_sent() -> None:
    client = ClientConnection(NEW)
    client.await_reply(QUERY)
    client.receive_data(b"\x00")

    assert client.next_event() == REFUSED
    assert client.pending == ()


def test_replies_are_sent_in_the_order_of_the_requests() -> None:
    server = ServerConnection(NEW)
    server.receive_data(NEW.encode(QUERY) + NEW.encode(INSERT))
    server.next_requests()

    with pytest.raises(LocalProtocolError, match=r"WhoamiReply where a reply to QUERY is due"):
        server.send(WhoamiReply(bytes(16)))
    assert server.send_all([QueryReply(7, 4, 60), OK]) == b"\x01\x07\x00\x04\x3c\x00\x01"


def test_after_an_error_no_reply_of_the_batch_counts_as_sent() -> None:
    server = ServerConnection(NEW)
    server.receive_data(NEW.encode(QUERY) + NEW.encode(INSERT) * 2)
    server.next_requests()

    with pytest.raises(LocalProtocolError, match=r"where a reply to INSERT is due"):
        server.send_all([REFUSED, OK, QueryReply(7, 4, 60)])
    assert server.pending == (QUERY, INSERT, INSERT)


def test_no_reply_is_sent_when_none_is_due() -> None:
    with pytest.raises(LocalProtocolError, match=r"Status where no reply is due"):
        ServerConnection(NEW).send(OK)


def test_success_alone_is_no_reply_where_more_has_to_follow() -> None:
    server = ServerConnection(NEW)
    server.receive_data(NEW.encode(QUERY))
    server.next_requests()

    with pytest.raises(LocalProtocolError, match=r"STATUS.ok: expected False where 01 has more to follow, got True"):
        server.send(OK)
    assert server.send(REFUSED) == b"\x00"


def test_a_server_answers_what_came_before_an_unknown_type() -> None:
    """THR-ROBUSTNESS-13."""
    server = ServerConnection(NEW)
    server.receive_data(NEW.encode(INSERT) + b"\xff")

    assert server.next_requests() == [INSERT]
    with pytest.raises(RemoteProtocolError, match=r"unknown_type at byte 8: .*THR-FRAMING-15"):
        server.next_event()
    assert server.next_requests() == []
    assert server.send(OK) == b"\x01"


def test_a_server_that_ended_its_replies_sends_nothing() -> None:
    server = ServerConnection(NEW)
    server.end_replies()

    with pytest.raises(LocalProtocolError, match="server in state closed allows no reply"):
        server.send(PushedEvent(b"", b""))


def test_a_client_sends_requests_of_its_profile_only() -> None:
    client = ClientConnection(OLD)

    with pytest.raises(LocalProtocolError, match=r"profile 7.1.0 has no request Status"):
        client.send(OK)
    with pytest.raises(LocalProtocolError, match=r"profile 7.1.0 has no request Event"):
        client.send_all([INSERT, Event(b"", b"")])
    with pytest.raises(LocalProtocolError, match=r"profile 7.1.0 has no request Event"):
        client.await_reply(Event(b"", b""))
    assert client.pending == ()


def test_a_codec_writes_messages_of_its_profile_only() -> None:
    with pytest.raises(LocalProtocolError, match=r"profile 7.1.0 has no message PushedEvent"):
        OLD.encode(PushedEvent(b"", b""))
