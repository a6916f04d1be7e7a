"""Aggregates follow each run, whatever the order, and a rebuild gives the same bytes."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.spark.lakes import commit_runs
from wireproof.spark.lake import refreshing
from wireproof.spark.lake.aggregates import Aggregates, part_folder, read_table
from wireproof.spark.lake.batches import Lake, LakeError
from wireproof.spark.lake.folding import SCHEMAS
from wireproof.spark.lake.refreshing import fold_patches, rebuild, refresh
from wireproof.spark.lake.upkeep import compact, vacuum

pytestmark = pytest.mark.spark

Record = dict[str, Any]


def run(number: int, day: str, verdicts: dict[str, str], **changes: Any) -> list[Record]:
    """A run that plays each case twice; the verdict is that of its second play."""
    name = {"run_id": f"run-{number}", "run_started_at": f"{day}T{number % 24:02}:00:00.000Z"}
    return [
        {"case": case, "delivery": delivery, "verdict": verdict if delivery == "bytes" else "pass"} | name | changes
        for case, verdict in verdicts.items()
        for delivery in ("whole", "bytes")
    ]


def stats(lake: Lake) -> dict[str, tuple[Any, ...]]:
    rows = Aggregates(lake).table("case_stats").collect()
    return {
        row["case"]: (row["runs"], row["passes"], row["flips"], str(row["changed_day"]), row["last_ok"], row["days"])
        for row in rows
    }


def digests(lake: Lake) -> dict[str, str]:
    """Table and part -> hash of its one file."""
    root = Path(lake.storage.root.removeprefix("file:"))
    found = {}
    for table, parts in Aggregates(lake).manifest.parts.items():
        for part, generation in parts.items():
            [file] = (root / part_folder(table, generation, part)).glob("*.parquet")
            found[f"{table}/{part}"] = hashlib.sha256(file.read_bytes()).hexdigest()
    return found


def rows(lake: Lake, *tables: str) -> dict[str, list[str]]:
    """Every row of the aggregates (default: of every table)."""
    return {table: sorted(map(str, Aggregates(lake).table(table).collect())) for table in tables or SCHEMAS}


def check_that_little_is_read(lake: Lake) -> None:
    """A refresh opens only folders, row groups and columns that it needs."""
    records = lake.records({"throttr"}, {"2026-02"}).where("counts").where("column_id in (5, 6)")
    plan = records._jdf.queryExecution().toString()
    assert "PushedFilters: [IsNotNull(counts), EqualTo(counts,true), In(column_id, [5,6])]" in plan
    assert len(records.inputFiles()) == 1
    narrow = records.select("case", "case_rank")._jdf.queryExecution().executedPlan().toString()
    [read] = [line for line in narrow.splitlines() if "ReadSchema" in line]
    assert "evidence_id" not in read
    assert "title" not in read
    assert "CartesianProduct" not in plan


def killed(*_: object) -> None:
    raise KeyboardInterrupt


def test_runs_in_any_order_fold_to_the_same_bytes_as_a_rebuild(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = [*run(1, "2026-01-01", {"A": "pass", "B": "fail"}), *run(2, "2026-01-01", {"A": "fail", "B": "fail"})]
    other = run(3, "2026-01-02", {"A": "pass"}, implementation="beta")
    late = run(4, "2025-12-31", {"A": "fail", "B": "unsupported"})
    newest = run(5, "2026-02-01", {"A": "pass", "B": "pass"})
    same_day = run(0, "2026-01-01", {"A": "fail"})

    rebuild(commit_runs(spark, tmp_path / "lake", [*first, *other]), buckets=2)
    with monkeypatch.context() as patch:
        patch.setattr(refreshing, "MOST_PATCHED", 0)
        refreshed = refresh(commit_runs(spark, tmp_path / "lake", [*late, *newest]))
    assert (refreshed.generation, refreshed.rebuilt, refreshed.columns) == (2, False, 1)
    lake = commit_runs(spark, tmp_path / "lake", same_day)
    assert Aggregates(lake).manifest.patches == {}
    before = rows(lake, "case_stats")
    with monkeypatch.context() as patch:
        patch.setattr(refreshing, "publish", killed)
        with pytest.raises(KeyboardInterrupt):
            refresh(lake)
    assert rows(lake, "case_stats") == before
    refreshed = refresh(lake)
    assert (refreshed.generation, refreshed.rebuilt, refreshed.columns) == (3, False, 1)
    assert rows(lake, "case_stats") != before
    check_that_little_is_read(lake)
    lake = Lake(spark, str(tmp_path / "lake"))
    assert refresh(lake).generation is None
    # A of alpha: fail (late), then fail, pass, fail on one day, then pass
    table = Aggregates(lake).table("case_stats").where("case = 'A' and runs = 5").collect()
    assert [(row["passes"], row["flips"], row["last_ok"], str(row["changed_day"])) for row in table] == [
        (2, 3, 1, "2026-02-01")
    ]
    assert set(Aggregates(lake).manifest.patches) == {"case_days", "case_stats", "latest"}
    patched = rows(lake)
    aggregates = Aggregates(lake)
    mine = read_table(lake, aggregates.manifest, "case_days", columns=[8, 10])
    assert all("/bucket=0/" in file for file in mine.inputFiles())
    plans = [frame._jdf.queryExecution().toString() for frame in (mine, aggregates.table("case_days"))]
    assert "PushedFilters: [In(column_id, [" in plans[0]
    assert not [word for plan in plans for word in ("Join", "CartesianProduct", "UDF", "Exchange") if word in plan]
    assert fold_patches(lake).parts == 3
    assert fold_patches(lake).generation is None
    folded = digests(lake)
    assert Aggregates(lake).manifest.patches == {}
    assert vacuum(lake, 0) > 0
    assert rows(lake) == patched
    rebuild(lake, buckets=2)
    assert digests(lake) == folded

    latest = Aggregates(lake).table("latest").select("implementation", "run_id").collect()
    assert {tuple(row) for row in latest} == {("alpha", "run-5"), ("beta", "run-3")}


@pytest.mark.nightly
def test_a_lake_that_was_compacted_folds_to_the_same_bytes(spark: SparkSession, tmp_path: Path) -> None:
    for number, day in enumerate(["2026-01-01", "2025-12-31", "2026-02-01"]):
        lake = commit_runs(spark, tmp_path / "lake", run(number, day, {"A": "pass", "B": "fail"}))
        refresh(lake)
    rebuild(lake, buckets=2)
    incremental = digests(lake)
    compact(lake)
    compacted = Lake(spark, str(tmp_path / "lake"))
    assert refresh(compacted).generation is None
    vacuum(compacted, 0)
    left = Lake(spark, str(tmp_path / "lake"))
    assert digests(left) == incremental
    rebuild(left, buckets=2)
    assert digests(left) == incremental


def test_what_is_not_scored_neither_passes_nor_flips(spark: SparkSession, tmp_path: Path) -> None:
    runs = [
        record
        for number, verdict in enumerate(["pass", "harness_error", "pass", "lenient", "unsupported"])
        for record in run(number, f"2026-01-0{number + 1}", {"A": verdict})
    ]
    runs += run(6, "2026-01-06", {"A": "fail", "B": "fail"}, not_required="newer than throttr@1")
    lake = commit_runs(spark, tmp_path / "lake", runs)
    assert refresh(lake).rebuilt
    assert stats(lake) == {"A": (3, 2, 1, "2026-01-04", 0, 3)}


def test_a_lake_without_aggregates_says_what_makes_them(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lake(spark, str(tmp_path), create=True)
    assert refresh(lake).generation is None
    with pytest.raises(LakeError, match="--rebuild"):
        Aggregates(lake)
