"""Frames are read by our own codec where they may stand: after the handshake, or after what the frame names."""

from typing import Any

import pytest

from wireproof.conformance.suite.frame_decoding import named, read_back, readings
from wireproof.protocols import protocol

SPOKEN = protocol("psrt")
CODEC = SPOKEN.codec(SPOKEN.profiles["1"], "standard")
THROTTR = protocol("throttr")


def message(name: str, **fields: Any) -> Any:
    return SPOKEN.message("1", name)(**fields)


LOGGED_IN = [message("GREETING", mode=0), message("LOGIN", login=b"", password=b"")]
ATTACHED = [
    message("DATA_GREETING", mode=0),
    message("ATTACH", token=bytes(32), timeout=5),
    message("RESPONSE", code=1),
]


def test_a_request_is_read_after_the_opening_of_its_line() -> None:
    subscribe = message("SUBSCRIBE", topics=b"t")

    found = list(readings(SPOKEN, CODEC, "request", CODEC.encode(subscribe), None))

    assert ("control", named(subscribe)) in found


def test_a_push_is_read_after_what_is_reported_and_answered() -> None:
    pushed = message("MESSAGE", priority=1, topic=b"t", message=b"m")

    found = list(readings(SPOKEN, CODEC, "push", CODEC.encode(pushed), None, link="data", after=ATTACHED))

    assert found == [("data", named(pushed))]


def test_a_reply_that_is_reported_changes_what_follows() -> None:
    waiting = [*LOGGED_IN, message("PUBLISH_REPL", topic=b"t"), message("RESPONSE", code=2)]
    data = message("REPL_DATA", priority=1, timestamp=2, message=b"m")

    found = list(readings(SPOKEN, CODEC, "request", CODEC.encode(data), None, link="control", after=waiting))

    assert found == [("control", named(data))]


def test_an_error_is_given_by_its_code() -> None:
    assert list(readings(SPOKEN, CODEC, "request", b"\x04", None, link="control", after=LOGGED_IN)) == [
        ("control", "unknown_type")
    ]


def test_nothing_is_read_where_what_goes_before_cannot_be_said() -> None:
    nop = message("NOP")

    assert list(readings(SPOKEN, CODEC, "reply", b"\x01", nop, link="data")) == []


@pytest.mark.parametrize(("data", "expected"), [(b"\x01", "STATUS"), (b"\x07", "bad_status")])
def test_where_lines_have_no_opening_a_frame_is_read_at_once(data: bytes, expected: str) -> None:
    codec = THROTTR.codec(THROTTR.profiles["7.1.0"], "uint8")
    request = THROTTR.message("7.1.0", "PURGE")(key=b"k")

    got = read_back(THROTTR, codec, "reply", data, request)

    assert (got["name"] if isinstance(got, dict) else got) == expected
