"""Takes findings of fuzzing into a lake: each `finding.json` is a row, or in quarantine with a reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every reader of Spark code knows
from pyspark.sql.types import LongType, StringType, StructField, StructType

from wireproof.spark.lake.arriving import LINE_CHARACTERS
from wireproof.spark.lake.batches import Lake, Marker, new_batch, now
from wireproof.spark.lake.ingest import write_table
from wireproof.spark.lake.tables import FINDINGS, QUARANTINE
from wireproof.spark.session import kept

FINDING_SCHEMA_ID: Final = "wireproof.finding/1"
IDENTITY: Final = ("id", "profile", "variant", "implementation", "found_at")
"""What tells findings apart; `id` alone is the same for the same bug of several implementations."""
REQUIRED: Final = ("id", "engine", "oracle", "shape", "protocol", "profile", "variant", "implementation", "found_at")
READ: Final = StructType(
    [
        StructField("schema", StringType()),
        *[field for field in FINDINGS.fields if field.name not in ("seen", "tries")],
        StructField("again", StructType([StructField("seen", LongType()), StructField("of", LongType())])),
    ]
)
"""What is read of `reports/schema/finding.schema.json`; the rest stays in its folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenFindings:
    """Numbers of findings that are new, that the lake had, and of files that are none, by reason."""

    new: int = 0
    repeated: int = 0
    refused: dict[str, int]


def take_findings(lake: Lake, files: DataFrame) -> TakenFindings:
    """Take `finding.json` files (`value`: all of one, `source`) into the lake as one batch.

    Raises `LakeError` and what Spark raises.
    """
    read = kept(classified_findings(files))
    try:
        good = read.where(F.col("reason").isNull()).select(*FINDINGS.fieldNames()).dropDuplicates(list(IDENTITY))
        fresh = kept(good.join(lake.findings(), on=list(IDENTITY), how="left_anti").select(*FINDINGS.fieldNames()))
        bad = read.where(F.col("reason").isNotNull()).select(*QUARANTINE.fieldNames())
        unknown = bad.join(lake.quarantine(), on=["source", "reason", "line"], how="left_anti")
        refused = {row["reason"]: row["count"] for row in bad.groupBy("reason").count().collect()}
        rows = {"findings": fresh.count(), "quarantine": unknown.count() if refused else 0}
        if any(rows.values()):
            _commit(lake, {"findings": fresh, "quarantine": unknown}, rows)
        return TakenFindings(new=rows["findings"], repeated=good.count() - rows["findings"], refused=refused)
    finally:
        read.unpersist()


def classified_findings(files: DataFrame) -> DataFrame:
    """Parse whole files (`value`, `source`) into FINDINGS and QUARANTINE; `reason` is null for a finding."""
    parsed = files.withColumn("found", F.from_json("value", READ))
    flat = parsed.select(
        "source",
        F.substring("value", 1, LINE_CHARACTERS).alias("line"),
        "found.*",
        F.col("found.again.seen").alias("seen"),
        F.col("found.again.of").alias("tries"),
    ).drop("again")
    kind = F.when(F.col("schema").isNull(), "corrupt").otherwise("foreign")
    return flat.withColumns({"reason": _reason(), "kind": kind}).drop("schema")


def _reason() -> Column:
    missing = F.lit(False)
    for name in REQUIRED:
        missing = missing | F.col(name).isNull()
    return (
        F.when(F.col("schema").isNull(), "no finding in JSON")
        .when(F.col("schema") != FINDING_SCHEMA_ID, "another schema id")
        .when(missing, "a field is missing")
    )


def _commit(lake: Lake, tables: dict[str, DataFrame], rows: dict[str, int]) -> None:
    batch = new_batch()
    for table, number in rows.items():
        if number:
            write_table(lake, tables[table].coalesce(1), table, batch)
    lake.commit(
        Marker(batch=batch, number=lake.next_number, committed_at=now(), rows=rows, touched=[], source="findings")
    )
