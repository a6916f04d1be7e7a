"""A socket followed from its first byte: pings are answered in their turn, everything else is kept for the case."""

from __future__ import annotations

import pytest

from wireproof.conformance.sdk.play.server_side import ServerSide
from wireproof.protocols.namechan import PROTOCOL as NAMECHAN
from wireproof.protocols.namechan.replies import Error, VersionReply
from wireproof.protocols.psrt import PROTOCOL, V1, Codec
from wireproof.protocols.tmqp import PROTOCOL as TMQP
from wireproof.protocols.tmqp.replies import Pong, ProtocolReply, QueueMessage, Response, Welcome
from wireproof.protocols.tmqp.requests import Hello, Join, Ping, Protocol, Pull, Terminate

CODEC = Codec.of(V1, "standard")
GREETING, LOGIN, NOP = b"\xee\xaa\0", b"\1\0\0\0\0", b"\0"
REPLIES = b"\xee\xaa\1\0" + bytes(range(32))
PUBLISH = b"\1\x7f\2\0\0\0t\0"
SUBSCRIBE = b"\2\1\0\0\0t"


def opened(link: str = "control") -> ServerSide:
    server_side = ServerSide(PROTOCOL.links[link], CODEC)
    if link == "control":
        assert server_side.received(GREETING + LOGIN) == b""
        assert server_side.take() == GREETING + LOGIN
        assert server_side.wrote(REPLIES) == REPLIES
    return server_side


def test_a_ping_is_answered_at_once_and_left_out() -> None:
    server_side = opened()

    assert server_side.received(NOP + PUBLISH[:3]) == b"\1"
    assert (server_side.came, server_side.pings, server_side.is_whole) == (PUBLISH[:3], 1, False)
    assert server_side.received(PUBLISH[3:]) == b""
    assert (server_side.take(), server_side.messages) == (PUBLISH, [])


def test_a_ping_after_requests_is_answered_after_their_replies() -> None:
    server_side = opened()

    assert server_side.received(PUBLISH + NOP + SUBSCRIBE + NOP) == b""
    assert server_side.came == PUBLISH + SUBSCRIBE
    assert server_side.wrote(b"\xfe\xff") == b"\xfe\1\xff\1"
    assert server_side.received(NOP) == b"\1"


def test_the_same_byte_within_another_request_is_no_ping() -> None:
    server_side = opened()

    server_side.received(b"\1\x7f\5\0\0\0t\0\0\0\0")

    assert (server_side.pings, server_side.is_whole) == (0, True)


def test_before_the_login_nothing_is_a_ping() -> None:
    server_side = ServerSide(PROTOCOL.links["control"], CODEC)

    server_side.received(GREETING + b"\0\0\0\0")

    assert (server_side.came, server_side.pings) == (GREETING + b"\0\0\0\0", 0)


def test_what_cannot_be_read_is_kept_as_it_came() -> None:
    server_side = opened()

    server_side.received(PUBLISH + b"\x77\1\2")
    server_side.received(b"\3")

    assert (server_side.came, server_side.is_whole) == (PUBLISH + b"\x77\1\2\3", False)


def test_a_reply_that_is_none_leaves_pings_answered_all_the_same() -> None:
    server_side = opened()
    server_side.received(PUBLISH)

    assert server_side.wrote(b"\x55") == b"\x55"
    assert server_side.received(NOP) == b"\1"


@pytest.mark.parametrize("late", [False, True])
def test_a_parting_request_is_answered_once_the_sdk_may_go(late: bool) -> None:
    server_side = opened()
    if late:
        server_side.received(b"\xff")

    answers = server_side.part(PROTOCOL.sdk.parting) + (b"" if late else server_side.received(b"\xff"))

    assert answers == b"\1"
    assert (server_side.came, server_side.parted) == (b"", True)


def test_a_ping_is_no_parting() -> None:
    server_side = opened()
    server_side.part(PROTOCOL.sdk.parting)

    assert server_side.received(NOP) == b"\1"
    assert not server_side.parted


def test_a_ping_that_is_held_is_answered_before_what_is_written_next() -> None:
    server_side = opened()
    server_side.holds = True

    assert server_side.received(NOP + PUBLISH + NOP) == b""
    assert server_side.wrote(b"\xfe") == b"\1\xfe\1"


