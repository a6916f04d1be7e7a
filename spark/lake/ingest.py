"""Takes runs into a lake: every line is a record in a run, or in quarantine with a reason.

A batch is written whole before its marker makes it count. A run that the lake has is left alone; one of which the lake
has only a part is superseded by more of it.
"""

from __future__ import annotations

from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every reader of Spark code knows

from wireproof.spark.lake import arriving
from wireproof.spark.lake.batches import Lake, Marker, new_batch, now
from wireproof.spark.lake.tables import EVIDENCE
from wireproof.spark.session import is_quick, kept
from wireproof.spark.transforms import classified

ROWS_A_FILE = 500_000
EXAMPLES = 5
FEW_RUNS = 1_000
FEW_TOUCHED = 100
"""Columns and days that a marker lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested:
    """What became of the lines: numbers of runs by action, of rows by table, of refused lines by reason."""

    marker: Marker | None
    runs: dict[str, int]
    rows: dict[str, int]
    refused: dict[str, int]
    partial: int = 0
    examples: list[tuple[str, str]] = field(default_factory=list)
    """(file, reason) of some refused lines."""


def ingest(lake: Lake, lines: DataFrame, cut_short: Collection[str] = ()) -> Ingested:
    """Take LINES into the lake as one batch; return what became of them.

    Raises `LakeError` if another batch was committed meanwhile, and what Spark raises; then nothing counts.
    """
    stage = kept(arriving.staged(classified(lines, arriving.LINE_CHARACTERS)))
    runs = kept(_decided(lake, arriving.arriving_runs(stage, cut_short)).coalesce(1))
    try:
        return _ingest(lake, stage, runs, new_batch())
    finally:
        for frame in (runs, stage):
            frame.unpersist()


def _decided(lake: Lake, arrived: DataFrame) -> DataFrame:
    """Say of each arriving run what is done with it. Where few arrive, the runs of the lake are searched for these."""
    known = lake.runs()
    if is_quick(lake.session):
        arrived = kept(arrived)
        keys = [row["run_key"] for row in arrived.select("run_key").limit(FEW_RUNS + 1).collect()]
        if len(keys) <= FEW_RUNS:
            known = known.where(F.col("run_key").isin(*keys))
    return arriving.decided(arrived, known)


def _ingest(lake: Lake, stage: DataFrame, runs: DataFrame, batch: str) -> Ingested:
    found = _counted(stage)
    actions = {row["action"]: row for row in _by_action(runs).collect()}
    bad = _newly_refused(lake, stage) if found.refused else None
    rows = {"quarantine": bad.count() if bad is not None else 0, "runs": 0, "records": 0, "evidence": 0}
    partitions: list[list[str]] = []
    touched: list[list[int | str]] = []
    for action in (arriving.NEW, arriving.SUPERSEDING):
        if action in actions:
            rows["runs"] += actions[action]["runs"]
            rows["records"] += actions[action]["records"]
            partitions += [list(pair) for pair in actions[action]["partitions"]]
            touched += [list(one) for one in actions[action]["touched"]]
    marker = None
    if rows["runs"] or rows["quarantine"]:
        if bad is not None and rows["quarantine"]:
            write_table(lake, bad.coalesce(1), "quarantine", batch)
        if rows["runs"]:
            rows["evidence"] = _write_runs(lake, stage, runs.where(F.col("action") != arriving.REPEATED), batch, found)
        marker = Marker(
            batch=batch,
            number=lake.next_number,
            committed_at=now(),
            rows=rows,
            partitions=sorted([list(one) for one in {tuple(pair) for pair in partitions}]),
            touched=sorted(touched) if len(touched) <= FEW_TOUCHED else None,
            superseded=_superseded(runs) if arriving.SUPERSEDING in actions else [],
        )
        lake.commit(marker)
    return Ingested(
        marker=marker,
        runs={action: row["runs"] for action, row in actions.items()},
        rows=rows,
        refused=found.refused,
        partial=sum(row["partial"] for row in actions.values()),
        examples=_examples(stage) if found.refused else [],
    )


@dataclass(frozen=True, slots=True)
class _Found:
    """Numbers of staged lines: refused ones by reason, records, records with evidence."""

    refused: dict[str, int]
    records: int
    with_evidence: int


def _counted(stage: DataFrame) -> _Found:
    counts = stage.groupBy("kind", "reason").agg(F.count("*").alias("lines"), F.count("evidence_id").alias("wire"))
    rows = counts.collect()
    return _Found(
        {row["reason"]: row["lines"] for row in rows if row["kind"] != "record"},
        sum(row["lines"] for row in rows if row["kind"] == "record"),
        sum(row["wire"] for row in rows),
    )


def _newly_refused(lake: Lake, stage: DataFrame) -> DataFrame:
    """Return QUARANTINE of lines that are not in it yet: a file that is given again adds nothing."""
    return arriving.refused(stage).join(lake.quarantine(), on=["source", "reason", "line"], how="left_anti")


def _by_action(runs: DataFrame) -> DataFrame:
    month, day = F.date_format("started", "yyyy-MM"), F.date_format("started", "yyyy-MM-dd")
    touched = F.collect_set(F.struct("column_id", "protocol", day.alias("day")))
    return runs.groupBy("action").agg(
        F.count("*").alias("runs"),
        F.sum("records").alias("records"),
        F.count_if(F.col("partial").isNotNull()).alias("partial"),
        F.collect_set(F.struct("protocol", month.alias("month"))).alias("partitions"),
        F.slice(touched, 1, FEW_TOUCHED + 1).alias("touched"),
    )


def _superseded(runs: DataFrame) -> list[list[str | int]]:
    pairs = runs.where(F.col("action") == arriving.SUPERSEDING).select("old_batch", "run_key")
    return sorted([row["old_batch"], row["run_key"]] for row in pairs.collect())


def _write_runs(lake: Lake, stage: DataFrame, taken: DataFrame, batch: str, found: _Found) -> int:
    """Write runs, records and evidence of a batch; return the number of rows of evidence."""
    files = max(1, found.records // ROWS_A_FILE)
    tables = {
        "runs": taken.drop("action", "old_batch"),
        "records": arriving.arriving_records(stage, taken, files),
        **({"evidence": arriving.arriving_evidence(stage, taken).coalesce(files)} if found.with_evidence else {}),
    }
    with ThreadPoolExecutor(len(tables)) as together:
        for writing in [together.submit(write_table, lake, tables[table], table, batch) for table in tables]:
            writing.result()
    if not found.with_evidence:
        return 0
    return lake.session.read.schema(EVIDENCE).parquet(lake.storage.uri(lake.folder("evidence", batch))).count()


def write_table(lake: Lake, frame: DataFrame, table: str, batch: str) -> None:
    """Write the rows of a batch into its own folder of a table; frames with `month` by protocol and month."""
    names = ["protocol", "month"] if "month" in frame.columns else []
    frame.write.partitionBy(*names).mode("overwrite").parquet(lake.storage.uri(lake.folder(table, batch)))


def _examples(stage: DataFrame) -> list[tuple[str, str]]:
    found = stage.where(F.col("kind") != "record").groupBy("source", "reason").count().limit(EXAMPLES).collect()
    return sorted((row["source"], row["reason"]) for row in found)
