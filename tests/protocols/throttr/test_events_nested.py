"""An EVENT carries one whole request; its reply is 01 and the reply of what it carries, to a depth (T36)."""

from __future__ import annotations

import pytest

from tests.protocols.segmentations import client_waiting, every_delivery
from wireproof.protocols import LocalProtocolError, Reply, Request
from wireproof.protocols.errors import MalformedFrameError
from wireproof.protocols.throttr import OK, REFUSED, V732, Codec, ServerConnection
from wireproof.protocols.throttr.codec import MAX_NESTING
from wireproof.protocols.throttr.replies import EventReply, QueryReply, WhoamiReply
from wireproof.protocols.throttr.requests import Event, Insert, Publish, Query, Whoami

CODEC = Codec.of(V732, "uint16")
ME = WhoamiReply(bytes(range(16)))


def nested(request: Request, reply: Reply, depth: int) -> tuple[Request, Reply]:
    for _ in range(depth):
        request, reply = Event(b"c", CODEC.encode(request)), EventReply(reply)
    return request, reply


def server_asked(request: Request) -> ServerConnection:
    server = ServerConnection(CODEC)
    server.receive_data(CODEC.encode(request))
    server.next_requests()
    return server


@pytest.mark.parametrize("depth", [1, 2, MAX_NESTING])
def test_events_are_followed_to_the_deepest_allowed(depth: int) -> None:
    request, reply = nested(Whoami(), ME, depth)
    stream = server_asked(request).send(reply)

    assert stream == b"\x01" * depth + b"\x01" + ME.id
    assert every_delivery(client_waiting(CODEC, request), stream).messages == [reply]


def test_deeper_events_are_refused_when_read() -> None:
    request, _ = nested(Whoami(), ME, MAX_NESTING + 1)
    outcome = every_delivery(client_waiting(CODEC, request), b"\x01" * (MAX_NESTING + 2) + ME.id)

    assert outcome.error == ("unexpected_message", "EVENT nested more than 16 deep", MAX_NESTING)


@pytest.mark.parametrize("depth", [MAX_NESTING + 1, 5000])
def test_deeper_events_are_refused_when_written(depth: int) -> None:
    reply: Reply = ME
    for _ in range(depth):
        reply = EventReply(reply)

    with pytest.raises(LocalProtocolError, match=r"EVENT_REPLY.reply: expected a reply, nested at most 16 deep"):
        CODEC.encode(reply)


def test_a_refusal_inside_an_event_is_read() -> None:
    request, _ = nested(Query(b"k"), REFUSED, 2)
    outcome = every_delivery(client_waiting(CODEC, request, Whoami()), b"\x01\x01\x00\x00")

    assert outcome.messages == [EventReply(EventReply(REFUSED)), REFUSED]


@pytest.mark.parametrize(
    ("payload", "code"),
    [
        (b"", "truncated"),
        (b"\x02\x05k", "truncated"),
        (b"\x13\x00\xff\xff", "truncated"),
        (b"\x18\x18", "lying_length"),
        (b"\x00", "unknown_type"),
    ],
)
def test_a_payload_that_is_not_one_whole_request_is_named(payload: bytes, code: str) -> None:
    with pytest.raises(MalformedFrameError) as caught:
        CODEC.whole_request(payload)

    assert caught.value.code == code
    assert caught.value.at == 0


def test_a_whole_request_is_taken_out_of_a_payload() -> None:
    assert CODEC.whole_request(b"\x02\x01k") == Query(b"k")


@pytest.mark.parametrize("payload", [b"", b"\x02\x05k", b"\x18\x18", b"\x00"])
def test_success_of_an_event_that_carries_no_request_is_refused_where_it_stands(payload: bytes) -> None:
    outcome = every_delivery(client_waiting(CODEC, Whoami(), Event(b"c", payload)), b"\x01" + ME.id + b"\x01")

    assert outcome.messages == [ME]
    assert outcome.error is not None
    assert outcome.error[0] == "unexpected_message"
    assert outcome.error[2] == 17


@pytest.mark.parametrize("payload", [b"", b"\x02\x05k", b"\x18\x18", b"\x00"])
def test_an_event_that_carries_no_request_can_only_be_answered_00(payload: bytes) -> None:
    server = server_asked(Event(b"c", payload))

    with pytest.raises(LocalProtocolError, match="EVENT carries no request"):
        server.send(EventReply(OK))
    assert server.send(REFUSED) == b"\x00"


@pytest.mark.parametrize("wrong", [ME, OK, EventReply(REFUSED)], ids=["other", "no body", "too deep"])
def test_the_reply_in_an_event_reply_answers_what_the_event_carried(wrong: Reply) -> None:
    server = server_asked(nested(Query(b"k"), OK, 1)[0])

    with pytest.raises(LocalProtocolError):
        server.send(EventReply(wrong))
    assert server.send(EventReply(QueryReply(1, 4, 1))) == b"\x01\x01\x01\x00\x04\x01\x00"


@pytest.mark.parametrize("wrong", [Insert(1, 4, 1, b""), None, b"", 3])
def test_an_event_reply_holds_a_reply(wrong: object) -> None:
    with pytest.raises(LocalProtocolError, match=r"EVENT_REPLY.reply: expected a reply"):
        CODEC.encode(EventReply(wrong))  # type: ignore[arg-type]


def test_a_request_that_is_never_answered_has_no_reply_in_an_event() -> None:
    codec = Codec.of(V732.derive("silent", replies={Publish: ()}), "uint8")
    event = Event(b"", codec.encode(Publish(b"", b"")))
    outcome = every_delivery(client_waiting(codec, event), b"\x01\x01")

    assert outcome.error == ("unexpected_message", "a reply to a request that has none", 1)
