"""Frames of a server, the version, and both ends of a connection."""

from __future__ import annotations

from dataclasses import replace

import pytest

from wireproof.fuzz.invariants.codec_invariants import read
from wireproof.fuzz.invariants.economy import counted
from wireproof.protocols import NEED_DATA, EndOfStream, LocalProtocolError, Message, RemoteProtocolError
from wireproof.protocols.errors import MalformedFrameError
from wireproof.protocols.fields import Terminated
from wireproof.protocols.frames import FrameContext
from wireproof.protocols.namechan import (
    PROTOCOL,
    V1,
    Codec,
    HookClient,
    HookServer,
    NamechanClient,
    NamechanServer,
    State,
)
from wireproof.protocols.namechan.codec import SIZE, _plain_codec
from wireproof.protocols.namechan.replies import Error, Outcome, Ping, Subscribed, Unsubscribed, VersionReply
from wireproof.protocols.namechan.replies import Message as Pushed
from wireproof.protocols.namechan.requests import Ack, Connect, HookPublish, Subscribe, Unsubscribe, Version

CODEC = Codec.of(V1, "standard")


def client() -> NamechanClient:
    """A client whose handshake is over."""
    made = NamechanClient(CODEC)
    made.send(Version())
    made.receive_data(bytes(7) + b"\1")
    assert made.next_event() == VersionReply()
    made.send(Connect(id=b"me"))
    return made


def framed(kind: int, payload: bytes) -> bytes:
    return (len(payload) + 1).to_bytes(4, "big") + bytes([kind]) + payload


@pytest.mark.parametrize(
    ("message", "data"),
    [
        (Error(b"no"), framed(0, b"no")),
        (Error(), framed(0, b"")),
        (Ping(0xFFFFFFFF), framed(1, b"\xff" * 4)),
        (Pushed(1, 2, b"x"), framed(2, bytes(7) + b"\1\0\0\0\2x")),
        (Pushed((1 << 64) - 1, (1 << 32) - 1), framed(2, b"\xff" * 12)),
        (Subscribed(3, b"prices"), framed(3, b"((id 3)(topic prices))")),
        (Unsubscribed(3, b"a b"), framed(4, b'((id 3)(topic "a b"))')),
        (VersionReply(-1), b"\xff" * 8),
        (Outcome(), b"ok\n"),
    ],
)
def test_it_is_written(message: Message, data: bytes) -> None:
    assert CODEC.encode(message) == data
    assert CODEC.is_other_form(message, data)


@pytest.mark.parametrize(
    "payload",
    [
        b"((topic prices)(id 3))",
        b"(Subscribed((id 3)(topic prices)))",
        b'( subscribed ( (id 3) (topic "prices")) )',
        b" ((id 3) ; x\n(topic prices))\n",
    ],
)
def test_a_record_has_several_forms(payload: bytes) -> None:
    one = client()
    one.send(Subscribe(b"prices"))
    one.receive_data(framed(3, payload))

    assert one.next_event() == Subscribed(3, b"prices")
    assert CODEC.is_other_form(Subscribed(3, b"prices"), framed(3, payload))


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        (b"", "whole expression"),
        (b"((id 3))", "topic is missing"),
        (b"((id 3)(topic p)(id 4))", "repeated field id"),
        (b"((id 3)(topic p)(x 4))", "unknown field x"),
        (b"((id 3)(topic))", "a name and a value"),
        (b"((id 3)(topic p)x)", "a name and a value"),
        (b"((id 4294967296)(topic p))", "from 0 to 4294967295"),
        (b"(Unsubscribed((id 3)(topic p)))", "unknown constructor"),
        (b"(Subscribed x)", "one record after"),
        (b"(Subscribed((id 3)(topic p))x)", "one record after"),
        (b"((id 3)(topic p)) y", "nothing after"),
    ],
)
def test_what_is_no_record_is_refused(payload: bytes, why: str) -> None:
    one = client()
    one.send(Subscribe(b"prices"))
    one.receive_data(framed(3, payload))
    with pytest.raises(RemoteProtocolError, match=why) as error:
        one.next_event()

    assert error.value.code == "bad_value"
    assert not CODEC.is_other_form(Subscribed(3, b"p"), framed(3, payload))


@pytest.mark.parametrize(
    ("data", "code", "offset"),
    [
        (bytes(5), "lying_length", 8),
        (framed(5, b""), "unknown_type", 12),
        (framed(1, b"\0\0\0"), "lying_length", 8),
        (framed(1, b"\0\0\0\0\0"), "lying_length", 8),
        (framed(2, bytes(11)), "lying_length", 8),
        (framed(3, b"((id 1)(topic t))"), "unexpected_message", 8),
        (b"\xff\xff\xff\xff\2", "frame_too_large", 8),
    ],
)
@pytest.mark.parametrize("size", [1, 100])
def test_what_is_no_frame_is_refused_where_it_is(data: bytes, code: str, offset: int, size: int) -> None:
    one = client()
    for at in range(0, len(data), size):
        one.receive_data(data[at : at + size])
        if at + size < len(data):
            try:
                assert one.next_event() is NEED_DATA
            except RemoteProtocolError:
                break
    with pytest.raises(RemoteProtocolError) as error:
        one.next_event()

    assert (error.value.code, error.value.offset) == (code, offset)
    assert one.state is State.FAILED


