"""Keeps a lake small: merges small batches, deletes what nothing names any more."""

from __future__ import annotations

import time
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every reader of Spark code knows

from wireproof.spark.lake.aggregates import MANIFESTS, newest_manifest
from wireproof.spark.lake.batches import MARKERS, Lake, Marker, new_batch, now
from wireproof.spark.lake.ingest import ROWS_A_FILE, write_table
from wireproof.spark.lake.tables import EVIDENCE, FINDINGS, KILLS, QUARANTINE, RECORDS, RUNS

SMALL_BATCH: Final = 2_000_000
"""Records of a batch that is merged with others."""
DOCUMENTS: Final = {"quarantine": QUARANTINE, "findings": FINDINGS, "kills": KILLS}
"""Tables that are merged as they are."""
TABLES: Final = ("records", "evidence", "runs", *DOCUMENTS)


def compact(lake: Lake, below: int = SMALL_BATCH) -> int:
    """Merge the batches with fewer records than `below` into one; return how many there were (0: nothing to do).

    Raises `LakeError` if another batch was committed meanwhile; then nothing is changed.
    """
    small = [marker for marker in lake.active if marker.rows.get("records", 0) < below]
    if len(small) < 2:
        return 0
    batch = new_batch()
    rows = {table: sum(marker.rows.get(table, 0) for marker in small) for table in TABLES}
    part = Lake.of(lake, small)
    files = max(1, rows["records"] // ROWS_A_FILE)
    runs = part.runs().drop("batch")
    if rows["runs"]:
        write_table(lake, runs.select(*RUNS.fieldNames()).coalesce(1), "runs", batch)
        write_table(lake, _in_order(part.records(), files), "records", batch)
    if rows["evidence"]:
        once = part.evidence(with_month=True).dropDuplicates(["protocol", "month", "evidence_id"])
        write_table(lake, once.select(*EVIDENCE.fieldNames(), "month").coalesce(files), "evidence", batch)
    for table, columns in DOCUMENTS.items():
        if rows[table]:
            write_table(lake, part.documents(table, columns).coalesce(1), table, batch)
    merged = {marker.batch for marker in small}
    lake.commit(
        Marker(
            batch=batch,
            number=lake.next_number,
            committed_at=now(),
            rows=rows,
            partitions=sorted([list(one) for one in {tuple(pair) for marker in small for pair in marker.partitions}]),
            replaces=sorted(merged),
            superseded=[pair for marker in small for pair in marker.superseded if pair[0] not in merged],
            source="compaction",
        )
    )
    return len(small)


def _in_order(records: DataFrame, files: int) -> DataFrame:
    dated = records.withColumn("month", F.date_format("started", "yyyy-MM"))
    place = ["protocol", "month", "column_id"]
    laid = dated.repartition(1) if files == 1 else dated.repartitionByRange(files, *place)
    return laid.sortWithinPartitions(*place, "run_key", "case", "record_id").select(*RECORDS.fieldNames(), "month")


def vacuum(lake: Lake, older_than_hours: float) -> int:
    """Delete folders and markers that nothing names and that are older; return how many.

    What a job writes at this moment is named by nothing yet: leave it more hours than any job takes.
    """
    before_ms = (time.time() - older_than_hours * 3600) * 1000
    kept = {f"batch={marker.batch}" for marker in lake.active}
    manifest = newest_manifest(lake)
    doomed = [
        f"{table}/{entry.name}"
        for table in TABLES
        for entry in lake.storage.entries(table)
        if entry.name not in kept and entry.changed_ms <= before_ms
    ]
    counting = {marker.batch for marker in lake.active}
    doomed += [f"{MARKERS}/{one.number:08}.json" for one in lake.markers[:-1] if one.batch not in counting]
    if manifest is not None:
        for table, parts in manifest.parts.items():
            named = {f"generation={folder}" for folder in parts.values()}
            named |= {f"patch={folder}" for folder in manifest.patches.get(table, {}).values()}
            doomed += [
                f"aggregates/{table}/{entry.name}"
                for entry in lake.storage.entries(f"aggregates/{table}")
                if entry.name not in named and entry.changed_ms <= before_ms
            ]
        last = f"{manifest.generation:08}.json"
        old = [one for one in lake.storage.entries(MANIFESTS) if one.name != last and one.changed_ms <= before_ms]
        doomed += [f"{MANIFESTS}/{one.name}" for one in old]
    for path in doomed:
        lake.storage.delete(path)
    return len(doomed)
