"""The tables of a lake as views, for queries in SQL."""

from __future__ import annotations

from pyspark.sql import SparkSession

from wireproof.spark.lake.aggregates import Aggregates
from wireproof.spark.lake.batches import Lake
from wireproof.spark.pairs import pairs
from wireproof.spark.statistics import (
    columns_of,
    coverage,
    detection,
    disagreements,
    findings_by_clause,
    flakiness,
    mutants_by_case,
    version_changes,
)

TABLES = (
    "records",
    "evidence",
    "runs",
    "quarantine",
    "findings",
    "kills",
    "columns",
    "latest",
    "case_days",
    "case_stats",
)
VIEWS = (
    *TABLES,
    "flakiness",
    "version_changes",
    "disagreements",
    "detection",
    "coverage",
    "pairs",
    "findings_by_clause",
    "mutants_by_case",
)


def register_views(session: SparkSession, uri: str) -> Aggregates:
    """Make VIEWS of a lake in a session; they show it as it is now. Raises `LakeError`."""
    lake = Lake(session, uri)
    aggregates = Aggregates(lake)
    columns, latest, stats = columns_of(lake.runs()), aggregates.table("latest"), aggregates.table("case_stats")
    mutants = mutants_by_case(lake.kills())
    frames = {
        "records": lake.records(),
        "evidence": lake.evidence(),
        "runs": lake.runs(),
        "quarantine": lake.quarantine(),
        "findings": lake.findings(),
        "kills": lake.kills(),
        "columns": columns,
        "latest": latest,
        "case_days": aggregates.table("case_days"),
        "case_stats": stats,
        "flakiness": flakiness(stats),
        "version_changes": version_changes(stats, columns),
        "disagreements": disagreements(latest),
        "detection": detection(latest, mutants),
        "coverage": coverage(latest),
        "pairs": pairs(latest),
        "findings_by_clause": findings_by_clause(lake.findings()),
        "mutants_by_case": mutants,
    }
    for name, frame in frames.items():
        frame.createOrReplaceTempView(name)
    return aggregates
