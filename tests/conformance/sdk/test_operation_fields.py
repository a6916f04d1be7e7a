"""What `wireproof driver fields` says of the fields of operations."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from wireproof.conformance.commands.driver import command
from wireproof.conformance.sdk.operation_fields import (
    command_example,
    command_fields,
    event_fields,
    number_names,
    result_fields,
)
from wireproof.protocols import protocol, protocol_names
from wireproof.protocols.plain import Plain

THROTTR = Plain(protocol("throttr"), "7.3.2", "uint16")


def test_each_field_has_its_kind() -> None:
    kinds = {one.name: (one.kind, one.detail) for one in command_fields(THROTTR, "set")}

    assert kinds["key"] == ("bytes", "at most 255")
    assert kinds["ttl"] == ("number", "at most 65535")
    assert kinds["ttl_type"][0] == "word"
    assert kinds["ttl_type"][1].startswith("nanoseconds 1, ")
    rows = {one.name: one.kind for one in result_fields(THROTTR, "list")}
    assert (rows["rows.key"], rows["rows.time_point"], rows["rows.key_type"]) == ("bytes", "number", "word")
    assert result_fields(THROTTR, "connection")[0][:2] == ("id", "bytes")
    assert [one.name for one in command_fields(THROTTR, "connection")] == ["id_"]
    assert {one.name: one.kind for one in event_fields(THROTTR)} == {"channel": "bytes", "payload": "bytes"}


@pytest.mark.parametrize(
    "plain",
    [
        Plain(protocol(name), profile.name, one)
        for name in protocol_names()
        for profile in protocol(name).profiles.values()
        for one in profile.variants
    ],
    ids=lambda plain: f"{plain.protocol.name}-{plain.profile.name}-{plain.variant.name}",
)
def test_what_is_reported_of_an_example_is_what_it_holds(plain: Plain) -> None:
    for operation in plain.operations:
        line = json.loads(command_example(plain, operation))
        fields = {one.name: one.kind for one in command_fields(plain, operation)}
        assert {name for name in line if name not in ("id", "do", "connection")} == {
            name.split(".")[0] for name in fields
        }
        for name, kind in fields.items():
            if "." not in name:
                assert isinstance(line[name], dict) is (kind == "bytes")


def test_numbers_are_named_by_field_and_by_size() -> None:
    assert {"quota", "ttl", "value_size", "key_size", "bytes_used", "port", "1", "2", "8"} <= number_names(THROTTR)
    assert "key" not in number_names(THROTTR)


def test_the_command_shows_one_operation_or_refuses_it() -> None:
    right = CliRunner().invoke(command, ["fields", "throttr", "insert", "--profile", "7.3.2"])
    wrong = CliRunner().invoke(command, ["fields", "throttr", "nothing"])

    assert right.exit_code == 0
    assert '{"id": 3, "do": "insert", "connection": "a", "quota": "60"' in right.output
    assert (wrong.exit_code, "unknown operation 'nothing'" in wrong.output) == (2, True)
