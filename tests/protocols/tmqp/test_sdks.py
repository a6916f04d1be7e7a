"""What two spellings of a request say alike, and which request a message answers."""

from __future__ import annotations

import pytest

from wireproof.protocols.tmqp import PROTOCOL, Header
from wireproof.protocols.tmqp.frames import RequestFrame
from wireproof.protocols.tmqp.replies import Confirmation, QueueMessage, Response, Welcome
from wireproof.protocols.tmqp.requests import CreateQueue, Hello, Join, Ping, Produce, Pull

SDK = PROTOCOL.sdk


ONE, OTHER = Header(b"B", b"1"), Header(b"a", b"2")
ME = Hello(payload=b"CONNECT /\r\nClient-Id: me\r\nX:y\r\n")


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        (Join(ttl=1), Join(ttl=31), True),
        (Join(ttl=0), Join(ttl=1), False),
        (Join(headers=(ONE, OTHER)), Join(headers=(OTHER, ONE)), True),
        (CreateQueue(payload=b'{"a":1,"b":2}'), CreateQueue(payload=b'{ "b": 2, "a": 1 }'), True),
        (CreateQueue(payload=b'{"a":1}'), CreateQueue(payload=b'{"a":2}'), False),
        (CreateQueue(payload=b"{"), CreateQueue(payload=b"{ "), False),
        (Produce(payload=b'{"a":1,"b":2}'), Produce(payload=b'{"b":2,"a":1}'), False),
        (ME, Hello(payload=b"/ CONNECT\nx: y\nclient-id:me\nClient-Id:you"), True),
        (Hello(payload=b"CONNECT /\r\nClient-Id:me\r\n"), Hello(payload=b"CONNECT /\r\n"), False),
    ],
)  # fmt: skip
def test_what_says_the_same_is_written_in_one_way(one: RequestFrame, other: RequestFrame, alike: bool) -> None:
    assert (SDK.canonical(one) == SDK.canonical(other)) is alike


def test_a_ping_is_written_in_one_way_only() -> None:
    assert SDK.canonical(Ping()) == Ping()


def test_a_message_answers_the_request_whose_id_it_has() -> None:
    assert SDK.matches is not None
    asked, pull = Produce(id=b"m", pending_ack=1), Pull(id=b"p")

    assert SDK.matches(asked, Confirmation(id=b"m"))
    assert SDK.matches(asked, Response(id=b"m"))
    assert not SDK.matches(asked, QueueMessage(id=b"m"))
    assert not SDK.matches(asked, Confirmation(id=b"n"))
    assert SDK.matches(pull, QueueMessage(id=b"p"))
    assert not SDK.matches(Produce(), Response())
    assert SDK.matches(Hello(), Welcome())
    assert not SDK.matches(Ping(), Response(id=b"p"))