@pytest.mark.parametrize("early", [b"", b"\x16\3\1"])
def test_what_came_after_the_request_for_tls_is_the_first_of_it(early: bytes) -> None:
    server_side = ServerSide(PROTOCOL.links["data"], CODEC)
    server_side.received(b"\xee\xab\1" + early)

    assert server_side.take(3) == b"\xee\xab\1"
    assert server_side.start_tls() == early
    assert server_side.wrote(b"\xee\xab\1\0") == b"\xee\xab\1\0"
    server_side.received(bytes(33))
    assert (server_side.take(33), server_side.messages) == (bytes(33), [])


def test_whatever_comes_on_a_data_socket_after_the_token_is_kept() -> None:
    server_side = opened("data")
    server_side.received(b"\xee\xab\0" + bytes(33))
    server_side.wrote(b"\xee\xab\1\0\1")
    server_side.take()

    server_side.received(b"\1")

    assert (server_side.came, server_side.is_whole) == (b"\1", False)


def test_a_broken_datagram_does_not_hide_the_next() -> None:
    server_side = opened("datagram")

    server_side.received(b"xx")
    server_side.received(bytes.fromhex("eeaa01000000000121740061"))

    assert server_side.came.startswith(b"xx")
    assert len(server_side.messages) == 1


def test_where_replies_are_found_by_ids_a_ping_waits_for_no_other_answer() -> None:
    server_side = ServerSide(TMQP.link, TMQP.codec(TMQP.profiles["doc"], "standard"))
    encode = TMQP.codec(TMQP.profiles["doc"], "standard").encode
    server_side.received(encode(Protocol()) + encode(Hello(payload=b"NONE /\r\n")))
    server_side.wrote(encode(ProtocolReply()) + encode(Welcome(content_type=202)))
    server_side.take_messages()
    server_side.replies.clear()
    join, pull = Join(id=b"j", pending_response=1), Pull(id=b"p")

    assert server_side.received(encode(join) + encode(pull) + encode(Ping())) == encode(Pong())
    assert [one for _, one in server_side.messages] == [Join(id=b"j", pending_response=1), pull]
    message, end = QueueMessage(id=b"m"), QueueMessage(id=b"p")
    server_side.wrote(encode(message) + encode(end) + encode(Response(id=b"j")) + encode(Response(id=b"nobody")))
    assert (server_side.replies, server_side.pings) == ([end, Response(id=b"j")], 1)


@pytest.mark.parametrize("early", [True, False])
def test_a_goodbye_that_nothing_answers_is_left_out_and_ends_the_connection(early: bool) -> None:
    server_side = ServerSide(TMQP.link, TMQP.codec(TMQP.profiles["doc"], "standard"))
    encode = TMQP.codec(TMQP.profiles["doc"], "standard").encode
    server_side.received(encode(Protocol()) + encode(Hello(payload=b"NONE /\r\n")))
    server_side.take_messages()

    for step in (0, 1):
        if bool(step) is early:
            assert server_side.part(TMQP.sdk.parting) == b""
        else:
            assert server_side.received(encode(Terminate())) == b""

    assert (server_side.came, server_side.parted) == (b"", True)


def test_what_says_nothing_is_left_out_and_what_is_not_answered_waits_for_nothing() -> None:
    server_side = ServerSide(NAMECHAN.links["lines"], NAMECHAN.codec(NAMECHAN.profiles["1+publish"], "standard"))
    version, error = bytes(7) + b"\1", b"\0\0\0\3\0no"

    server_side.received(version + b"(Connect 1 a)\n\n", answered=False)
    server_side.wrote(version)
    server_side.received(b"\n(Publish t a) ; a comment\n(Subscribe t From_current)\n\n  \n", answered=False)
    server_side.wrote(error)

    lines = b"(Connect 1 a)\n(Publish t a) ; a comment\n(Subscribe t From_current)\n"
    assert (server_side.came, server_side.is_whole, server_side.pings) == (version + lines, True, 4)
    assert [type(one) for one in server_side.replies] == [VersionReply, Error]
    server_side.wrote(error)
    assert len(server_side.replies) == 2


def test_what_is_left_out_after_a_request_is_not_counted_where_messages_are_taken() -> None:
    server_side = opened()

    server_side.received(PUBLISH + NOP + SUBSCRIBE + NOP, answered=False)
    assert server_side.is_whole
    server_side.take_messages()

    assert (server_side.came, server_side.messages) == (b"", [])
