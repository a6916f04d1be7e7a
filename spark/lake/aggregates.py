"""Keeps the aggregates of a lake: rebuilt once, then refreshed where a new run touches them.

`_aggregates/00000007.json` names the folder of every part of the seventh generation. A part is one file: a bucket of
columns, for CASE_DAYS also a year. A refresh writes the parts that new runs touch and names the others as before, so
its cost follows the run and the size of a part. A rebuild writes the same bytes.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every reader of Spark code knows
from pyspark.sql.types import IntegerType, StructField, StructType

from wireproof.spark.lake.batches import PARQUET, Lake, LakeError, Marker
from wireproof.spark.lake.folding import KEYS, PARTITIONS, SCHEMAS, bucketed, case_days, case_stats, kept_runs
from wireproof.spark.lake.storage import NotWrittenError

MANIFEST_SCHEMA_ID: Final = "wireproof.aggregates/1"
MANIFESTS: Final = "_aggregates"
RECORDS_A_BUCKET: Final = 1_500_000
MOST_BUCKETS: Final = 256
MOST_TOUCHED: Final = 2_000
"""Columns and days of new runs above which a rebuild is cheaper than a refresh."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """A generation of the aggregates. `parts`: table -> part ("3" or "3/2026") -> the folder it is in."""

    generation: int
    buckets: int
    folded: list[str]
    parts: dict[str, dict[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refreshed:
    """What a refresh did; `generation` is None when there was nothing to do."""

    generation: int | None
    rebuilt: bool = False
    parts: int = 0
    columns: int = 0


class Aggregates:
    """The newest generation of a lake's aggregates. Raises `LakeError` when there is none."""

    def __init__(self, lake: Lake) -> None:
        self.lake = lake
        found = newest_manifest(lake)
        if found is None:
            raise LakeError(f"{lake.storage.root} has no aggregates: `wireproof ingest --rebuild` makes them")
        self.manifest = found

    def table(
        self, name: str, buckets: Collection[int] | None = None, years: Collection[int] | None = None
    ) -> DataFrame:
        """Return case_days, case_stats or latest, with `bucket` (and `year`); only the parts that are asked for."""
        return read_parts(self.lake, self.manifest, name, buckets, years)


def newest_manifest(lake: Lake) -> Manifest | None:
    """Return the newest generation, None if there is none. Raises `LakeError` for one of another wireproof."""
    names = [one.name for one in lake.storage.entries(MANIFESTS) if one.name.endswith(".json")]
    if not names:
        return None
    found = json.loads(lake.storage.read(f"{MANIFESTS}/{names[-1]}"))
    if found.pop("schema", None) != MANIFEST_SCHEMA_ID:
        raise LakeError(f"{MANIFESTS}/{names[-1]} is of another wireproof: `wireproof ingest --rebuild` makes it anew")
    return Manifest(**found)


def read_parts(
    lake: Lake,
    manifest: Manifest,
    table: str,
    buckets: Collection[int] | None = None,
    years: Collection[int] | None = None,
) -> DataFrame:
    """Return the parts of a table of a generation; `buckets` and `years` choose some of them."""
    schema = part_schema(table)
    paths = []
    for part, generation in sorted(manifest.parts.get(table, {}).items()):
        values = [int(value) for value in part.split("/")]
        wanted = (buckets is None or values[0] in buckets) and (years is None or values[1:] == [] or values[1] in years)
        if wanted:
            paths.append(lake.storage.uri(part_folder(table, generation, part)))
    if not paths:
        return lake.session.createDataFrame([], schema)
    base = lake.storage.uri(f"aggregates/{table}")
    return (
        lake.session.read.schema(schema).options(**PARQUET, basePath=base).parquet(*paths).select(*schema.fieldNames())
    )


def part_schema(table: str) -> StructType:
    """Return the schema of a table with what it is partitioned by."""
    return StructType([*SCHEMAS[table].fields, *(StructField(name, IntegerType()) for name in PARTITIONS[table])])


