"""The matrix of a lake: the same document and pages as of files of records, from what a lake keeps of each column."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every reader of Spark code knows
from pyspark.sql.types import MapType, StringType

from wireproof.spark import transforms as t
from wireproof.spark.lake.aggregates import Aggregates
from wireproof.spark.lake.folding import kept_runs
from wireproof.spark.matrix import Collected
from wireproof.spark.schemas import COLUMN_KEY
from wireproof.spark.starting import FEW_RECORDS
from wireproof.spark.written_tables import EVIDENCE_PER_CELL, Tables, cells_and_evidence, rows_of

if TYPE_CHECKING:
    from wireproof.spark.matrix import Json, Rows

STAMP = "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'"
EXTRA = MapType(StringType(), StringType())
WIRE = ("expected", "got", "exchange")


def collected_from(aggregates: Aggregates, parquet: Path) -> Collected:
    """Write tables below `parquet`; return what a matrix is made of.

    Lines in quarantine count as lines of the lake that are no records.
    """
    lake = aggregates.lake
    few = sum(marker.rows.get("records", 0) for marker in lake.active) < FEW_RECORDS
    with Tables(parquet, few=few) as tables:
        runs = tables.written(described_runs(lake.runs()).coalesce(1), "runs")
        latest = tables.written(aggregates.table("latest").drop("bucket"), "latest_records")
        evidence = with_wire(t.evidence(latest, EVIDENCE_PER_CELL), lake.evidence())
        place = shown(lake.storage.root)
        return Collected(
            **cells_and_evidence(latest, evidence, tables),
            runs=rows_of(runs),
            line_counts=_line_counts(aggregates, place),
            files={place: False},
            incomplete=frozenset(),
        )


def with_wire(evidence: DataFrame, wire: DataFrame) -> DataFrame:
    """Add to rows of `transforms.evidence` what crossed the wire: the fields that RECORDS lacks."""
    extra = F.from_json("extra", EXTRA).alias("extra")
    once = wire.select("evidence_id", *WIRE, extra).dropDuplicates(["evidence_id"])
    return evidence.join(once, on="evidence_id", how="left").drop("evidence_id", "started", "day")


def described_runs(runs: DataFrame) -> DataFrame:
    """RUNS -> what `transforms.runs_of` says of each run."""
    kept = kept_runs(runs).select("run_key", F.lit(True).alias("kept"))
    named = runs.join(kept, on="run_key", how="left").withColumn("kept", F.coalesce("kept", F.lit(False)))
    started = F.date_format("started", STAMP).alias("run_started_at")
    return named.select(*COLUMN_KEY, "run_id", started, "records", "partial", "kept")


def _line_counts(aggregates: Aggregates, place: str) -> Rows:
    lake = aggregates.lake
    records: Json = {"kind": "record", "reason": None, "example": None}
    counts = [records | {"source": place, "count": sum(one.rows.get("records", 0) for one in lake.active)}]
    if any(one.rows.get("quarantine") for one in lake.active):
        example = F.substring(F.min("line"), 1, t.EXAMPLE_CHARACTERS).alias("example")
        refused = lake.quarantine().groupBy("kind", "reason").agg(F.count("*").alias("count"), example)
        counts += [row | {"source": place} for row in rows_of(refused)]
    return counts


def shown(root: str) -> str:
    """Return the URI of a lake for pages: a local one relative where possible, as `job` shows files."""
    if not root.startswith("file:"):
        return root
    path, here = Path(root.removeprefix("file:")), Path.cwd()
    return (path.relative_to(here) if path.is_relative_to(here) else path).as_posix()
