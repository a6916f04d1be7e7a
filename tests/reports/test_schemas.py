"""The published schemas are schemas, and hold what they promise: no unknown field, no unknown word."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator, meta

from tests.places import ROOT

SCHEMAS = ROOT / "reports" / "schema"

RECORD: dict[str, Any] = {
    "schema": "wireproof.record/1",
    "run_id": "r1",
    "run_started_at": "2026-01-01T10:00:00.000Z",
    "record_id": "0123456789ab",
    "role": "server",
    "implementation": "alpha",
    "implementation_version": "1.0",
    "protocol": "throttr",
    "profile": "7.1.0",
    "variant": "uint16",
    "case": "c",
    "title": "",
    "group": "INSERT",
    "level": "MUST",
    "clauses": ["THR-INSERT-1"],
    "verdict": "fail",
    "blamed": "THR-INSERT-1",
    "guilty": "target",
    "observed": None,
    "delivery": "whole",
    "step": 0,
    "byte": 3,
    "expected": "01",
    "got": "00",
    "exchange": [{"at_us": 0, "connection": "a", "direction": "sent", "hex": "07", "text": "LIST"}],
    "duration_us": 12,
    "extra": {"anything": [1, 2]},
}
RUN: dict[str, Any] = {
    "schema": "wireproof.run/1",
    "run_id": "r1",
    "started_at": "2026-01-01T10:00:00.000Z",
    "finished_at": None,
    "wireproof_version": "0.1.0",
    "implementation": "alpha",
    "implementation_version": "1.0",
    "target": "tcp://127.0.0.1:9000",
    "protocol": "throttr",
    "profile": "7.1.0",
    "variant": "uint16",
    "role": "server",
    "machine": {"system": "Linux", "machine": "x86_64", "python": "3.11.7", "cpus": 2},
    "options": {"jobs": 4},
    "counts": {"MUST": {"pass": 10, "fail": 1}, "MAY": {"pass": 3}},
    "deliveries": {"bytes": {"pass": 4, "hang": 1}},
    "namespace": "9f",
    "exit_code": 1,
}


def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(json.loads((SCHEMAS / f"{name}.schema.json").read_text()))


@pytest.mark.parametrize("path", sorted(SCHEMAS.glob("*.json")), ids=lambda path: path.name)
def test_every_schema_is_a_draft_2020_12_schema(path: Path) -> None:
    schema = json.loads(path.read_text())

    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    meta.validate(schema)


def test_a_record_is_valid() -> None:
    validator("record").validate(RECORD)


def test_a_run_is_valid() -> None:
    validator("run").validate(RUN)


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "wireproof.record/2"},
        {"verdict": "maybe"},
        {"level": "must"},
        {"clauses": []},
        {"record_id": "XYZ"},
        {"run_started_at": "2026-01-01 10:00"},
        {"guilty": "me"},
        {"byte": -1},
        {"unheard_of": 1},
        {"exchange": [{"hex": "07"}]},
    ],
    ids=str,
)
def test_a_record_that_breaks_the_contract_is_invalid(change: dict[str, Any]) -> None:
    assert not validator("record").is_valid(RECORD | change)


@pytest.mark.parametrize("name", sorted(RECORD))
def test_every_field_of_a_record_is_required(name: str) -> None:
    without = {key: value for key, value in RECORD.items() if key != name}

    assert not validator("record").is_valid(without)


@pytest.mark.parametrize("change", [{"unheard_of": 1}, {"counts": {"MUST": {"maybe": 1}}}, {"machine": {}}], ids=str)
def test_a_run_that_breaks_the_contract_is_invalid(change: dict[str, Any]) -> None:
    assert not validator("run").is_valid(RUN | change)