def part_folder(table: str, generation: str, part: str) -> str:
    """Return the folder of a part, relative to the lake."""
    named = zip(PARTITIONS[table], part.split("/"), strict=True)
    return "/".join([f"aggregates/{table}/generation={generation}", *(f"{name}={value}" for name, value in named)])


def rebuild(lake: Lake, buckets: int | None = None) -> Refreshed:
    """Fold everything anew as one generation. Raises `LakeError` if another job made one meanwhile."""
    last = newest_manifest(lake)
    number = last.generation + 1 if last else 1
    generation = _folder(number)
    total = sum(marker.rows.get("records", 0) for marker in lake.active)
    width = buckets or max(1, min(MOST_BUCKETS, total // RECORDS_A_BUCKET))
    tasks = _tasks(lake, width)
    parts: dict[str, dict[str, str]] = {}
    records = bucketed(lake.records(), width)
    needed = ("bucket", "column_id", "case", "day", "started", "run_key", "case_rank", "counts")
    counted = records.where("counts").select(*needed).repartition(tasks, "bucket")
    parts["case_days"] = _write(lake, case_days(counted), "case_days", generation)
    kept = F.broadcast(kept_runs(lake.runs()).select("run_key"))
    latest = records.join(kept, on="run_key", how="left_semi").repartition(tasks, "bucket")
    parts["latest"] = _write(lake, latest, "latest", generation)
    manifest = Manifest(generation=number, buckets=width, folded=_batches(lake.active), parts=parts)
    days = read_parts(lake, manifest, "case_days").repartition(tasks, "bucket")
    parts["case_stats"] = _write(lake, case_stats(days), "case_stats", generation)
    _publish(lake, manifest)
    written = sum(map(len, parts.values()))
    return Refreshed(generation=number, rebuilt=True, parts=written)


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
    if len(touched) > MOST_TOUCHED:
        return rebuild(lake, last.buckets)
    return _refreshed(lake, last, touched)


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
    runs = lake.runs(fresh).select("column_id", "protocol", F.to_date("started").cast("string").alias("day")).distinct()
    return [_Touch(row["column_id"], row["protocol"], row["day"]) for row in runs.limit(MOST_TOUCHED + 1).collect()]


def _refreshed(lake: Lake, last: Manifest, touched: Sequence[_Touch]) -> Refreshed:
    generation = _folder(last.generation + 1)
    columns = sorted({touch.column_id for touch in touched})
    buckets = {column % last.buckets for column in columns}
    parts = {table: dict(of_table) for table, of_table in last.parts.items()}
    days = _together(_days_anew(lake, last, touched), len(buckets))
    latest = _together(_latest_anew(lake, last, columns), len(buckets))
    with ThreadPoolExecutor(2) as both:
        writing = {
            "case_days": both.submit(_write, lake, days, "case_days", generation),
            "latest": both.submit(_write, lake, latest, "latest", generation),
        }
        written = {table: future.result() for table, future in writing.items()}
    for table, of_table in written.items():
        parts[table].update(of_table)
    manifest = Manifest(generation=last.generation + 1, buckets=last.buckets, folded=_batches(lake.active), parts=parts)
    of_columns = F.col("column_id").isin(columns)
    days = read_parts(lake, manifest, "case_days", buckets).where(of_columns)
    stats = case_stats(_together(days, len(buckets)))
    others = read_parts(lake, last, "case_stats", buckets).where(~of_columns)
    whole = _together(others.unionByName(stats), len(buckets))
    written["case_stats"] = _write(lake, whole, "case_stats", generation)
    parts["case_stats"].update(written["case_stats"])
    _publish(lake, manifest)
    return Refreshed(generation=manifest.generation, parts=sum(map(len, written.values())), columns=len(columns))


def _days_anew(lake: Lake, last: Manifest, touched: Sequence[_Touch]) -> DataFrame:
    """Return the parts of CASE_DAYS that new runs touch: their days folded again from records, the rest as it was."""
    pairs = [(touch.column_id, touch.day) for touch in touched]
    listed = lake.session.createDataFrame(pairs, "column_id long, day string")
    these = F.broadcast(listed.withColumn("day", F.col("day").cast("date")))
    columns, on = sorted({touch.column_id for touch in touched}), ["column_id", "day"]
    protocols, months = {touch.protocol for touch in touched}, {touch.day[:7] for touch in touched}
    records = lake.records(protocols, months).where("counts").where(F.col("column_id").isin(columns))
    width = len({column % last.buckets for column in columns})
    mine = bucketed(records.join(these, on=on, how="left_semi"), last.buckets)
    again = case_days(_together(mine, width))
    chosen = {(touch.column_id % last.buckets, int(touch.day[:4])) for touch in touched}
    old = read_parts(lake, last, "case_days", {bucket for bucket, _ in chosen}, {year for _, year in chosen})
    wanted = F.array(*[F.lit(f"{bucket}/{year}") for bucket, year in sorted(chosen)])
    part = F.concat_ws("/", "bucket", "year")
    kept = old.where(F.array_contains(wanted, part)).join(these, on=on, how="left_anti").select(*again.columns)
    return kept.unionByName(again)


def _latest_anew(lake: Lake, last: Manifest, columns: Sequence[int]) -> DataFrame:
    """Return the parts of LATEST of the columns: their kept run read again, the rest as it was."""
    runs = lake.runs().where(F.col("column_id").isin(*columns))
    kept = kept_runs(runs).collect()
    records = lake.records({row["protocol"] for row in kept}, {row["month"] for row in kept})
    chosen = records.where(F.col("column_id").isin(*columns)).where(
        F.col("run_key").isin([row["run_key"] for row in kept])
    )
    fresh = bucketed(chosen, last.buckets)
    old = read_parts(lake, last, "latest", {column % last.buckets for column in columns})
    return old.where(~F.col("column_id").isin(*columns)).unionByName(fresh)


def _write(lake: Lake, frame: DataFrame, table: str, generation: str) -> dict[str, str]:
    """Write the parts of a table that a frame has, one sorted file each; return part -> generation.

    A bucket must be whole in one partition of the frame. The union makes every field nullable in each file, however
    the frame was made, so that equal rows are equal bytes.
    """
    names = PARTITIONS[table]
    path = f"aggregates/{table}/generation={generation}"
    nothing = lake.session.createDataFrame([], part_schema(table))
    whole = nothing.unionByName(frame.select(*nothing.columns))
    ordered = whole.sortWithinPartitions(*names, *KEYS[table])
    ordered.write.partitionBy(*names).mode("overwrite").parquet(lake.storage.uri(path))
    return dict.fromkeys(_parts_below(lake, path, len(names)), generation)


def _parts_below(lake: Lake, path: str, depth: int) -> Iterable[str]:
    if depth == 0:
        yield ""
        return
    for entry in lake.storage.entries(path):
        if entry.is_folder and "=" in entry.name:
            value = entry.name.partition("=")[2]
            for rest in _parts_below(lake, f"{path}/{entry.name}", depth - 1):
                yield f"{value}/{rest}" if rest else value


def _together(frame: DataFrame, touched: int) -> DataFrame:
    """Return a frame whose buckets are whole in one partition each; without a shuffle where one is enough."""
    return frame.coalesce(1) if touched == 1 else frame.repartition(touched, "bucket")


def _folder(generation: int) -> str:
    """Return a name for the folders of a generation that no other job takes, even if both make the same number."""
    return f"{generation}-{uuid.uuid4().hex[:8]}"


def _tasks(lake: Lake, buckets: int) -> int:
    """Return how many tasks share the buckets: each bucket is written by one."""
    return min(buckets, max(lake.session.sparkContext.defaultParallelism * 8, 1))


def _batches(markers: Iterable[Marker]) -> list[str]:
    return sorted(marker.batch for marker in markers)


def _publish(lake: Lake, manifest: Manifest) -> None:
    text = json.dumps({"schema": MANIFEST_SCHEMA_ID, **asdict(manifest)}, sort_keys=True)
    try:
        lake.storage.write_once(f"{MANIFESTS}/{manifest.generation:08}.json", text + "\n")
    except NotWrittenError as error:
        raise LakeError("another job refreshed the aggregates meanwhile; start it again") from error
