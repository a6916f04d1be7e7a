"""JSON bodies and fields with defaults in cases: how they are written, matched, and what is said where they differ."""

from __future__ import annotations

from typing import Any

import pytest

from wireproof.conformance.suite.patterns import match
from wireproof.conformance.suite.symbolic import message_of, pattern_of
from wireproof.conformance.suite.symbols import SymbolError, Symbols
from wireproof.protocols import protocol
from wireproof.protocols.tmqp import Header
from wireproof.protocols.tmqp.replies import Response
from wireproof.protocols.tmqp.requests import CreateQueue

SYMBOLS = Symbols(protocol("tmqp"), "doc", "standard", case="c", namespace="n")


def problem(pattern: dict[str, Any], payload: bytes) -> str:
    found = match(pattern_of({"RESPONSE": {"payload": {"reads_as": pattern}}}), Response(payload=payload), SYMBOLS)
    return "" if found is None else found.expected


def test_fields_with_defaults_may_be_left_out() -> None:
    spec = message_of({"CREATE_QUEUE": {"id": "1", "headers": [{"name": "Queue-Id", "value": "7"}]}})

    assert SYMBOLS.message(spec) == CreateQueue(id=b"1", headers=(Header(b"Queue-Id", b"7"),))
    with pytest.raises(SymbolError, match=r"HEADER\.value is missing|headers\.value is missing"):
        SYMBOLS.message(message_of({"CREATE_QUEUE": {"headers": [{"name": "Queue-Id"}]}}))


def test_a_body_is_written_as_far_as_it_is_given() -> None:
    body = {"CHANNEL_OPTIONS": {"Status": "PULL", "AllowedQueues": [1, 2], "Authenticator": "x", "UseMessageId": False}}
    spec = message_of({"CREATE_QUEUE": {"payload": {"message": body}}})

    assert SYMBOLS.message(spec).payload == (  # type: ignore[attr-defined]
        b'{"UseMessageId":false,"Status":3,"AllowedQueues":[1,2],"Authenticator":"x"}'
    )


def test_a_body_is_matched_by_its_members() -> None:
    payload = b'{"Other":1,"Name":"a","Queues":[1,2],"ClientLimit":null,"HideClientNames":true}'

    matching = {"Name": "a", "Queues": [1, 2], "ClientLimit": None, "HideClientNames": True}
    assert problem({"CHANNEL_INFORMATION": matching}, payload) == ""
    assert "Name" in problem({"CHANNEL_INFORMATION": {"Name": "b"}}, payload)
    assert "ClientLimit" in problem({"CHANNEL_INFORMATION": {"ClientLimit": 1}}, payload)
    assert "expected a whole number" in problem({"CHANNEL_INFORMATION": {}}, b'{"ClientLimit":"1"}')
    assert "expected JSON" in problem({"CHANNEL_INFORMATION": {}}, b"")


def test_an_array_is_matched_as_a_table() -> None:
    payload = b'[{"Id":"a","Type":"t"},{"Id":"b"}]'

    assert problem({"CLIENT_LIST": {"rows": {"contains": [{"Id": "a", "Type": "t"}], "count": 2}}}, payload) == ""
    assert "Id=c" in problem({"CLIENT_LIST": {"rows": {"contains": [{"Id": "c"}]}}}, payload)


def test_the_name_of_a_message_may_be_a_variable() -> None:
    symbols = Symbols(protocol("tmqp"), "doc", "standard", case="c", namespace="n", variables={"r": "JOIN"})

    assert symbols.message(message_of({"{r}": {"id": "1"}})).NAME == "JOIN"