def test_an_error_answers_what_waits_or_nothing() -> None:
    one = client()
    asked = Unsubscribe(b"t")
    assert one.settled
    one.send(Ack(0))
    assert one.pending == ()
    one.send(asked)
    one.receive_data(framed(1, bytes(4)) + framed(0, b"a") + framed(0, b"b"))

    assert one.next_event() == Ping(0)
    assert one.answered is None
    assert one.next_event() == Error(b"a")
    assert one.answered is asked
    assert one.next_event() == Error(b"b")
    assert one.answered is None


def test_another_answer_than_the_one_due_is_refused() -> None:
    one = client()
    one.send(Subscribe(b"t"))
    one.receive_data(framed(4, b"((id 1)(topic t))"))
    with pytest.raises(RemoteProtocolError, match="got UNSUBSCRIBED where the answer to SUBSCRIBE is due"):
        one.next_event()


def test_a_server_says_nothing_first() -> None:
    one = NamechanClient(CODEC)
    assert not one.settled
    one.receive_data(b"\0")
    with pytest.raises(RemoteProtocolError, match="before the client"):
        one.next_event()


def test_ends_of_both_sides() -> None:
    one, server = client(), NamechanServer(CODEC)
    one.send(Subscribe(b"t"))
    one.end_requests()
    with pytest.raises(LocalProtocolError):
        one.send(Subscribe(b"t"))
    one.receive_data(b"")
    assert one.next_event() == EndOfStream(1)
    server.receive_data(b"")
    assert server.next_event() == EndOfStream(0)
    server.end_replies()
    assert server.next_event() is NEED_DATA
    with pytest.raises(LocalProtocolError, match="after the end"):
        server.send(Error())


@pytest.mark.parametrize("message", [Subscribe(b"t"), Outcome()])
def test_what_a_server_does_not_say(message: Message) -> None:
    with pytest.raises(LocalProtocolError, match="no message of a server"):
        NamechanServer(CODEC).send(message)


def test_what_a_client_does_not_say() -> None:
    for message in (Error(), HookPublish(b"t", b"x")):
        with pytest.raises(LocalProtocolError, match="no request"):
            client().await_reply(message)


def test_the_hook() -> None:
    one, server = HookClient(CODEC), HookServer(CODEC)
    server.receive_data(one.send(HookPublish(b"t", b"x")))
    assert server.next_event() == HookPublish(b"t", b"x")
    assert not one.settled
    data = server.send(Outcome(b"error why"))
    one.receive_data(data[:5])
    assert one.next_event() is NEED_DATA
    one.receive_data(data[5:])
    assert one.next_event() == Outcome(b"error why")
    one.receive_data(b"ok\n")
    with pytest.raises(RemoteProtocolError, match="nothing was asked"):
        one.next_event()
    with pytest.raises(LocalProtocolError):
        CODEC.encode(Outcome(b"a\nb"))


def test_an_endless_outcome_is_refused() -> None:
    one = HookClient(CODEC, max_frame=1024)
    one.send(HookPublish(b"t", b"x"))
    one.receive_data(b"x" * 1024)
    with pytest.raises(RemoteProtocolError, match="at most 1024"):
        one.next_event()


def test_what_the_links_offer() -> None:
    link = PROTOCOL.link
    assert CODEC.encode(link.sync_request()) == b"(Unsubscribe wireproof/absent)\n"
    assert [one.NAME for one in link.handshake()] == ["VERSION", "CONNECT"]
    assert link.noop(b"x")[1] == Error()
    message = Error()
    assert PROTOCOL.sdk.canonical(message) is message
    assert CODEC.layout(Error).places(Error(b"ab"))[0].start == 5
    assert CODEC.layout(Error).fixed_size == 5
    assert [tuple(one)[:3] for one in CODEC.layout(Subscribed).places(Subscribed(3, b"p"))] == [
        ("id", 10, 11),
        ("topic", 19, 20),
    ]
    assert [tuple(one)[:3] for one in CODEC.layout(Unsubscribe).places(Unsubscribe(b"a b"))] == [("topic", 13, 18)]


def test_a_line_of_the_hook_that_comes_byte_by_byte_is_looked_at_once() -> None:
    """What is laid before the decoder is as much as came, whatever the pieces."""
    harness = HookClient(CODEC)
    harness.send(HookPublish(b"t", b"x"))
    text = b"error " + b"x" * 5000 + b"\n"
    with counted(harness, len(text)):
        found = read(harness, [text[at : at + 1] for at in range(len(text))])

    assert found.events[0][0] == Outcome(text[:-1])


def test_a_whole_line_beyond_the_limit_is_refused() -> None:
    with pytest.raises(MalformedFrameError, match="12"):
        CODEC.decode_outcome(b"x" * 11 + b"\n", 0, 12, FrameContext(8))


def test_a_layout_whose_last_field_is_no_number_and_not_the_rest_is_written_and_read() -> None:
    layout = CODEC.layout(Pushed)
    *first, (name, _) = layout.fields
    decode, encode = _plain_codec(replace(layout, fields=(*first, (name, Terminated(b"\n")))), V1.byte_order)
    message = Pushed(1, 2, b"body")
    data = encode(message)

    assert decode(data, SIZE, len(data), FrameContext(1 << 20)) == (message, len(data))
