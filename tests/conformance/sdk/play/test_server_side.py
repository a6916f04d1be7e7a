"""A socket followed from its first byte: pings are answered in their turn, everything else is kept for the case."""

from __future__ import annotations

import pytest

from wireproof.conformance.sdk.play.server_side import Follower
from wireproof.protocols.psrt import PROTOCOL, V1, Codec

CODEC = Codec.of(V1, "standard")
GREETING, LOGIN, NOP = b"\xee\xaa\0", b"\1\0\0\0\0", b"\0"
REPLIES = b"\xee\xaa\1\0" + bytes(range(32))
PUBLISH = b"\1\x7f\2\0\0\0t\0"
SUBSCRIBE = b"\2\1\0\0\0t"


def opened(link: str = "control") -> Follower:
    follower = Follower(PROTOCOL.links[link], CODEC)
    if link == "control":
        assert follower.received(GREETING + LOGIN) == b""
        assert follower.take() == GREETING + LOGIN
        assert follower.wrote(REPLIES) == REPLIES
    return follower


def test_a_ping_is_answered_at_once_and_left_out() -> None:
    follower = opened()

    assert follower.received(NOP + PUBLISH[:3]) == b"\1"
    assert (follower.came, follower.pings, follower.is_whole) == (PUBLISH[:3], 1, False)
    assert follower.received(PUBLISH[3:]) == b""
    assert (follower.take(), follower.messages) == (PUBLISH, [])


def test_a_ping_behind_requests_is_answered_behind_their_replies() -> None:
    follower = opened()

    assert follower.received(PUBLISH + NOP + SUBSCRIBE + NOP) == b""
    assert follower.came == PUBLISH + SUBSCRIBE
    assert follower.wrote(b"\xfe\xff") == b"\xfe\1\xff\1"
    assert follower.received(NOP) == b"\1"


def test_the_same_byte_within_another_request_is_no_ping() -> None:
    follower = opened()

    follower.received(b"\1\x7f\5\0\0\0t\0\0\0\0")

    assert (follower.pings, follower.is_whole) == (0, True)


def test_before_the_login_nothing_is_a_ping() -> None:
    follower = Follower(PROTOCOL.links["control"], CODEC)

    follower.received(GREETING + b"\0\0\0\0")

    assert (follower.came, follower.pings) == (GREETING + b"\0\0\0\0", 0)


def test_what_cannot_be_read_is_kept_as_it_came() -> None:
    follower = opened()

    follower.received(PUBLISH + b"\x77\1\2")
    follower.received(b"\3")

    assert (follower.came, follower.is_whole) == (PUBLISH + b"\x77\1\2\3", False)


def test_a_reply_that_is_none_leaves_pings_answered_all_the_same() -> None:
    follower = opened()
    follower.received(PUBLISH)

    assert follower.wrote(b"\x55") == b"\x55"
    assert follower.received(NOP) == b"\1"


@pytest.mark.parametrize("late", [False, True])
def test_a_parting_request_is_answered_once_the_sdk_may_go(late: bool) -> None:
    follower = opened()
    if late:
        follower.received(b"\xff")

    answers = follower.part(PROTOCOL.sdk.parting) + (b"" if late else follower.received(b"\xff"))

    assert answers == b"\1"
    assert (follower.came, follower.parted) == (b"", True)


def test_a_ping_is_no_parting() -> None:
    follower = opened()
    follower.part(PROTOCOL.sdk.parting)

    assert follower.received(NOP) == b"\1"
    assert not follower.parted


def test_a_ping_that_is_held_is_answered_before_what_is_written_next() -> None:
    follower = opened()
    follower.holds = True

    assert follower.received(NOP + PUBLISH + NOP) == b""
    assert follower.wrote(b"\xfe") == b"\1\xfe\1"


@pytest.mark.parametrize("early", [b"", b"\x16\3\1"])
def test_what_came_behind_the_request_for_tls_is_the_first_of_it(early: bytes) -> None:
    follower = Follower(PROTOCOL.links["data"], CODEC)
    follower.received(b"\xee\xab\1" + early)

    assert follower.take(3) == b"\xee\xab\1"
    assert follower.start_tls() == early
    assert follower.wrote(b"\xee\xab\1\0") == b"\xee\xab\1\0"
    follower.received(bytes(33))
    assert (follower.take(33), follower.messages) == (bytes(33), [])


def test_whatever_comes_on_a_data_socket_behind_the_token_is_kept() -> None:
    follower = opened("data")
    follower.received(b"\xee\xab\0" + bytes(33))
    follower.wrote(b"\xee\xab\1\0\1")
    follower.take()

    follower.received(b"\1")

    assert (follower.came, follower.is_whole) == (b"\1", False)


def test_a_broken_datagram_does_not_hide_the_next() -> None:
    follower = opened("datagram")

    follower.received(b"xx")
    follower.received(bytes.fromhex("eeaa01000000000121740061"))

    assert follower.came.startswith(b"xx")
    assert len(follower.messages) == 1
