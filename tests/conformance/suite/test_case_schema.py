"""The schemas of what people write: what the types give; they take every case, and find what is misspelt."""

import json
from functools import cache
from typing import Any

import jsonschema_rs
import pytest

from wireproof.conformance.suite.case_forms import BESIDE
from wireproof.conformance.suite.case_schema import schemas
from wireproof.conformance.suite.documents import vectors_root
from wireproof.conformance.suite.steps import VERBS
from wireproof.conformance.suite.yaml_documents import parsed

FILES = sorted(
    path
    for path in vectors_root().rglob("*.yaml")
    if path.parent.name in ("cases", "sdk") or path.name == "sequences.yaml"
)
CASE = {"id": "query/one", "title": "A title long enough", "clauses": ["THR-QUERY-1"]}


@cache
def validator(name: str) -> Any:
    return jsonschema_rs.validator_for(json.loads(schemas()[f"{name}.schema.json"]))


@pytest.mark.parametrize("name", schemas())
def test_the_committed_schema_is_what_the_types_give(name: str) -> None:
    assert (vectors_root() / "schema" / name).read_text(encoding="utf-8") == schemas()[name], "wireproof docs"


@pytest.mark.parametrize("path", FILES, ids=lambda path: "/".join(path.parts[-3:]))
def test_every_file_is_right_by_its_schema(path: Any) -> None:
    kind = {"cases": "cases", "sdk": "sdk-cases"}.get(path.parent.name, "sequences")

    assert validator(kind).is_valid(parsed(path.read_text(encoding="utf-8"), path.name))


@pytest.mark.parametrize(
    ("step", "right"),
    [
        ({"send": "INFO", "expect": "ok"}, True),
        ({"sned": "INFO"}, False),
        ({"expect": {"QUERY_REPLY": {"ttl": {"at_least": 3}}}}, True),
        ({"expect": {"QUERY_REPLY": {"ttl": {"at_leest": 3}}}}, False),
        ({"closed": {"name": "a"}}, False),
        ({"repeat": {"each": {"i": [1, 2]}, "steps": [{"wait": 1}]}}, True),
        ({"repeat": {"each": {"i": [1]}, "steps": [{"wait": 1}]}}, False),
    ],
)
def test_editors_that_use_the_schema_find_what_is_misspelt(step: Any, right: bool) -> None:
    assert validator("cases").is_valid({"protocol": "throttr", "cases": [{**CASE, "steps": [step]}]}) is right


def test_every_verb_is_in_the_schemas() -> None:
    steps = json.loads(schemas()["cases.schema.json"])["$defs"]["Step"]["properties"]
    sequences = json.loads(schemas()["sequences.schema.json"])
    named = sequences["additionalProperties"]["properties"]["steps"]["items"]["propertyNames"]["enum"]

    assert set(steps) == {*VERBS, "perform", *BESIDE}
    assert set(named) == {*steps, "by_profile", "by_variant"}
