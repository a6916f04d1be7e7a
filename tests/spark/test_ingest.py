"""The command `ingest`, and `site` after it: what they print, and their exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from wireproof.spark import ingest, site
from wireproof.spark.lake.batches import Lake
from wireproof.spark.lake.views import register_views

pytestmark = pytest.mark.spark

Record = dict[str, Any]


@pytest.fixture
def commands(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands inside the session of these tests."""

    @contextmanager
    def shared(command: str, master: str | None, *, small: bool = False) -> Iterator[SparkSession]:
        yield spark

    monkeypatch.setattr(ingest, "session_for", shared)
    monkeypatch.setattr(site, "session_for", shared)


@pytest.mark.usefixtures("commands")
def test_runs_may_be_given_by_a_uri(
    spark: SparkSession,
    record: Callable[..., Record],
    write_run: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    write_run("a {1,2} b", [record(), "{broken"])
    cut = write_run("cut", [record(run_id="cut", run_started_at="2026-01-02T10:00:00.000Z")])
    cut.with_name("pending.jsonl").write_text("{}")
    (tmp_path / "runs" / "notes.jsonl").write_text("not of a run")

    assert ingest.main([f"file://{tmp_path}/runs", "--lake", str(tmp_path / "lake"), "--no-refresh"]) == 0
    said = capsys.readouterr().out
    assert "took 2 new runs" in said
    assert "1 run of them partial" in said
    assert ingest.main([str(tmp_path / "runs"), "--lake", str(tmp_path / "lake"), "--no-refresh"]) == 0
    assert "already there: 2" in capsys.readouterr().out
    assert len(Lake(spark, str(tmp_path / "lake")).markers) == 1
    assert ingest.main([f"file:{tmp_path}/none", "--lake", str(tmp_path / "other")]) == 2
    assert "no records.jsonl or *.jsonl.gz below file:" in capsys.readouterr().err
    assert not (tmp_path / "other").exists()


def write_finding(folder: Path, **changes: Any) -> Path:
    """Write a finding of a fuzzer as its folder holds it."""
    finding = {
        "schema": "wireproof.finding/1",
        "id": "0123456789abcdef",
        "engine": "server",
        "oracle": "death",
        "clause": "THR-GENERAL-1",
        "told": "it died",
        "shape": "s",
        "state": "",
        "protocol": "throttr",
        "profile": "7.1.0",
        "variant": "uint16",
        "target": "tcp://h:1",
        "implementation": "alpha",
        "data": "",
        "script": [],
        "again": {"seen": 3, "of": 3},
        "found_at": "2026-01-03T00:00:00Z",
        "found_by": "0.1.0",
        "executions": 10,
        "seed": 1,
    }
    folder.mkdir(parents=True)
    (folder / "finding.json").write_text(json.dumps(finding | changes, indent=1))
    return folder


@pytest.mark.usefixtures("commands")
def test_findings_and_runs_are_taken_followed_compacted_and_shown(
    record: Callable[..., Record],
    write_run: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    spark: SparkSession,
) -> None:
    lake, out, runs = str(tmp_path / "lake"), tmp_path / "site", tmp_path / "runs"
    first = write_finding(runs / "findings" / "a")

    assert ingest.main([str(first), "--lake", lake]) == 0
    assert "took 1 new finding " in capsys.readouterr().out
    assert site.main(["--lake", lake, "--out", str(out)]) == 2
    assert "has no run yet" in capsys.readouterr().err

    file = write_run("a", [record(), "{broken"])
    for name, changes in (("b {1,2}", {"id": "1" * 16, "shape": "t"}), ("bad", {"shape": None})):
        write_finding(runs / "findings" / name, **changes)
    assert ingest.main([str(runs), "--lake", lake, "--rebuild"]) == 0
    printed = capsys.readouterr().out
    assert "took 1 new run " in printed
    assert "quarantined 1 line: not one JSON object" in printed
    assert "took 1 new finding of fuzzing; already there: 1" in printed
    assert "quarantined 1 finding of fuzzing: a field is missing" in printed
    assert "rebuilt the aggregates: generation 2" in printed

    write_finding(tmp_path / "later" / "c", implementation="beta")
    (tmp_path / "later" / "kill-matrix.json").write_text("{}")
    assert ingest.main([f"file://{runs}/findings", str(tmp_path / "later"), "--lake", lake]) == 0
    printed = capsys.readouterr().out
    assert "took 1 new finding of fuzzing; already there: 2" in printed
    assert "took 0 new kill matrices; already there: 0\nquarantined 1 kill matrix: no kill matrix in JSON" in printed
    assert "aggregates were up to date" in printed

    write_run("b", [record(run_id="run-2", run_started_at="2026-01-02T10:00:00.000Z")])
    assert ingest.main([str(runs), "--lake", lake, "--follow", "--interval", "0.2", "--for", "4"]) == 0
    followed = capsys.readouterr().out
    assert "took 1 new run " in followed
    assert "already there: 1" in followed
    assert "patched 1 column of" in followed
    assert file.exists()

    assert ingest.main(["--lake", lake, "--compact"]) == 0
    printed = capsys.readouterr().out
    assert "merged 6 batches into one" in printed
    assert "folded patches into 3 parts of the aggregates" in printed
    register_views(spark, lake)
    rows = spark.sql("select implementation, oracle, clause, shapes, findings from findings_by_clause order by 1")
    found = [("alpha", "death", "THR-GENERAL-1", 2, 2), ("beta", "death", "THR-GENERAL-1", 1, 1)]
    assert [tuple(row) for row in rows.collect()] == found

    assert site.main(["--lake", lake, "--out", str(out)]) == 0
    assert "1 implementation, 1 column, 1 row" in capsys.readouterr().out
    assert (out / "index.html").exists()
    assert '"clause":"THR-GENERAL-1"' in (out / "data" / "findings.js").read_text()


@pytest.mark.usefixtures("commands")
def test_what_is_no_lake_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert site.main(["--lake", str(tmp_path / "none"), "--out", str(tmp_path / "site")]) == 2
    assert "is no lake" in capsys.readouterr().err
    assert ingest.main(["--lake", str(tmp_path / "none"), "--rebuild"]) == 2
    assert "is no lake" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        (["--lake", "l"], "name a RUN"),
        (["none", "--lake", "l"], "none does not exist"),
        ([".", "--lake", "l"], "no records.jsonl"),
    ],
)
def test_without_something_to_do_ingest_refuses(
    words: list[str], printed: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert ingest.main(words) == 2
    assert printed in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["ingest", "site"])
def test_the_command_line_knows_the_commands(name: str) -> None:
    from wireproof.cli import command

    listed = CliRunner().invoke(command, ["--help"])
    assert f"  {name} " in listed.output
