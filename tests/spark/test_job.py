"""The job from files to pages, and what it says when it cannot."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator
from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # ships no types
from pyspark.sql import SparkSession

from tests.places import ROOT
from tests.spark.conftest import realistic_runs
from wireproof.spark import job
from wireproof.spark.ingest import take
from wireproof.spark.inputs import record_files
from wireproof.spark.lake.batches import Lake
from wireproof.spark.lake.refreshing import rebuild
from wireproof.spark.pairs import CLIENT, COUNTS, SERVER, SPOKEN
from wireproof.spark.written_tables import Tables

pytestmark = pytest.mark.spark

Record = dict[str, Any]
MATRIX_SCHEMA = ROOT / "reports" / "schema" / "matrix.schema.json"


@pytest.fixture
def main(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """The command inside the session of these tests."""
    monkeypatch.setattr(job, "session_with_log", lambda log, master, small: nullcontext(spark))
    return lambda *arguments: job.main([str(argument) for argument in arguments])


def cells(document: dict[str, Any], level: str) -> dict[str, tuple[int, int]]:
    """group -> (k, n) of the first column."""
    return {
        group["group"]: (row["cells"][0]["k"], row["cells"][0]["n"])
        for group in document["sections"][0]["groups"]
        for row in group["rows"]
        if row["level"] == level
    }


Made = tuple[Path, int]
"""A folder with runs and their matrix, and the number of records."""


@pytest.fixture(scope="module")
def matrix_of_runs(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Runs with a broken line each in `runs`, and what the command makes of them in `of-runs`."""
    home, runs = tmp_path_factory.mktemp("matrix"), list(realistic_runs())
    for number, run in enumerate(runs):
        file = home / "runs" / "deep" / "er" / str(number) / "records.jsonl"
        file.parent.mkdir(parents=True)
        file.write_text("".join(f"{line}\n" for line in [*map(json.dumps, run), "{broken"]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(job, "session_with_log", lambda log, master, small: nullcontext(spark))
        assert job.main([str(home / "runs"), "--out", str(home / "of-runs")]) == 0
    return home, sum(map(len, runs))


def test_runs_become_tables_a_document_and_pages(matrix_of_runs: Made, spark: SparkSession) -> None:
    home, records = matrix_of_runs
    out = home / "of-runs"

    document = json.loads((out / "matrix.json").read_text())
    Draft202012Validator(json.loads(MATRIX_SCHEMA.read_text())).validate(document)
    assert len(document["sections"][0]["columns"]) == 4
    assert document["inputs"]["records"] == records
    for table in ("cells_by_clause", "cells_by_group", "latest_records", "may_answers", "runs"):
        assert spark.read.parquet(str(out / "parquet" / table)).count() > 0
    no_pairs = spark.read.parquet(str(out / "parquet" / "pairs"))
    assert (no_pairs.columns, no_pairs.count()) == ([*SPOKEN, *CLIENT, *SERVER, *COUNTS], 0)
    links = {cell["evidence"] for cell in every_cell(document) if cell["evidence"]}
    assert links
    for link in links:
        page, _, anchor = link.partition("#")
        assert f'id="{anchor}"' in (out / page).read_text()
    assert "| INSERT | MUST |" in (out / "matrix.md").read_text()


def test_the_matrix_of_a_lake_is_that_of_its_runs(
    main: Callable[..., int],
    matrix_of_runs: Made,
    spark: SparkSession,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    home, _ = matrix_of_runs
    runs, lake = home / "runs", str(tmp_path / "lake")
    take(Lake(spark, lake, create=True), record_files([runs]))
    assert main("--lake", lake, "--out", tmp_path / "none") == 2
    assert "--rebuild" in capsys.readouterr().err
    rebuild(Lake(spark, lake))

    assert main("--lake", lake, "--out", tmp_path / "of-lake") == 0

    of_runs, of_lake = (json.loads((of / "matrix.json").read_text()) for of in (home / "of-runs", tmp_path / "of-lake"))
    Draft202012Validator(json.loads(MATRIX_SCHEMA.read_text())).validate(of_lake)
    for part in ("sections", "runs", "as_of"):
        assert of_lake[part] == of_runs[part]
    for name in ("lines", "records", "corrupt", "repeated"):
        assert of_lake["inputs"][name] == of_runs["inputs"][name]
    pages = {page.name: page.read_text() for page in (home / "of-runs" / "evidence").iterdir()}
    assert pages
    assert {page.name: page.read_text() for page in (tmp_path / "of-lake" / "evidence").iterdir()} == pages
    assert main("--out", tmp_path / "none") == 2
    assert main(runs, "--lake", lake, "--out", tmp_path / "none") == 2
    assert "one of the two" in capsys.readouterr().err


def test_a_table_that_cannot_be_written_in_the_background_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Py4JError), Tables(tmp_path / "file", few=True) as tables:
        assert tables.written(spark.range(3), "runs").count() == 3


def test_a_run_that_is_given_twice_counts_once(
    main: Callable[..., int], record: Callable[..., Record], write_run: Callable[..., Path], tmp_path: Path
) -> None:
    plays = [record(), record(case="another"), record(case="third", verdict="fail", blamed="THR-INSERT-1")]
    for name, lines in {"a": plays, "b": plays[:2], "c": [record(run_id="run-2", variant="uint8")]}.items():
        write_run(name, lines)
    assert main(tmp_path / "runs", "--out", tmp_path / "out") == 0
    document = json.loads((tmp_path / "out" / "matrix.json").read_text())
    assert (document["inputs"]["records"], document["inputs"]["repeated"]) == (6, 2)
    assert [run["records"] for run in document["runs"]] == [1, 5]
    assert [one["variant"] for one in document["sections"][0]["columns"]] == ["uint8", "uint16"]
    assert [one["k"] for one in document["sections"][0]["totals"][0]["cells"]] == [1, 2]


def test_the_published_matrix_is_that_of_the_published_lake(main: Callable[..., int], tmp_path: Path) -> None:
    published = ROOT / "reports" / "published"
    assert main("--lake", published / "lake", "--out", tmp_path) == 0
    assert (tmp_path / "matrix.md").read_text() == (published / "matrix.md").read_text()


def test_a_server_that_fails_in_one_segmentation_only_has_its_cell_marked(
    main: Callable[..., int], record: Callable[..., Record], write_run: Callable[..., Path], tmp_path: Path
) -> None:
    asked = {"level": "SHOULD", "clauses": ["THR-ROBUSTNESS-6"]}
    write_run(
        "r",
        [
            record(),
            record(**asked, delivery="fields"),
            record(**asked, delivery="bytes", verdict="lenient", blamed="THR-ROBUSTNESS-6", guilty="target"),
        ],
    )
    out = tmp_path / "out"
    assert main(tmp_path / "runs", "--out", out) == 0

    document = json.loads((out / "matrix.json").read_text())
    Draft202012Validator(json.loads(MATRIX_SCHEMA.read_text())).validate(document)
    must, should = (row["cells"][0] for row in document["sections"][0]["groups"][0]["rows"])
    assert (must["k"], must["n"], must["mark"], must["plays"]) == (1, 1, "pass", 1)
    assert (should["k"], should["n"], should["mark"], should["plays"]) == (0, 1, "lenient", 2)
    assert must["differing"] == should["differing"] == {"bytes": 1}
    assert must["evidence"] == should["evidence"]
    assert document["inputs"]["repeated"] == 0
    lines = (out / "matrix.md").read_text().splitlines()
    assert [line for line in lines if line.startswith("| INSERT")] == [
        "| INSERT | MUST | ✓ 1/1 ≠ bytes |", "| INSERT | SHOULD | \\~ 0/1 ≠ bytes |",
    ]  # fmt: skip
    assert "≠ bytes</small>" in (out / "index.html").read_text()


def every_cell(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for group in document["sections"][0]["groups"]:
        for row in group["rows"] + group["clauses"]:
            yield from (cell for cell in row["cells"] if cell)


def test_lines_that_are_no_records_are_reported_and_the_rest_counts(
    main: Callable[..., int],
    record: Callable[..., Record],
    write_run: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    file = write_run(
        "odd +%20 [x] é:1/_hidden", [record(), "{broken", record(case="2", schema="wireproof.record/9"), "", "[]"]
    )
    file.with_name("pending.jsonl").touch()
    packed = file.with_name("cut.jsonl.gz")
    packed.write_bytes(gzip.compress((json.dumps(record(case="3")) + "\n").encode() * 5000)[:-200])
    out = tmp_path / "o u t"

    assert main(tmp_path / "runs", "--out", out) == 0

    document = json.loads((out / "matrix.json").read_text())
    by_name = {Path(one["path"]).name: one for one in document["inputs"]["files"]}
    assert str(file) in [one["path"] for one in document["inputs"]["files"]]
    counts = [by_name["records.jsonl"][name] for name in ("lines", "records", "corrupt", "foreign")]
    assert counts == [4, 1, 2, 1]
    assert by_name["cut.jsonl.gz"]["damaged"]
    assert by_name["cut.jsonl.gz"]["records"] > 0
    assert cells(document, "MUST") == {"INSERT": (2, 2)}
    printed = capsys.readouterr().out
    assert f"{file}: 2 corrupt: not one JSON object" in printed
    assert f"{file}: incomplete run" in printed
    assert "1 incomplete run<" in (out / "index.html").read_text()
    assert f"{file}: 1 foreign: another schema id" in printed
    assert "not one JSON object" in (out / "index.html").read_text()


def test_without_a_record_the_job_refuses_and_says_what_it_found(
    main: Callable[..., int], write_run: Callable[..., Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    write_run("r", ["{", "{}", "{}"])

    assert main(tmp_path / "runs", "--out", tmp_path / "out") == 2
    assert "no record to fold: 2 x another schema id, 1 x not one JSON object" in capsys.readouterr().err


def test_empty_files_are_refused(main: Callable[..., int], write_run: Callable[..., Path], tmp_path: Path) -> None:
    write_run("r", [])

    assert main(tmp_path / "runs", "--out", tmp_path / "out") == 2


@pytest.mark.parametrize(("below", "printed"), [("runs", "no records.jsonl"), ("missing", "does not exist")])
def test_a_folder_without_runs_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, below: str, printed: str
) -> None:
    (tmp_path / "runs").mkdir()

    assert job.main([str(tmp_path / below), "--out", str(tmp_path / "out")]) == 2
    assert printed in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_place_that_cannot_be_written_is_refused(
    write_run: Callable[..., Path], record: Callable[..., Record], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    write_run("r", [record()])
    (tmp_path / "file").touch()

    assert job.main([str(tmp_path / "runs"), "--out", str(tmp_path / "file")]) == 2
    assert "cannot write to" in capsys.readouterr().err


def test_an_unknown_option_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        job.main(["runs", "--out", "x", "--sideways"])

    assert exit_.value.code == 2
    assert "--sideways" in capsys.readouterr().err
