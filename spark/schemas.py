"""The record contract as Spark types, and the values it allows.

`reports/schema/record.schema.json` has the same names and types; a test compares the two.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql.types import ArrayType, LongType, MapType, StringType, StructField, StructType, TimestampType

RECORD_SCHEMA_ID: Final = "wireproof.record/1"

WORST_FIRST: Final = ("crash", "hang", "fail", "lenient", "harness_error", "untestable", "unsupported", "pass")
"""Every verdict, the most important first."""
NOT_REQUIRED: Final = "not_required"
"""What a cell counts in place of a verdict where the requirement set of the run asks for no play of a case."""
COUNTED: Final = (*WORST_FIRST, NOT_REQUIRED)
BLAMING: Final = ("crash", "hang", "fail", "lenient")
"""Verdicts that count for one clause only: the one that they are blamed on."""
SCORED: Final = ("pass", *BLAMING)
"""Verdicts that `n` counts."""
LEVELS: Final = ("MUST", "SHOULD", "MAY")
SCORED_LEVELS: Final = ("MUST", "SHOULD")
ROLES: Final = ("server", "client")

COLUMN_KEY: Final = ("protocol", "profile", "variant", "role", "implementation", "implementation_version")
"""What identifies a column of a matrix; one run is kept for each."""

_text, _number = StringType(), LongType()

EXCHANGE: Final = StructType(
    [
        StructField("at_us", _number),
        StructField("connection", _text),
        StructField("direction", _text),
        StructField("hex", _text),
        StructField("text", _text),
        StructField("link", _text),
        StructField("zlib", _text),
    ]
)

RECORD: Final = StructType(
    [
        StructField("schema", _text),
        StructField("run_id", _text),
        StructField("run_started_at", _text),
        StructField("record_id", _text),
        StructField("role", _text),
        StructField("implementation", _text),
        StructField("implementation_version", _text),
        StructField("protocol", _text),
        StructField("profile", _text),
        StructField("variant", _text),
        StructField("case", _text),
        StructField("title", _text),
        StructField("group", _text),
        StructField("level", _text),
        StructField("clauses", ArrayType(_text)),
        StructField("verdict", _text),
        StructField("blamed", _text),
        StructField("guilty", _text),
        StructField("observed", _text),
        StructField("delivery", _text),
        StructField("step", _number),
        StructField("byte", _number),
        StructField("expected", _text),
        StructField("got", _text),
        StructField("exchange", ArrayType(EXCHANGE)),
        StructField("duration_us", _number),
        StructField("run_cases", _number),
        StructField("partial", _text),
        StructField("not_required", _text),
        StructField("peer", _text),
        StructField("peer_version", _text),
        StructField("extra", MapType(_text, _text)),
    ]
)

REQUIRED: Final = (
    "run_id",
    "run_started_at",
    "record_id",
    "role",
    "implementation",
    "implementation_version",
    "protocol",
    "profile",
    "variant",
    "case",
    "group",
    "level",
    "clauses",
    "verdict",
    "delivery",
)
"""Fields that every cell needs; a line without one of them is foreign."""

LINES: Final = StructType([StructField("value", _text), StructField("source", _text)])
"""What the job reads: a line of text and its file."""

CLASSIFIED: Final = StructType(
    [
        StructField("source", _text),
        StructField("kind", _text),
        StructField("reason", _text),
        StructField("example", _text),
        *RECORD.fields,
        StructField("started", TimestampType()),
    ]
)
"""A line and its kind: record, corrupt or foreign. Reason and example (its beginning) are null for a record."""
