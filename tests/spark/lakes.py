"""Makes lakes of made-up records without JSON: what `ingest` would write, in a moment."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from tests.spark.conftest import make_record
from wireproof.spark.lake import arriving
from wireproof.spark.lake.batches import Lake, Marker, new_batch
from wireproof.spark.lake.ingest import write_table
from wireproof.spark.schemas import RECORD
from wireproof.spark.session import kept

LINES = StructType(
    [*RECORD.fields, *(StructField(name, StringType()) for name in ("source", "kind", "reason", "example"))]
)


def commit_runs(session: SparkSession, lake: Path, records: Iterable[dict[str, Any]]) -> Lake:
    """Commit records as one batch of new runs; return the lake as it is then."""
    opened = Lake(session, str(lake), create=True)
    rows = [make_record(**changes) | {"source": "f", "kind": "record"} for changes in records]
    plain = session.createDataFrame(rows, LINES).selectExpr("*", "cast(run_started_at as timestamp) as started")
    stage = kept(arriving.staged(plain).coalesce(1))
    runs = kept(arriving.arriving_runs(stage).coalesce(1))
    batch = new_batch()
    write_table(opened, runs, "runs", batch)
    write_table(opened, arriving.arriving_records(stage, runs, 1), "records", batch)
    partitions = sorted({(row["protocol"], str(row["run_started_at"])[:7]) for row in rows})
    number = {row["run_id"] for row in rows}
    opened.commit(
        Marker(
            batch=batch,
            number=opened.next_number,
            committed_at="2026-01-01T00:00:00Z",
            rows={"runs": len(number), "records": len(rows)},
            partitions=[list(one) for one in partitions],
        )
    )
    return Lake(session, str(lake))
