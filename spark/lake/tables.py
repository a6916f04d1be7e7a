"""The tables of a lake as Spark types, and how older formats are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every reader of Spark code knows
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DateType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from wireproof.spark.schemas import COLUMN_KEY, EXCHANGE, WORST_FIRST

FORMAT: Final = 2
"""Format of the tables below; a marker says which one its batch has."""

_text, _number, _small = StringType(), LongType(), IntegerType()

RECORDS: Final = StructType(
    [
        StructField("protocol", _text),
        StructField("column_id", _number),
        StructField("run_key", _number),
        StructField("case", _text),
        StructField("record_id", _text),
        StructField("run_id", _text),
        StructField("started", TimestampType()),
        StructField("day", DateType()),
        StructField("profile", _text),
        StructField("variant", _text),
        StructField("role", _text),
        StructField("implementation", _text),
        StructField("implementation_version", _text),
        StructField("title", _text),
        StructField("group", _text),
        StructField("level", _text),
        StructField("clauses", ArrayType(_text)),
        StructField("verdict", _text),
        StructField("not_required", _text),
        StructField("blamed", _text),
        StructField("guilty", _text),
        StructField("observed", _text),
        StructField("peer", _text),
        StructField("peer_version", _text),
        StructField("delivery", _text),
        StructField("step", _number),
        StructField("byte", _number),
        StructField("duration_us", _number),
        StructField("evidence_id", _text),
        StructField("case_rank", _small),
        StructField("counts", BooleanType()),
    ]
)
"""One row a play. `case_rank` is the worst verdict of the case in this run, over all segmentations (1: crash, 8: pass),
of plays that the requirement set asks for; `counts` is true for one of these of each case of a run, so that
`where counts` is one row a case."""

EVIDENCE: Final = StructType(
    [
        StructField("evidence_id", _text),
        StructField("protocol", _text),
        StructField("expected", _text),
        StructField("got", _text),
        StructField("exchange", ArrayType(EXCHANGE)),
        StructField("extra", _text),
    ]
)
"""What crossed the wire, addressed by its content; plays that passed or are unsupported have none."""

RUNS: Final = StructType(
    [
        StructField("protocol", _text),
        StructField("column_id", _number),
        StructField("run_key", _number),
        StructField("run_id", _text),
        StructField("started", TimestampType()),
        StructField("profile", _text),
        StructField("variant", _text),
        StructField("role", _text),
        StructField("implementation", _text),
        StructField("implementation_version", _text),
        StructField("records", _number),
        StructField("cases", _number),
        StructField("planned", _number),
        StructField("partial", _text),
        StructField("must_passed", _number),
        StructField("must_scored", _number),
        StructField("should_passed", _number),
        StructField("should_scored", _number),
    ]
)
"""One row a run of a column. `partial` says why it is not complete."""

QUARANTINE: Final = StructType(
    [
        StructField("source", _text),
        StructField("kind", _text),
        StructField("reason", _text),
        StructField("line", _text),
    ]
)
"""Lines that are no records, with the reason and their beginning."""

FINDINGS: Final = StructType(
    [
        StructField("id", _text),
        StructField("protocol", _text),
        StructField("profile", _text),
        StructField("variant", _text),
        StructField("implementation", _text),
        StructField("target", _text),
        StructField("engine", _text),
        StructField("oracle", _text),
        StructField("clause", _text),
        StructField("told", _text),
        StructField("shape", _text),
        StructField("state", _text),
        StructField("found_at", _text),
        StructField("found_by", _text),
        StructField("executions", _number),
        StructField("seen", _number),
        StructField("tries", _number),
    ]
)
"""One row a finding of fuzzing (reports/schema/finding.schema.json): it was seen again in `seen` of `tries`."""

KILLS: Final = StructType(
    [
        StructField("matrix", _text),
        StructField("taken_at", _text),
        StructField("wireproof_version", _text),
        StructField("protocol", _text),
        StructField("profile", _text),
        StructField("variant", _text),
        StructField("mutant", _text),
        StructField("told", _text),
        StructField("group", _text),
        StructField("case", _text),
        StructField("verdict", _text),
        StructField("blamed", _text),
        StructField("right", BooleanType()),
    ]
)
"""One row a mutant and case that fails it (reports/schema/kill-matrix.schema.json); a mutant that survived has one row
without a case. `matrix` is a hash of the file, `right` whether the clause that is blamed is one that is broken."""

COLUMN_FIELDS: Final = ("protocol", "profile", "variant", "role", "implementation", "implementation_version")
PASS_RANK: Final = WORST_FIRST.index("pass") + 1
LAST_BLAMING_RANK: Final = WORST_FIRST.index("lenient") + 1


def column_id() -> Column:
    """Return 64 bits that stand for a column of a matrix (COLUMN_KEY)."""
    return F.xxhash64(*COLUMN_KEY)


def run_key() -> Column:
    """Return 64 bits that stand for one run of a column."""
    return F.xxhash64(*COLUMN_KEY, "run_id")


def rank(verdict: str = "verdict") -> Column:
    """Return the place of a verdict in WORST_FIRST, from 1."""
    return F.array_position(F.array(*[F.lit(one) for one in WORST_FIRST]), F.col(verdict)).cast("int")


def verdict_of(ranked: str = "case_rank") -> Column:
    """Return the verdict of a rank."""
    return F.element_at(F.array(*[F.lit(one) for one in WORST_FIRST]), F.col(ranked))


def passed() -> Column:
    """Return 1 for a case that passed, 0 for one that is blamed on the target, null for what is not scored."""
    ranked = F.col("case_rank")
    return F.when(ranked == PASS_RANK, 1).when(ranked <= LAST_BLAMING_RANK, 0)


_KEY_TYPES: Final = {"column_id": "long", "run_key": "long", "day": "date"}


def is_one_of(names: Sequence[str], values: Sequence[Sequence[int | str]]) -> Column:
    """Return whether the columns have one of the values: a set is searched, and the plan has no join."""
    typed = [
        [F.lit(one).cast(_KEY_TYPES.get(name, "string")) for name, one in zip(names, value, strict=True)]
        for value in values
    ]
    if len(names) == 1:
        return F.col(names[0]).isin(*[one for (one,) in typed])
    return F.struct(*names).isin(*[F.struct(*[c.alias(n) for c, n in zip(one, names, strict=True)]) for one in typed])


def no_rows(session: SparkSession, schema: StructType) -> DataFrame:
    """Return an empty frame. `createDataFrame` would start Python on the executors."""
    return session.range(0).select(*[F.lit(None).cast(field.dataType).alias(field.name) for field in schema])


def _without_peers(records: DataFrame) -> DataFrame:
    """Add who was at the other end to records of format 1: nobody knows."""
    return records.withColumns(dict.fromkeys(("peer", "peer_version"), F.lit(None).cast("string")))


OLDER: Final[dict[int, tuple[tuple[str, ...], Callable[[DataFrame], DataFrame]]]] = {
    1: (("peer", "peer_version"), _without_peers)
}
"""Older format -> the columns that its records lack, and what adds them."""


def stored_schema(version: int) -> StructType:
    """Return the columns that records of a format have on disk."""
    lacking = OLDER[version][0] if version in OLDER else ()
    return StructType([field for field in RECORDS.fields if field.name not in lacking])


def migrated(records: DataFrame, version: int) -> DataFrame:
    """Return records of a format, with `batch`, as RECORDS. Raises `KeyError` for a format that nobody wrote."""
    if version == FORMAT:
        return records.drop("batch")
    return OLDER[version][1](records).select(*RECORDS.fieldNames())
