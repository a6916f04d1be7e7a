"""The tables of a lake as views, for queries in SQL."""

from __future__ import annotations

from pyspark.sql import SparkSession

from wireproof.spark.lake.aggregates import Aggregates
from wireproof.spark.lake.batches import Lake
from wireproof.spark.statistics import columns_of, flakiness

VIEWS = ("records", "evidence", "runs", "quarantine", "columns", "latest", "case_days", "case_stats", "flakiness")


def register_views(session: SparkSession, uri: str) -> Aggregates:
    """Make VIEWS of a lake in a session; they show it as it is now. Raises `LakeError`."""
    lake = Lake(session, uri)
    aggregates = Aggregates(lake)
    frames = {
        "records": lake.records(),
        "evidence": lake.evidence(),
        "runs": lake.runs(),
        "quarantine": lake.quarantine(),
        "columns": columns_of(lake.runs()),
        **{name: aggregates.table(name) for name in ("latest", "case_days", "case_stats")},
        "flakiness": flakiness(aggregates.table("case_stats")),
    }
    for name, frame in frames.items():
        frame.createOrReplaceTempView(name)
    return aggregates
