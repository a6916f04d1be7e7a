"""Runs go into a lake once, whole or not at all, and what is no record goes to quarantine."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

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
    open_lake: Callable[[], Lake], record: Callable[..., Record], write_run: Write
) -> None:
    wrong = {"verdict": "fail", "blamed": "THR-INSERT-1", "expected": "01", "got": "02", "case": "B"}
    file = write_run(
        "a", [record(case="A"), record(**wrong), record(case="A"), "{broken", json.dumps(record(level="NEVER"))]
    )
    first = take(open_lake(), [file])
    again = take(open_lake(), [file])

    lake = open_lake()
    assert first.runs == {"new": 1}
    assert again.runs == {"repeated": 1}
    assert again.marker is None
    [run] = lake.runs().collect()
    assert first.marker is not None
    assert first.marker.touched == [[run["column_id"], "throttr", "2026-01-01"]]
    assert first.refused == {"not one JSON object": 1, "unknown level": 1}
    assert played(lake) == [("run-1", "A", "pass"), ("run-1", "B", "fail")]
    bad = {(row["reason"], row["line"][:7]) for row in lake.quarantine().collect()}
    assert bad == {("not one JSON object", "{broken"), ("unknown level", '{"recor')}
    assert (run["records"], run["cases"], run["must_passed"], run["must_scored"], run["partial"]) == (2, 2, 1, 2, None)
    [evidence] = lake.evidence().collect()
    assert (evidence["expected"], evidence["got"], evidence["exchange"][0]["hex"]) == ("01", "02", "07")


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


def test_a_killed_job_leaves_nothing_visible(
    open_lake: Callable[[], Lake], record: Callable[..., Record], write_run: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_run("a", [record(case="A")])

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
    assert take(open_lake(), [file]).runs == {"new": 1}


def test_of_two_jobs_at_once_one_is_asked_to_start_again(
    open_lake: Callable[[], Lake], record: Callable[..., Record], write_run: Write
) -> None:
    one, other = open_lake(), open_lake()
    take(one, [write_run("a", [record(run_id="a")])])
    with pytest.raises(LakeError, match="start it again"):
        take(other, [write_run("b", [record(run_id="b")])])
    assert [run for run, _, _ in played(open_lake())] == ["a"]


def test_only_the_folders_asked_for_are_read(
    open_lake: Callable[[], Lake], record: Callable[..., Record], write_run: Write
) -> None:
    months = [record(run_id=f"r{month}", run_started_at=f"2026-{month:02}-01T10:00:00Z") for month in (1, 2)]
    take(open_lake(), [write_run("a", [*months, record(run_id="p", protocol="other")])])
    lake = open_lake()
    files = lake.records({"throttr"}, {"2026-02"}).inputFiles()
    assert len(files) == 1
    assert "/protocol=throttr/month=2026-02/" in files[0]


def test_a_new_run_without_evidence_may_come_with_an_old_one_that_has_some(
    spark: SparkSession, open_lake: Callable[[], Lake], record: Callable[..., Record], write_run: Write
) -> None:
    old = write_run("old", [record(verdict="fail", blamed="THR-INSERT-1")])
    new = write_run("new", [record(run_id="run-2")])
    take(open_lake(), [old])
    spark.conf.set("spark.sql.adaptive.enabled", "true")  # writes no file at all where there is no row
    try:
        taken = take(open_lake(), [old, new])
    finally:
        spark.conf.set("spark.sql.adaptive.enabled", "false")
    assert taken.runs == {"repeated": 1, "new": 1}
    assert taken.rows["evidence"] == 0
    assert open_lake().evidence().count() == 1


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


def test_names_that_are_awkward_as_folders_are_read_back(
    open_lake: Callable[[], Lake], record: Callable[..., Record], write_run: Write
) -> None:
    odd = "a b/c=d%é:*"
    take(open_lake(), [write_run("a", [record(protocol=odd)])])
    assert [row["protocol"] for row in open_lake().records({odd}).collect()] == [odd]


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
