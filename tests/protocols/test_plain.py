"""Messages as plain values: what a driver of an SDK is told and tells, in words and digits every language has."""

from __future__ import annotations

from typing import Any

import pytest

from wireproof.protocols import Message, protocol
from wireproof.protocols.fields import UInt
from wireproof.protocols.namechan.replies import Error
from wireproof.protocols.plain import Plain, PlainError, plain_bytes
from wireproof.protocols.psrt import PROTOCOL as PSRT
from wireproof.protocols.psrt.replies import DatagramReply, Response
from wireproof.protocols.psrt.replies import PushedMessage as Published
from wireproof.protocols.psrt.requests import Datagram, Publish, PublishRepl, ReplData
from wireproof.protocols.throttr import OK, REFUSED, TTLType
from wireproof.protocols.throttr.replies import (
    ChannelReply,
    ConnectionRow,
    EventReply,
    GetReply,
    ListFragment,
    ListReply,
    ListRow,
    PushedEvent,
    QueryReply,
    Subscriber,
    WhoamiReply,
)
from wireproof.protocols.throttr.requests import ConnectionById, Event, Insert, List
from wireproof.protocols.tmqp import PROTOCOL as TMQP
from wireproof.protocols.tmqp import Header
from wireproof.protocols.tmqp.replies import DirectMessage
from wireproof.protocols.tmqp.replies import Response as TmqpResponse
from wireproof.protocols.tmqp.requests import Join

OLD = Plain(protocol("throttr"), "7.1.0", "uint16")
NEW = Plain(protocol("throttr"), "7.3.2", "uint64")
SOCKETS = Plain(PSRT, "1", "standard")


def test_the_operations_are_the_requests_of_the_profile_in_lower_case() -> None:
    assert set(NEW.operations) - set(OLD.operations) == {"event"}
    assert NEW.operations["connection"] is ConnectionById
    assert set(OLD.operations) == {
        *("insert", "query", "update", "purge", "set", "get", "list", "info", "stat", "stats", "connection"),
        *("connections", "channel", "channels", "whoami", "publish", "subscribe", "unsubscribe"),
    }


@pytest.mark.parametrize(
    ("plain", "reply", "detail"),
    [
        (OLD, OK, {"status": True}),
        (OLD, REFUSED, {"status": False}),
        (NEW, QueryReply(2**64 - 1, 4, 59), {"quota": "18446744073709551615", "ttl_type": "seconds", "ttl": "59"}),
        (OLD, GetReply(9, 0, b"\0\xff"), {"ttl_type": "9", "ttl": "0", "value": {"hex": "00ff"}}),
        (OLD, WhoamiReply(bytes(16)), {"id": {"hex": "00" * 16}}),
        (NEW, EventReply(OK), {"reply": {"status": True}}),
        (NEW, PushedEvent(b"c", b"p"), {"channel": {"hex": "63"}, "payload": {"hex": "70"}}),
    ],
)
def test_a_reply_is_reported_by_the_names_of_its_layout(plain: Plain, reply: Any, detail: dict[str, Any]) -> None:
    assert plain.result(reply) == detail


def test_a_field_that_is_called_as_a_key_of_its_place_gets_another_name_there() -> None:
    plain = Plain(protocol("namechan"), "1", "standard")

    assert plain.name_within("text") == "text_"
    assert plain.name_within("id") == "id"
    assert plain.name_beside("id") == "id_"


def test_fragments_are_one_list_of_rows() -> None:
    rows = [ListRow(b"a", 0, 4, 5, 2), ListRow(b"b", 1, 4, 6, 3), ListRow(b"", 1, 4, 7, 3)]
    reply = ListReply((ListFragment(1, (rows[0], rows[1])), ListFragment(2, (rows[2],))))

    detail = OLD.result(reply)

    assert [row["time_point"] for row in detail["rows"]] == ["5", "6", "7"]
    assert detail["rows"][0]["key_type"] == "counter"
    assert list(detail) == ["rows"]


def test_rows_of_a_plain_table_keep_its_name() -> None:
    detail = OLD.result(ChannelReply((Subscriber(bytes(16), 1, 2, 3),)))

    assert detail["subscribers"][0]["subscribed_at"] == "1"


def test_what_a_profile_does_not_have_is_left_out() -> None:
    row = ConnectionRow(bytes(16), 0, 1, 4, bytes(16), *[0] * 26)

    assert "kind" not in OLD.result(row)
    assert NEW.result(row)["kind"] == "1"


