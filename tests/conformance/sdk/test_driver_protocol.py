"""Every line between wireproof and a driver has a schema, and what breaks it is told in words an author can use."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema_rs import meta

from wireproof.conformance.sdk.driver_protocol import (
    SCHEMAS,
    DriverAnswer,
    DriverError,
    DriverEvent,
    DriverMessageError,
    FailureKind,
    command_faults,
    command_line,
    hello_of,
    message_faults,
    parse_line,
)

HELLO: dict[str, Any] = {
    "protocol_version": "wireproof.driver/1",
    "sdk": {"name": "s", "version": "1", "language": "C"},
    "protocol": "p",
    "profiles": ["1"],
    "variants": ["a"],
    "operations": [],
    "binary_safe": False,
    "largest_number": "9007199254740991",
}
ROW = {"key": {"hex": "00Ff"}, "ttl": "9"}


@pytest.mark.parametrize("path", sorted(SCHEMAS.glob("*")), ids=lambda path: path.name)
def test_every_schema_is_a_draft_2020_12_schema(path: Any) -> None:
    schema = json.loads(path.read_text())

    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["description"]
    meta.validate(schema)


@pytest.mark.parametrize(
    "command",
    [
        {"id": 1, "do": "hello"},
        {"id": 0, "do": "connect", "connection": "a", "host": "::1", "port": 1, "profile": "1", "reconnect": True},
        {"id": 2, "do": "insert", "connection": "a", "key": {"hex": ""}, "quota": "7", "ttl_type": "seconds"},
        {"id": 2, "do": "list", "connection": "a"},
        {"id": 3, "do": "batch", "connection": "a", "requests": [{"do": "get", "key": {"text": "k"}}]},
        {"id": 4, "do": "close", "connection": "a"},
        {"id": 5, "do": "quit"},
    ],
    ids=lambda command: command["do"],
)
def test_commands_are_valid(command: dict[str, Any]) -> None:
    assert command_faults(command) == []


@pytest.mark.parametrize(
    ("command", "detail"),
    [
        ({"id": -1, "do": "hello"}, "-1 is less than the minimum of 0"),
        ({"id": 1, "do": "hello", "x": "1"}, "Additional properties are not allowed ('x' was unexpected)"),
        ({"id": 1, "do": "query"}, '"connection" is a required property'),
        ({"id": 1, "do": "query", "connection": "a", "key": 5}, "expected"),
        ({"id": 1, "do": "connect", "connection": "a", "host": "h", "port": 0}, "port: 0 is less than"),
        ({"id": 1, "do": "batch", "connection": "a", "requests": [{}]}, 'requests.0: "do" is a required property'),
    ],
)
def test_commands_that_are_none(command: dict[str, Any], detail: str) -> None:
    assert detail in "; ".join(command_faults(command))


@pytest.mark.parametrize(
    ("message", "read"),
    [
        ({"id": 1, "ok": True, "result": {}}, DriverAnswer(1, {})),
        ({"id": 1, "ok": True, "result": {"status": True}}, DriverAnswer(1, {"status": True})),
        ({"id": 1, "ok": True, "result": {"rows": [ROW]}}, DriverAnswer(1, {"rows": [ROW]})),
        ({"id": 1, "ok": True, "result": {"reply": ROW}}, DriverAnswer(1, {"reply": ROW})),
        (
            {"id": 1, "ok": False, "error": {"kind": "too_wide", "told": ""}},
            DriverAnswer(1, {}, DriverError(FailureKind.TOO_WIDE, "")),
        ),
        (
            {"event": "message", "connection": "a", "channel": None, "payload": {"hex": ""}},
            DriverEvent("message", "a", {"channel": None, "payload": {"hex": ""}}),
        ),
        ({"event": "closed", "connection": "a", "told": "gone"}, DriverEvent("closed", "a", {"told": "gone"})),
        ({"event": "reconnected", "connection": "a"}, DriverEvent("reconnected", "a", {})),
    ],
)
def test_a_line_is_read(message: dict[str, Any], read: DriverAnswer | DriverEvent) -> None:
    assert parse_line(json.dumps(message).encode()) == read


def test_hello_is_read() -> None:
    answer = parse_line(json.dumps({"id": 1, "ok": True, "result": HELLO}).encode(), {1: "hello"}.get)

    assert isinstance(answer, DriverAnswer)
    hello = hello_of(answer)
    assert (hello.sdk.language, hello.largest_number, hello.reconnects) == ("C", "9007199254740991", False)


@pytest.mark.parametrize("name", sorted(HELLO))
def test_every_field_of_hello_is_required(name: str) -> None:
    without = {key: value for key, value in HELLO.items() if key != name}

    assert message_faults({"id": 1, "ok": True, "result": without}, "hello") == [
        f'result: "{name}" is a required property'
    ]


def test_a_hello_that_failed_is_reported() -> None:
    with pytest.raises(DriverMessageError, match="hello failed: other: no SDK"):
        hello_of(DriverAnswer(1, {}, DriverError(FailureKind.OTHER, "no SDK")))


FIELD = 'expected {"hex": "..."}, a string (of digits, for a number)'


@pytest.mark.parametrize(
    ("line", "detail", "id"),
    [
        (b"hi\n", "expected a JSON object, got 'hi': Expecting value", None),
        (b"[1]", "expected a JSON object, got '[1]'", None),
        (b'{"id": 1, "told": "\xff\xfe"}', "expected UTF-8, got fffe227d", None),
        (b'{"id": 4}', "expected an answer with ok true or false, or an event", 4),
        (b'{"event": "pushed"}', "event: expected message, closed or reconnected, got 'pushed'", None),
        (b'{"id": 4, "ok": true}', '"result" is a required property', 4),
        (b'{"id": "4", "ok": true, "result": {}}', 'id: "4" is not of type "integer"', None),
        (b'{"id": 4, "ok": true, "result": {"a": 18446744073709551615}}', f"result.a: {FIELD}", 4),
        (b'{"id": 4, "ok": true, "result": {"a": {"hex": "0"}}}', f"result.a: {FIELD}", 4),
        (b'{"id": 4, "ok": true, "result": {"a": {"hex": "", "x": "1"}}}', f"result.a: {FIELD}", 4),
        (b'{"id": 4, "ok": true, "result": {"rows": [{"n": "1"}, {"n": 2}]}}', f"result.rows.1.n: {FIELD}", 4),
        (b'{"id": 4, "ok": true, "result": {"a": ["x"]}}', f"result.a: {FIELD}", 4),
        (
            b'{"id": 4, "ok": false, "error": {"kind": "bad", "told": ""}}',
            "error.kind: expected one of refused, too_wide, too_long, timeout, closed, protocol, unsupported, other, "
            "got 'bad'",
            4,
        ),
        (b'{"id": 4, "ok": false, "result": {}}', '"error" is a required property', 4),
    ],
)
def test_a_line_that_is_no_message_is_reported_in_words(line: bytes, detail: str, id: int | None) -> None:
    with pytest.raises(DriverMessageError) as caught:
        parse_line(line)

    assert detail in str(caught.value)
    assert caught.value.id == id


def test_a_command_is_one_line_of_utf_8() -> None:
    line = command_line(3, "get", {"connection": "a", "key": {"text": "ü\n"}})

    assert line.endswith(b'"\xc3\xbc\\n"}}\n')
    assert line.count(b"\n") == 1


def test_the_largest_number_may_differ_by_field_and_by_size() -> None:
    printed = {"largest_number": "255", "largest_numbers": {"quota": "18446744073709551615", "4": "2147483647"}}
    hello = hello_of(DriverAnswer(1, HELLO | printed))

    assert hello.largest("quota", 8) == 2**64 - 1
    assert hello.largest("index", 4) == 2**31 - 1
    assert hello.largest("ttl", 8) == 255
    assert hello.smallest == 255


@pytest.mark.parametrize("wrong", [{"quota": 7}, {"quota": "x"}, {"No Field": "7"}, ["quota"]])
def test_a_largest_number_that_is_none_is_reported(wrong: object) -> None:
    with pytest.raises(DriverMessageError, match="largest_numbers"):
        hello_of(DriverAnswer(1, HELLO | {"largest_numbers": wrong}))
