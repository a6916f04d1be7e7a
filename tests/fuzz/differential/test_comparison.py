"""What two answers are compared by: meaning, not time, ids, other clients' records or who was faster."""

from __future__ import annotations

import pytest

from wireproof.conformance.model.trace import Kind, Trace, TraceEvent
from wireproof.fuzz.differential.answer_views import TimeUntilExpiry
from wireproof.fuzz.differential.comparison import AnswerDifference, differences
from wireproof.fuzz.live.canaries import canary
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.observation import Play
from wireproof.protocols.throttr.replies import PushedEvent

CONTEXT = FuzzContext("throttr", "7.1.0", "uint16")
KEY = canary(1) + b"k"
QUERY, WHOAMI, LIST = b"\x02\x0b" + KEY, b"\x18", b"\x07"


def played(*events: tuple[Kind, bytes] | Kind, sent: bytes = QUERY, context: FuzzContext = CONTEXT) -> Play:
    message = [(Kind.OPENED, b""), (Kind.SENT, sent), *((one, b"") if isinstance(one, Kind) else one for one in events)]
    return Play((), Trace(TraceEvent(0, "a", kind, data) for kind, data in message), context, 1.0)


def came(data: bytes) -> tuple[Kind, bytes]:
    return Kind.RECEIVED, data


def found(one: Play, other: Play) -> AnswerDifference | None:
    return next(differences([one, other]), None)


def row(key: bytes, time_point: int, used: int) -> bytes:
    return bytes([len(key), 1, 4]) + time_point.to_bytes(8, "little") + used.to_bytes(2, "little")


def listed(*rows: tuple[bytes, int, int]) -> bytes:
    number = len(rows).to_bytes(8, "little")
    body = b"".join(row(*one) for one in rows) + b"".join(key for key, _, _ in rows)
    return (1).to_bytes(8, "little") * 2 + number + body


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (played(came(b"\x01\x07\x00\x04\x3c\x00")), played(came(b"\x01\x07\x00\x04\x3b\x00"))),
        (played(came(b"a" * 16), sent=WHOAMI), played(came(b"b" * 16), sent=WHOAMI)),
        (played(Kind.ENDED), played(Kind.RESET)),
        (played(Kind.CLOSED), played(came(b"\x00"), Kind.CLOSED)),
        (
            played(came(b"\x00" + listed((KEY, 9, 3), (b"foreign", 5, 3))), sent=QUERY + LIST),
            played(came(b"\x00" + listed((KEY, 7, 3))), sent=QUERY + LIST),
        ),
    ],
)
def test_what_two_right_servers_may_answer_is_alike(one: Play, other: Play) -> None:
    assert found(one, other) is None


@pytest.mark.parametrize(
    ("one", "other", "shape"),
    [
        (played(came(b"\x00")), played(came(b"\x01\x07\x00\x04\x3c\x00")), "QUERY: STATUS ok=False | QUERY_REPLY"),
        (
            played(came(b"\x01\x07\x00\x04\x3c\x00")),
            played(came(b"\x01\x08\x00\x04\x3c\x00")),
            "QUERY: QUERY_REPLY.quota differs",
        ),
        (
            played(came(b"\x01\x07\x00\x04\x3c\x00")),
            played(came(b"\x01\x07\x00\x04\x0c\x00")),
            "QUERY: QUERY_REPLY.ttl differs",
        ),
        (played(came(b"\x00")), played(Kind.SILENT), "QUERY: STATUS ok=False | no answer"),
        (played(came(b"\x00")), played(Kind.ENDED), "QUERY: STATUS ok=False | the connection is closed"),
        (played(came(b"\x00")), played(came(b"\x09")), "QUERY: STATUS ok=False | no reply (bad_status)"),
        (
            played(sent=b"\xff"),
            played(Kind.RESET, sent=b"\xff"),
            "what is no request: nothing | the connection is closed",
        ),
        (
            played(came(b"\x00" + listed((KEY, 9, 3))), sent=QUERY + LIST),
            played(came(b"\x00" + listed()), sent=QUERY + LIST),
            "LIST: LIST_REPLY.rows differs",
        ),
    ],
)  # fmt: skip
def test_what_means_something_else_is_a_difference(one: Play, other: Play, shape: str) -> None:
    different = found(one, other)

    assert different is not None
    assert different.shape == shape


def test_a_connection_that_one_server_refuses_is_a_difference() -> None:
    refused = Play((), Trace(), CONTEXT, 1.0)

    different = found(played(came(b"\x00")), refused)

    assert different is not None
    assert different.kinds == ("taken", "refused")


def test_pushes_are_compared_by_what_they_hold() -> None:
    context = FuzzContext("throttr", "7.3.2", "uint16")
    subscribe = b"\x11\x0b" + KEY
    push = b"\x19\x0b\x02\x00" + KEY
    one, other = (played(came(b"\x01" + push + body), sent=subscribe, context=context) for body in (b"hi", b"ho"))
    none = played(came(b"\x01"), sent=subscribe, context=context)

    assert [one.shape for one in differences([one, other])] == ["PUSH: PUSH.payload differs"]
    assert [one.shape for one in differences([one, none])] == ["PUSH: PUSH | nothing"]


def test_a_push_to_the_id_of_a_connection_is_compared_by_whose_it_is() -> None:
    """Two right servers differed as soon as a client published to the id of another one."""
    context = FuzzContext("throttr", "7.3.2", "uint16")

    def pushed(to: bytes, known: bytes) -> Play:
        push = context.symbols.codec.encode(PushedEvent(to.hex().encode(), b"x"))
        return played(came(b"\1" + known), came(push), sent=WHOAMI, context=context)

    one, other = b"a" * 16, b"b" * 16

    assert found(pushed(one, one), pushed(other, other)) is None
    assert found(pushed(one, one), pushed(one, other)) is not None


def test_time_left_agrees_within_what_a_play_takes_and_a_unit() -> None:
    second, hour = 10**9, 3600 * 10**9

    assert TimeUntilExpiry(60 * second, second).agrees(TimeUntilExpiry(58 * second, second))
    assert not TimeUntilExpiry(60 * second, second).agrees(TimeUntilExpiry(50 * second, second))
    assert TimeUntilExpiry(2 * hour, hour).agrees(TimeUntilExpiry(hour, hour))