@pytest.mark.parametrize(("operation", "name"), [("list", "rows"), ("channel", "subscribers"), ("whoami", "id")])
def test_the_one_field_of_a_reply_has_the_name_its_result_has(operation: str, name: str) -> None:
    assert OLD.result_name(operation) == name


@pytest.mark.parametrize(
    ("operation", "fields", "request_"),
    [
        (
            "insert",
            {"key": {"text": "ü"}, "quota": "7", "ttl_type": "seconds", "ttl": "60"},
            Insert(7, TTLType.SECONDS, 60, b"\xc3\xbc"),
        ),
        (
            "insert",
            {"key": {"hex": ""}, "quota": "99999", "ttl_type": "77", "ttl": "0"},
            Insert(99999, 77, 0, b""),
        ),
        ("list", {}, List()),
        ("connection", {"id_": {"hex": "00" * 16}}, ConnectionById(bytes(16))),
        ("event", {"channel": {"hex": "00"}, "payload": {"hex": "18"}}, Event(b"\0", b"\x18")),
    ],
)
def test_fields_are_read_whatever_fits(operation: str, fields: dict[str, Any], request_: Message) -> None:
    assert NEW.operations[operation](**NEW.values(operation, fields)) == request_


@pytest.mark.parametrize("operation", NEW.operations)
def test_a_request_reported_and_read_again_is_the_same(operation: str) -> None:
    kinds = NEW.layout(NEW.operations[operation]).fields
    values = {name: 1 if isinstance(kind, UInt) else b"\0\xff" * 8 for name, kind in kinds}

    request = NEW.operations[operation](**values)

    assert NEW.values(operation, NEW.beside(request)) == values


@pytest.mark.parametrize(
    ("operation", "fields", "detail"),
    [
        ("nope", {}, "unknown operation 'nope': expected one of .*insert"),
        ("query", {}, "query: expected key; key is missing"),
        ("list", {"key": 1}, "list: expected no field; key is not a field of it"),
        ("query", {"key": "6b"}, r'query\.key: expected {"hex": "\.\.\."} or {"text": "\.\.\."}, got \'6b\''),
        ("query", {"key": {"hex": "6"}}, r"query\.key: expected"),
        ("query", {"key": {"hex": "6b", "text": "k"}}, r"query\.key: expected"),
        ("query", {"key": {"text": "k", "hex": 1}}, r"query\.key: expected"),
        ("query", {"key": [0] * 99}, r"query\.key: expected .* got \[0, .*…$"),
        *(
            (
                "update",
                {"key": {"hex": ""}, "attribute": "quota", "change": "patch", "value": wrong},
                r"update\.value: expected a string of decimal digits, got",
            )
            for wrong in (7, "-1", "", "1.0", "patch", "²", None)
        ),
        (
            "update",
            {"key": {"hex": ""}, "attribute": "PATCH", "change": "patch", "value": "1"},
            r"update\.attribute: expected quota, ttl or a string of decimal digits, got 'PATCH'",
        ),
    ],
)
def test_what_is_no_request_is_refused_with_what_was_expected(operation: str, fields: Any, detail: str) -> None:
    with pytest.raises(PlainError, match=detail):
        OLD.values(operation, fields)


def test_bytes_of_their_own_are_read_too() -> None:
    assert plain_bytes({"hex": "FF00"}) == b"\xff\0"


@pytest.mark.parametrize(
    ("profile", "variant", "detail"),
    [("9", "uint8", "unknown profile '9': expected 7.1.0 or 7.3.2"), ("7.1.0", "int", "unknown variant 'int'")],
)
def test_an_unknown_profile_or_variant_is_answered_with_the_known_ones(profile: str, variant: str, detail: str) -> None:
    with pytest.raises(PlainError, match=detail):
        Plain(protocol("throttr"), profile, variant)


def test_a_flag_is_true_or_false() -> None:
    assert NEW.fields(OK) == {"ok": True}


def test_what_an_sdk_does_by_itself_is_no_operation() -> None:
    assert list(SOCKETS.operations) == ["publish", "subscribe", "unsubscribe", "publish_repl", "bye", "datagram"]


def test_requests_that_a_user_asks_for_at_once_are_one_operation() -> None:
    first, then = PublishRepl(b"q/z"), ReplData(127, 1, b"m")

    assert SOCKETS.parts("publish_repl") == (PublishRepl, ReplData)
    assert SOCKETS.parts("publish") == (Publish,)
    assert SOCKETS.values("publish_repl", SOCKETS.beside(first) | SOCKETS.beside(then)) == {
        "topic": b"q/z",
        "priority": 127,
        "timestamp": 1,
        "message": b"m",
    }


