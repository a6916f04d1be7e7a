"""`--resume`: an incomplete run goes on where it ended; earlier results in --out are told."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import TextIO

import pytest
from click.testing import CliRunner, Result

from wireproof.cli import command
from wireproof.conformance.report import outputs
from wireproof.conformance.report.claim import claimed
from wireproof.conformance.verdict.records import Record

NAMED = ("--profile", "7.3.2", "--variant", "uint8", "--segmentation", "whole", "-q", "-k", "query/quota")


def played(*words: str) -> Result:
    return CliRunner().invoke(command, ["test", "throttr", "simulation", *NAMED, *words])


def lines(folder: Path) -> list[str]:
    return (folder / "records.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)


@pytest.fixture
def cut(tmp_path: Path) -> Path:
    """A run that was killed after half of its plays."""
    folder = tmp_path / "run"
    assert played("--out", str(folder)).exit_code == 0
    every, summary = lines(folder), json.loads((folder / "run.json").read_text(encoding="utf-8"))
    (folder / "records.jsonl").write_text(
        "".join(every[: len(every) // 2]) + '{"schema":"wireproof.rec', encoding="utf-8"
    )
    (folder / "run.json").write_text(
        json.dumps({**summary, "finished_at": None, "partial": ["killed"]}), encoding="utf-8"
    )
    (folder / "pending.jsonl").touch()
    return folder


def test_what_is_left_is_played_and_all_is_one_run(cut: Path) -> None:
    before = lines(cut)[:-1]
    done = played("--resume", str(cut))
    after = [json.loads(line) for line in lines(cut)]
    summary = json.loads((cut / "run.json").read_text(encoding="utf-8"))

    assert done.exit_code == 0, done.output
    assert f"{len(after)} cases" in done.output
    assert lines(cut)[: len(before)] == before
    assert {one["run_id"] for one in after} == {summary["run_id"]}
    assert len({one["case"] for one in after}) == len(after) > len(before)
    assert summary["partial"] == ["-k query/quota"]
    assert not (cut / "pending.jsonl").exists()


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        (("--variant", "uint16"), "its variant is uint8, now uint16"),
        (("--implementation", "other"), "its implementation is wireproof reference, now other"),
    ],
)
def test_another_target_is_refused(cut: Path, words: tuple[str, ...], printed: str) -> None:
    done = played("--resume", str(cut), *words)

    assert done.exit_code == 2
    assert printed in done.stderr
    assert len(lines(cut)) > 1


def test_nothing_to_resume_is_reported(tmp_path: Path) -> None:
    done = played("--resume", str(tmp_path))

    assert done.exit_code == 2
    assert f"nothing to resume in {tmp_path}" in done.stderr


def test_earlier_results_are_reported(cut: Path) -> None:
    incomplete = played("--out", str(cut)).stderr

    assert "holds an incomplete run of wireproof reference" in incomplete
    assert f"--resume {cut}" in incomplete


def test_a_run_goes_on_with_the_cases_that_it_began_with(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    assert played("--out", str(folder)).exit_code == 0
    summary = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    first = lines(folder)
    (folder / "records.jsonl").write_text(first[0], encoding="utf-8")
    (folder / "run.json").write_text(json.dumps({**summary, "finished_at": None}), encoding="utf-8")
    (folder / "pending.jsonl").touch()
    words = ["test", "throttr", "simulation", "--profile", "7.3.2", "--variant", "uint8", "-q", "--resume", str(folder)]
    done = CliRunner().invoke(command, words)

    assert done.exit_code == 0, done.output
    assert "it continues with the options of the run: -k query/quota --segmentation whole" in done.stderr
    assert {json.loads(one)["case"] for one in lines(folder)} == {json.loads(one)["case"] for one in first}


def test_a_finished_run_of_some_cases_is_not_called_incomplete(tmp_path: Path) -> None:
    assert played("--out", str(tmp_path)).exit_code == 0
    again = played("--out", str(tmp_path)).stderr

    assert "partial: -k query/quota): it is replaced" in again
    assert "incomplete" not in again


def test_a_refused_run_does_not_say_that_it_replaces_the_other(cut: Path) -> None:
    with claimed(cut):
        refused = played("--out", str(cut))

    assert refused.exit_code == 2
    assert "another run writes to" in refused.stderr
    assert "replaced" not in refused.stderr


def test_a_full_disk_says_how_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write, kept = outputs._write, list[Record]()

    def until_full(file: TextIO, record: Record) -> None:
        if len(kept) == 3:
            with outputs.reporting_file_errors(file.name):
                raise OSError(errno.ENOSPC, "No space left on device")
        kept.append(record)
        write(file, record)

    out = tmp_path / "run"
    words = ["test", "throttr", "simulation", "-k", "whoami", "--out", str(out)]
    with monkeypatch.context() as patched:
        patched.setattr(outputs, "_write", until_full)
        full = CliRunner().invoke(command, words)
    assert full.exit_code == 2
    assert (
        f"No space left on device; what was played is kept: make space, then go on with --resume {out}" in full.output
    )
    assert len(kept) == 3

    done = CliRunner().invoke(command, ["test", "throttr", "simulation", "--resume", str(out)])
    assert done.exit_code == 0, done.output
