"""Keeps the aggregates of a lake: rebuilt once, then patched where new runs touch them.

A refresh folds the days of the columns that have new runs, and writes them as one patch; its cost follows these runs.
Patches are folded into the parts by `compact`, or when there are many. Then the parts have the bytes that a rebuild
writes.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Final

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every reader of Spark code knows

from wireproof.spark.lake.aggregates import (
    Key,
    Manifest,
    keys_of,
    newest_manifest,
    part_of,
    part_schema,
    patch_folder,
    publish,
    read_table,
)
from wireproof.spark.lake.batches import Lake, Marker
from wireproof.spark.lake.folding import (
    KEYS,
    bucketed,
    case_days,
    case_stats,
    crowded_runs,
    kept_runs,
)
from wireproof.spark.lake.tables import is_one_of, no_rows
from wireproof.spark.session import for_records

RECORDS_A_BUCKET: Final = 1_500_000
MOST_BUCKETS: Final = 256
MOST_TOUCHED: Final = 2_000
"""Columns and days of new runs above which a rebuild is cheaper than a refresh."""
MOST_PATCHED: Final = 1_000
"""Keys in patches above which a refresh folds them into the parts: every reader compares rows with them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refreshed:
    """What a refresh did; `generation` is None when there was nothing to do."""

    generation: int | None
    rebuilt: bool = False
    parts: int = 0
    columns: int = 0