def test_what_an_sdk_fills_in_by_itself_is_not_reported() -> None:
    datagram = SOCKETS.beside(Datagram(1, 2, b"u", b"k" * 32, 0x21, 127, b"t", b"m"))

    assert SOCKETS.result(DatagramReply(1, 0xFE)) == {"code": "err_access"}
    assert SOCKETS.result_name("datagram") == "code"
    assert (datagram["encryption"], datagram["op"]) == ("aes_128_gcm", "publish_no_ack")
    assert "version" not in datagram
    assert "version" not in SOCKETS.values("datagram", datagram)


def test_a_response_and_a_push_are_reported_by_name() -> None:
    assert SOCKETS.result(Response(0xE0)) == {"code": "not_required"}
    assert SOCKETS.beside(Published(0, b"a", b"")) == {"priority": "0", "topic": {"hex": "61"}, "message": {"hex": ""}}


def test_what_connecting_takes_besides_is_read() -> None:
    given = {"login": {"text": "u"}, "timeout": "2.5", "tls": "starttls", "ca": "/x.pem"}

    assert SOCKETS.connect_values(given) == {"login": b"u", "timeout": 2.5, "tls": "starttls", "ca": "/x.pem"}


@pytest.mark.parametrize(
    ("field", "value", "detail"),
    [
        ("user", "u", "connect: user is not a field of it"),
        ("login", "u", r'connect\.login: expected {"hex"'),
        ("timeout", "-1", r"connect\.timeout: expected seconds in decimal digits, got '-1'"),
        ("timeout", 5, r"connect\.timeout: expected seconds"),
        ("tls", "always", r"connect\.tls: expected none or starttls, got 'always'"),
        ("ca", {"hex": ""}, r"connect\.ca: expected a path, got"),
    ],
)
def test_what_connecting_does_not_take_is_refused(field: str, value: Any, detail: str) -> None:
    with pytest.raises(PlainError, match=detail):
        SOCKETS.connect_values({field: value})


def test_rows_in_commands_are_rows_of_the_message() -> None:
    plain = Plain(TMQP, "doc", "standard")
    fields = {"pending_response": "1", "pending_ack": "0", "target": {"text": "room"}, "payload": {"hex": ""}}
    row = {"name": {"text": "Queue-Id"}, "value": {"text": "7"}}

    values = plain.values("join", {**fields, "headers": [row, row]})

    assert values["headers"] == (Header(b"Queue-Id", b"7"),) * 2
    for wrong in ({"hex": ""}, [1], [{"name": {"hex": ""}}], [{**row, "more": {"hex": ""}}]):
        with pytest.raises(PlainError, match=r"join.headers"):
            plain.values("join", {**fields, "headers": wrong})


def test_what_an_sdk_chooses_is_neither_asked_for_nor_reported() -> None:
    plain = Plain(TMQP, "doc", "standard")
    reply = TmqpResponse(id=b"1", target=b"me", content_type=404, payload=b"why")

    assert plain.result(reply) == {"content_type": "not_found", "headers": [], "payload": {"hex": "776879"}}
    assert {"id_", "source", "ttl", "content_type"}.isdisjoint(plain.beside(Join(target=b"room")))


def test_an_event_says_which_push_it_is_where_there_are_several() -> None:
    plain = Plain(TMQP, "doc", "standard")
    reported = plain.event(DirectMessage(id=b"1", content_type=404))

    assert (reported["push"], reported["id_"], reported["content_type"]) == ("direct", {"hex": "31"}, "404")
    assert "push" not in NEW.event(PushedEvent(b"c", b"p"))


def test_a_reply_that_holds_another_one_says_so() -> None:
    assert NEW.has_nested(EventReply)
    assert not NEW.has_nested(QueryReply)
    assert (NEW.name_beside("push"), NEW.name_beside("key")) == ("push_", "key")


def test_a_field_named_as_the_keys_of_bytes_are_is_written_otherwise() -> None:
    plain = Plain(protocol("namechan"), "1", "standard")

    assert plain.result(Error(b"no")) == {"text_": {"hex": "6e6f"}}


def test_what_is_asked_at_a_listener_for_others_is_no_operation() -> None:
    assert list(Plain(protocol("namechan"), "1", "standard").operations) == ["subscribe", "unsubscribe"]
    assert "publish" in Plain(protocol("namechan"), "1+publish", "standard").operations
