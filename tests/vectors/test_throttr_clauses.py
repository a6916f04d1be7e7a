"""The clause list of throttr is valid under its schema, and speaks of every request type and profile."""

import json
import re
from itertools import groupby
from typing import Any

import jsonschema_rs
import pytest
import yaml

from tests.places import ROOT

PROFILES = ["7.1.0", "7.3.2"]
REQUEST_TYPES = [
    "INSERT", "QUERY", "UPDATE", "PURGE", "SET", "GET", "LIST", "INFO", "STAT", "STATS",
    "SUBSCRIBE", "UNSUBSCRIBE", "PUBLISH", "CONNECTIONS", "CONNECTION", "CHANNELS", "CHANNEL",
    "WHOAMI", "EVENT",
]  # fmt: skip
TOPICS = [
    "PUSH",
    "FRAMING",
    "WIDTH",
    "TTL",
    "EXPIRY",
    "RECORD",
    "FRAGMENT",
    "METRICS",
    "ROBUSTNESS",
    "CONCURRENCY",
    "BUDGET",
    "CLIENT",
]

Clause = dict[str, Any]


def load_schema() -> dict[str, Any]:
    schema: dict[str, Any] = json.loads((ROOT / "vectors/schema/clauses.schema.json").read_text())
    return schema


def load_document() -> dict[str, Any]:
    document: dict[str, Any] = yaml.load((ROOT / "vectors/throttr/clauses.yaml").read_text(), yaml.CSafeLoader)
    return document


CLAUSES: list[Clause] = load_document()["clauses"]


def test_the_schema_is_a_valid_schema() -> None:
    jsonschema_rs.meta.validate(load_schema())


def test_the_clause_list_is_valid_under_its_schema() -> None:
    jsonschema_rs.Draft202012Validator(load_schema()).validate(load_document())


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("level", "SHALL"),
        ("level", {"7.1.0": "MUST", "7.3.2": "OFTEN"}),
        ("level", {"7.1.0": "MUST"}),
        ("profiles", []),
        ("text", "x" * 300 + "."),
        ("text", "A sentence without its full stop"),
        ("id", "THR-INSERT-01"),
        ("errata", []),
        ("remark", "a field the schema does not know"),
    ],
)
def test_the_schema_refuses_a_malformed_clause(field: str, value: object) -> None:
    document = {"protocol": "throttr", "clauses": [CLAUSES[0] | {field: value}]}

    with pytest.raises(jsonschema_rs.ValidationError):
        jsonschema_rs.Draft202012Validator(load_schema()).validate(document)


def test_groups_stand_together_in_the_agreed_order() -> None:
    groups = [group for group, _ in groupby(CLAUSES, key=lambda clause: clause["group"])]

    assert groups == REQUEST_TYPES + TOPICS


@pytest.mark.parametrize("group", REQUEST_TYPES)
def test_every_request_type_has_a_clause_for_its_type_byte(group: str) -> None:
    texts = [c["text"] for c in CLAUSES if c["group"] == group]
    position = REQUEST_TYPES.index(group) + 1
    type_byte = f"{position if position < 10 else position + 6:02x}"

    assert any(re.search(rf"\bbyte {type_byte}\b", text, re.IGNORECASE) for text in texts)


@pytest.mark.parametrize("profile", PROFILES)
def test_every_group_speaks_for_both_profiles(profile: str) -> None:
    assert {c["group"] for c in CLAUSES if profile in c["profiles"]} == {*REQUEST_TYPES, *TOPICS}


def test_robustness_clauses_are_never_a_must() -> None:
    assert {c["level"] for c in CLAUSES if c["group"] == "ROBUSTNESS"} == {"SHOULD"}
