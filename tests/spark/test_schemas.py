"""The record schema is the only contract between the suite and the job: both sides must say the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator
from pyspark.sql.types import ArrayType, DataType, LongType, MapType, StringType, StructType

from tests.places import ROOT
from wireproof.spark.schemas import EXCHANGE, LEVELS, RECORD, RECORD_SCHEMA_ID, REQUIRED, ROLES, WORST_FIRST

pytestmark = pytest.mark.spark
SCHEMA = json.loads((ROOT / "reports" / "schema" / "record.schema.json").read_text(encoding="utf-8"))


def spark_type(schema: dict[str, Any]) -> DataType:
    """The Spark type a JSON Schema stands for."""
    words = schema.get("enum") or [schema.get("const")]
    names = schema.get("type", ["string" for word in words if isinstance(word, str)])
    name = next(name for name in ([names] if isinstance(names, str) else names) if name != "null")
    if name == "array":
        return ArrayType(spark_type(schema["items"]))
    if name == "object" and "properties" in schema:
        fields = StructType()
        for field, inner in schema["properties"].items():
            fields.add(field, spark_type(inner))
        return fields
    return {"string": StringType(), "integer": LongType(), "object": MapType(StringType(), StringType())}[name]


def test_spark_reads_the_fields_and_types_of_the_published_schema() -> None:
    assert spark_type(SCHEMA) == RECORD


def test_an_exchange_has_the_published_fields() -> None:
    assert spark_type(SCHEMA["properties"]["exchange"]["items"]) == EXCHANGE


@pytest.mark.parametrize(("field", "words"), [("verdict", WORST_FIRST), ("level", LEVELS), ("role", ROLES)])
def test_the_closed_sets_are_the_published_ones(field: str, words: tuple[str, ...]) -> None:
    assert sorted(SCHEMA["properties"][field]["enum"]) == sorted(words)


def test_the_schema_id_is_the_published_one() -> None:
    assert SCHEMA["properties"]["schema"]["const"] == RECORD_SCHEMA_ID


def test_a_field_spark_needs_is_required_by_the_published_schema() -> None:
    assert set(REQUIRED) <= set(SCHEMA["required"])


def test_the_made_up_records_of_these_tests_are_valid(made_up_runs: Callable[..., Any]) -> None:
    check = Draft202012Validator(SCHEMA)

    records = [record for run in made_up_runs(cases=2) for record in run]
    assert [error.message for record in records for error in check.iter_errors(record)] == []
