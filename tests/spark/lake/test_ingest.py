"""Runs go into a lake once, whole or not at all, and what is no record goes to quarantine."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.places import ROOT
from wireproof.spark.ingest import take
from wireproof.spark.inputs import record_files
from wireproof.spark.lake import ingest as ingesting
from wireproof.spark.lake.batches import Lake, LakeError
from wireproof.spark.lake.upkeep import compact, vacuum

pytestmark = pytest.mark.spark

Record = dict[str, Any]
Write = Callable[..., Path]


@pytest.fixture
def open_lake(spark: SparkSession, tmp_path: Path) -> Callable[[], Lake]:
    return lambda: Lake(spark, str(tmp_path / "lake"), create=True)


def played(lake: Lake) -> list[tuple[str, str, str]]:
    rows = lake.records().select("run_id", "case", "verdict").collect()
    return sorted((row["run_id"], row["case"], row["verdict"]) for row in rows)


def test_a_run_is_taken_once_and_a_bad_line_is_quarantined(
    spark: SparkSession, open_lake: Callable[[], Lake], record: Callable[..., Record], write_run: Write
) -> None:
    wrong = {"verdict": "fail", "blamed": "THR-INSERT-1", "expected": "01", "got": "02", "case": "B"}
    file = write_run(
        "a", [record(case="A"), record(**wrong), record(case="A"), "{broken", json.dumps(record(level="NEVER"))]
    )
    first = take(open_lake(), [file])
    new = write_run("new", [record(run_id="run-2")])
    spark.conf.set("spark.sql.adaptive.enabled", "true")  # writes no file at all where there is no row
    try:
        again = take(open_lake(), [file, new])
    finally:
        spark.conf.set("spark.sql.adaptive.enabled", "false")

    lake = open_lake()
    assert first.runs == {"new": 1}
    assert again.runs == {"repeated": 1, "new": 1}
    assert again.rows == {"quarantine": 0, "runs": 1, "records": 1, "evidence": 0}
    [run] = [one for one in lake.runs().collect() if one["run_id"] == "run-1"]
    assert first.marker is not None
    assert first.marker.touched == [[run["column_id"], "throttr", "2026-01-01"]]
    assert first.refused == again.refused == {"not one JSON object": 1, "unknown level": 1}
    assert played(lake) == [("run-1", "A", "pass"), ("run-1", "B", "fail"), ("run-2", "THR-C-INSERT-1", "pass")]
    bad = sorted((row["reason"], row["line"][:7]) for row in lake.quarantine().collect())
    assert bad == [("not one JSON object", "{broken"), ("unknown level", '{"recor')]
    assert (run["records"], run["cases"], run["must_passed"], run["must_scored"], run["partial"]) == (2, 2, 1, 2, None)
    [evidence] = lake.evidence().collect()
    assert (evidence["expected"], evidence["got"], evidence["exchange"][0]["hex"]) == ("01", "02", "07")


def test_a_protocol_that_passes_all_is_taken_beside_one_that_does_not(
    open_lake: Callable[[], Lake], record: Callable[..., Record], write_run: Write
) -> None:
    """Its folder of evidence, which is not there, was read: no matrix and no site could be made."""
    fails, passes = [record(verdict="fail", blamed="THR-INSERT-1")], [record(protocol="psrt", run_id="run-2")]
    take(open_lake(), [write_run("fails", fails), write_run("passes", passes)])
    assert open_lake().evidence().count() == 1


def test_a_part_of_a_run_is_marked_and_gives_way_to_the_whole_one(
    open_lake: Callable[[], Lake], record: Callable[..., Record], write_run: Write
) -> None:
    some = [record(case="A", run_cases=2, verdict="fail", blamed="THR-INSERT-1")]
    part = write_run("part", some)
    take(open_lake(), [part])
    [run] = open_lake().runs().collect()
    assert run["partial"] == "1 of 2 cases"

    whole = write_run("whole", [*some, record(case="B", run_cases=2)])
    assert take(open_lake(), [whole]).runs == {"superseding": 1}
    assert take(open_lake(), [part]).runs == {"repeated": 1}
    lake = open_lake()
    assert played(lake) == [("run-1", "A", "fail"), ("run-1", "B", "pass")]
    assert [row["partial"] for row in lake.runs().collect()] == [None]

    assert compact(lake) == 2
    assert played(open_lake()) == [("run-1", "A", "fail"), ("run-1", "B", "pass")]
    assert vacuum(open_lake(), 0) > 0
    after = open_lake()
    assert played(after) == [("run-1", "A", "fail"), ("run-1", "B", "pass")]
    assert len(after.markers) == 1
    assert after.evidence().count() == 1


def test_duckdb_counts_what_the_lake_counts(
    open_lake: Callable[[], Lake],
    record: Callable[..., Record],
    write_run: Write,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The page's query without markers counted a run twice from its `--compact` until a `--vacuum` of all."""
    [query] = re.findall(r"```duckdb\n(.*?)```", (ROOT / "docs" / "spark-lake.md").read_text("utf-8"), re.DOTALL)
    some = [record(case="A", run_cases=2)]
    take(open_lake(), [write_run("part", some), write_run("other", [record(run_id="run-2", implementation="beta")])])
    take(open_lake(), [write_run("whole", [*some, record(case="B", run_cases=2)])])
    monkeypatch.chdir(tmp_path / "lake")
    duckdb = pytest.importorskip("duckdb")

    assert duckdb.sql(query).fetchall() == [("alpha", "pass", 2), ("beta", "pass", 1)]
    assert compact(open_lake()) == 2
    assert duckdb.sql(query).fetchall() == [("alpha", "pass", 2), ("beta", "pass", 1)]