def rebuild(lake: Lake, buckets: int | None = None) -> Refreshed:
    """Fold everything anew as one generation. Raises `LakeError` if another job made one meanwhile."""
    total = sum(marker.rows.get("records", 0) for marker in lake.active)
    with for_records(lake.session, total):
        return _rebuilt(lake, buckets or max(1, min(MOST_BUCKETS, total // RECORDS_A_BUCKET)))


def _rebuilt(lake: Lake, width: int) -> Refreshed:
    last = newest_manifest(lake)
    number = last.generation + 1 if last else 1
    generation = _folder(number)
    tasks = _tasks(lake, width)
    parts: dict[str, dict[str, str]] = {}
    records, runs = bucketed(lake.records(), width), lake.runs()
    needed = ("bucket", "column_id", "case", "day", "started", "run_key", "case_rank", "counts")
    days = case_days(records.where("counts").select(*needed), crowded_runs(runs))
    in_order = _laid(lake, days, "case_days", tasks).persist(StorageLevel.DISK_ONLY)
    try:
        parts["case_days"] = _write_parts(lake, in_order, "case_days", generation)
        stats = _laid(lake, case_stats(in_order), "case_stats")
        parts["case_stats"] = _write_parts(lake, stats, "case_stats", generation)
    finally:
        in_order.unpersist()
    kept = F.broadcast(kept_runs(runs).select("run_key"))
    latest = _laid(lake, records.join(kept, on="run_key", how="left_semi"), "latest", tasks)
    parts["latest"] = _write_parts(lake, latest, "latest", generation)
    publish(lake, Manifest(generation=number, buckets=width, folded=_batches(lake.active), parts=parts))
    return Refreshed(generation=number, rebuilt=True, parts=sum(map(len, parts.values())))


def refresh(lake: Lake) -> Refreshed:
    """Fold what was committed since the last generation; a rebuild if there is none, or if that is cheaper.

    Raises `LakeError` if another job made a generation meanwhile.
    """
    last = newest_manifest(lake)
    if last is None:
        return rebuild(lake) if lake.active else Refreshed(generation=None)
    fresh = _not_folded(lake, last)
    if not fresh:
        return Refreshed(generation=None)
    touched = _touched(lake, fresh)
    if not touched:  # findings, or lines that are no records
        publish(lake, replace(last, generation=last.generation + 1, folded=_batches(lake.active)))
        return Refreshed(generation=None)
    if len(touched) > MOST_TOUCHED:
        return rebuild(lake, last.buckets)
    manifest = _patched(lake, last, touched)
    if max(map(len, manifest.patches.values()), default=0) > MOST_PATCHED:
        manifest = _folded(lake, manifest)
    publish(lake, manifest)
    return Refreshed(generation=manifest.generation, columns=len({touch.column_id for touch in touched}))


def fold_patches(lake: Lake) -> Refreshed:
    """Write the parts that patches touch anew, without them. Raises `LakeError` if another job made a generation."""
    last = newest_manifest(lake)
    if last is None or not any(last.patches.values()):
        return Refreshed(generation=None)
    manifest = _folded(lake, replace(last, generation=last.generation + 1))
    publish(lake, manifest)
    written = [
        part
        for table, parts in manifest.parts.items()
        for part, of in parts.items()
        if last.parts[table].get(part) != of
    ]
    return Refreshed(generation=manifest.generation, parts=len(written))


def _not_folded(lake: Lake, last: Manifest) -> list[Marker]:
    folded = set(last.folded)
    for marker in reversed(lake.markers):
        if marker.batch in folded:
            folded.update(marker.replaces)
    return [
        marker
        for marker in lake.active
        if marker.batch not in folded and not (marker.replaces and folded.issuperset(marker.replaces))
    ]


@dataclass(frozen=True, slots=True)
class _Touch:
    """A column on a day on which it has a new run."""

    column_id: int
    protocol: str
    day: str


def _touched(lake: Lake, fresh: Sequence[Marker]) -> list[_Touch]:
    if all(marker.touched is not None for marker in fresh):
        listed = {
            (int(column), str(protocol), str(day)) for one in fresh for column, protocol, day in one.touched or ()
        }
        return [_Touch(*one) for one in sorted(listed)]
    runs = lake.runs(fresh).select("column_id", "protocol", F.to_date("started").cast("string").alias("day")).distinct()
    return [_Touch(row["column_id"], row["protocol"], row["day"]) for row in runs.limit(MOST_TOUCHED + 1).collect()]


def _patched(lake: Lake, last: Manifest, touched: Sequence[_Touch]) -> Manifest:
    """Write the patch of new runs; return the generation that has it."""
    patch = _folder(last.generation + 1)
    columns = sorted({touch.column_id for touch in touched})
    with ThreadPoolExecutor(2) as both:
        writing = [
            both.submit(_write_patch, lake, _days_anew(lake, touched), "case_days", patch),
            both.submit(_write_patch, lake, _latest_anew(lake, columns), "latest", patch),
        ]
        for one in writing:
            one.result()
    of_columns: list[Key] = [(column,) for column in columns]
    keys: dict[str, list[Key]] = {
        "case_days": [(touch.column_id, touch.day) for touch in touched],
        "case_stats": of_columns,
        "latest": of_columns,
    }
    patches = {
        table: last.patches.get(table, {}) | {"/".join(map(str, key)): patch for key in of_table}
        for table, of_table in keys.items()
    }
    manifest = replace(last, generation=last.generation + 1, folded=_batches(lake.active), patches=patches)
    days = read_table(lake, manifest, "case_days", columns=columns)
    _write_patch(lake, case_stats(days.coalesce(1)), "case_stats", patch)
    return manifest


def _days_anew(lake: Lake, touched: Sequence[_Touch]) -> DataFrame:
    """Return CASE_DAYS of the days that have new runs, folded from records."""
    columns, days = {touch.column_id for touch in touched}, {touch.day for touch in touched}
    protocols, months = {touch.protocol for touch in touched}, {day[:7] for day in days}
    near = F.col("column_id").isin(*columns) & F.col("day").isin(*[F.lit(day).cast("date") for day in sorted(days)])
    records = lake.records(protocols, months).where("counts").where(near)
    pairs = {(touch.column_id, touch.day) for touch in touched}
    if len(pairs) < len(columns) * len(days):
        records = records.where(is_one_of(("column_id", "day"), sorted(pairs)))
    return case_days(bucketed(records, 1).coalesce(1))


def _latest_anew(lake: Lake, columns: Sequence[int]) -> DataFrame:
    """Return RECORDS of the kept runs of the columns."""
    kept = kept_runs(lake.runs().where(F.col("column_id").isin(*columns))).collect()
    records = lake.records({row["protocol"] for row in kept}, {row["month"] for row in kept})
    of_runs = F.col("run_key").isin(*[row["run_key"] for row in kept])
    return records.where(F.col("column_id").isin(*columns)).where(of_runs).coalesce(1)


def _write_patch(lake: Lake, frame: DataFrame, table: str, patch: str) -> None:
    ordered = frame.drop("bucket").sortWithinPartitions(*KEYS[table])
    ordered.write.mode("overwrite").parquet(lake.storage.uri(patch_folder(table, patch)))


def _folded(lake: Lake, manifest: Manifest) -> Manifest:
    """Write the parts that patches touch; return the same generation with them, and without patches."""
    generation = _folder(manifest.generation)
    parts = {table: dict(of_table) for table, of_table in manifest.parts.items()}
    with for_records(lake.session, sum(marker.rows.get("records", 0) for marker in lake.active)):
        for table in manifest.patches:
            touched = {part_of(manifest, key) for key in keys_of(manifest, table)}
            whole = read_table(lake, manifest, table, parts=touched)
            laid = _laid(lake, whole, table, _tasks(lake, len(touched)))
            written = _write_parts(lake, laid, table, generation)
            for part in touched:
                parts[table].pop(part, None)
            parts[table].update(written)
    return replace(manifest, parts=parts, patches={})


def _laid(lake: Lake, frame: DataFrame, table: str, tasks: int | None = None) -> DataFrame:
    """Return the rows of parts in order, each bucket in one of `tasks` partitions (None: it is in one already).

    The union makes every field nullable, however the frame was made, so that equal rows are equal bytes.
    """
    nothing = no_rows(lake.session, part_schema(table))
    whole = nothing.unionByName(frame.select(*nothing.columns))
    together = whole if tasks is None else whole.repartition(tasks, "bucket")
    return together.sortWithinPartitions("bucket", *KEYS[table])


def _write_parts(lake: Lake, laid: DataFrame, table: str, generation: str) -> dict[str, str]:
    """Write rows that `_laid` returned, one file for each part; return part -> generation."""
    path = f"aggregates/{table}/generation={generation}"
    laid.write.partitionBy("bucket").mode("overwrite").parquet(lake.storage.uri(path))
    names = [entry.name.partition("=") for entry in lake.storage.entries(path) if entry.is_folder]
    return {value: generation for name, _, value in names if name == "bucket"}


def _folder(generation: int) -> str:
    """Return a name for the folders of a generation that no other job takes, even if both make the same number."""
    return f"{generation}-{uuid.uuid4().hex[:8]}"


def _tasks(lake: Lake, buckets: int) -> int:
    """Return how many tasks share the buckets: each bucket is written by one."""
    return min(buckets, max(lake.session.sparkContext.defaultParallelism * 8, 1))


def _batches(markers: Iterable[Marker]) -> list[str]:
    return sorted(marker.batch for marker in markers)