def test_a_job_that_is_killed_or_too_late_leaves_nothing_visible(
    open_lake: Callable[[], Lake], record: Callable[..., Record], write_run: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    months = [record(run_id=f"r{month}", run_started_at=f"2026-{month:02}-01T10:00:00Z") for month in (1, 2)]
    odd = "a b/c=d%é:*"
    file = write_run("a", [*months, record(run_id="p", protocol=odd)])

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Lake, "commit", killed)
        with pytest.raises(KeyboardInterrupt):
            take(open_lake(), [file])
    lake = open_lake()
    assert lake.storage.entries("records")
    assert played(lake) == []
    assert vacuum(lake, 0) > 0
    assert lake.storage.entries("records") == []

    late = open_lake()
    assert take(open_lake(), [file]).runs == {"new": 3}
    with pytest.raises(LakeError, match="start it again"):
        take(late, [write_run("b", [record(run_id="b")])])

    lake = open_lake()
    assert [run for run, _, _ in played(lake)] == ["p", "r1", "r2"]
    [read] = lake.records({"throttr"}, {"2026-02"}).inputFiles()
    assert "/protocol=throttr/month=2026-02/" in read
    assert [(row["protocol"], row["run_id"]) for row in lake.records({odd}).collect()] == [(odd, "p")]


def test_no_step_needs_python_on_executors(open_lake: Callable[[], Lake]) -> None:
    lake = open_lake()
    for frame in (lake.runs(), lake.records(), lake.quarantine()):
        assert "ExistingRDD" not in frame._jdf.queryExecution().executedPlan().toString()
        assert frame.collect() == []


def test_a_batch_of_a_newer_format_is_refused(open_lake: Callable[[], Lake]) -> None:
    lake = open_lake()
    marker = {"schema": "wireproof.batch/1", "batch": "b", "number": 1, "committed_at": "x", "format": 99}
    lake.storage.write_once("_batches/00000001.json", json.dumps(marker))
    with pytest.raises(LakeError, match="format 99"):
        open_lake()


def test_a_folder_that_is_no_lake_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(LakeError, match="is no lake"):
        Lake(spark, str(tmp_path))


def test_a_large_ingest_has_several_files_and_the_same_rows(
    open_lake: Callable[[], Lake],
    made_up_runs: Callable[..., Iterator[list[Record]]],
    write_run: Write,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(ingesting, "ROWS_A_FILE", 100)
    runs = list(made_up_runs())
    for number, run in enumerate(runs):
        write_run(f"{number}", run)
    take(open_lake(), record_files([tmp_path / "runs"]))
    lake = open_lake()
    assert lake.records().count() == sum(map(len, runs))
    assert lake.records().where("counts").count() == sum(map(len, runs)) // 2
