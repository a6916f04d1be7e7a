"""What changed between two runs: kinds, causes of what broke, exit codes, the page."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.conformance.report.test_outputs import HOSTILE, RUN, record
from wireproof.cli import command
from wireproof.conformance.report.outputs import KeptEvidence, RunFolder
from wireproof.conformance.report.run_comparison import Changed, compare_runs
from wireproof.conformance.report.run_files import RunFileError, read_run

PLACE = {"role": "server", "protocol": "throttr", "profile": "7.1.0", "variant": "uint16", "run_id": "0" * 16}


def one(case: str, verdict: str = "pass", level: str = "MUST", **more: Any) -> dict[str, Any]:
    return record(case, verdict, level, **{**PLACE, "extra": {}, **more})


def written(folder: Path, *records: dict[str, Any]) -> Path:
    with RunFolder(folder, evidence=KeptEvidence.FAILURES) as run:
        for each in records:
            run.add(each)
        run.finish(RUN.summary(list(records), 1), list(records))
    return folder


BEFORE = (
    one("insert/stays"),
    one("insert/breaks"),
    one("insert/asked-now", "unsupported"),
    one("insert/mended", "fail"),
    one("insert/otherwise", "fail", blamed="THR-INSERT-1"),
    one("insert/open", level="MAY", observed="refused"),
    one("insert/gone"),
    one("insert/stays", delivery="bytes", level="SHOULD"),
    one("insert/ours"),
)
AFTER = (
    one("insert/stays"),
    one("insert/breaks", "fail"),
    one("insert/asked-now", "hang"),
    one("insert/mended"),
    one("insert/otherwise", "hang", blamed="THR-INSERT-1"),
    one("insert/open", level="MAY", observed="accepted"),
    one("insert/new", "fail"),
    one("insert/ours", "harness_error"),
)


@pytest.fixture
def runs(tmp_path: Path) -> tuple[Path, Path]:
    return written(tmp_path / "a", *BEFORE), written(tmp_path / "b", *AFTER)


def test_each_change_has_its_kind(runs: tuple[Path, Path]) -> None:
    found = compare_runs(*map(read_run, runs))

    assert {kind: {each.shown["case"].split("/")[1] for each in found.of(kind)} for kind in Changed} == {
        Changed.BROKEN: {"breaks", "asked-now"},
        Changed.FIXED: {"mended"},
        Changed.OTHERWISE: {"otherwise", "open", "ours"},
        Changed.NEW: {"new"},
        Changed.GONE: {"gone"},
    }
    assert (found.same, found.unsampled) == (1, 1)
    assert {each.words for each in found.of(Changed.OTHERWISE)} == {
        "fail [THR-INSERT-1] → hang [THR-INSERT-1]",
        "observed refused → observed accepted",
        "pass → harness_error",
    }


@pytest.mark.parametrize("partial_first", [True, False])
def test_of_a_partial_run_only_what_both_played_is_compared(tmp_path: Path, partial_first: bool) -> None:
    cut = replace(RUN, partial=["only -k stays was asked for"])
    with RunFolder(tmp_path / "cut") as run:
        run.add(BEFORE[0])
        run.finish(cut.summary(BEFORE[:1], 0), BEFORE[:1])
    whole = written(tmp_path / "whole", *BEFORE)

    found = compare_runs(*map(read_run, (tmp_path / "cut", whole) if partial_first else (whole, tmp_path / "cut")))

    whole_only = len(BEFORE) - 2
    assert (found.changes, found.same, found.left_out, found.unsampled) == ((), 1, whole_only, 1)
    assert f"not compared, not in a partial run: {whole_only} plays" in found.notes


def test_what_broke_is_reported_by_its_causes(runs: tuple[Path, Path]) -> None:
    causes = compare_runs(*map(read_run, runs)).broken_causes

    assert {each.first["case"] for each in causes} <= {one["case"] for one in AFTER}
    assert any(each.first["case"] == "insert/breaks" or "insert/breaks" in each.following for each in causes)


def test_exit_codes_and_sentences(runs: tuple[Path, Path], tmp_path: Path) -> None:
    page = tmp_path / "pages" / "changes.html"
    broken = CliRunner().invoke(command, ["compare", *map(str, runs), "--out", str(page)])
    same = CliRunner().invoke(command, ["compare", str(runs[0]), str(runs[0])])
    text = page.read_text(encoding="utf-8")

    assert (broken.exit_code, same.exit_code) == (1, 0), broken.output
    assert "broken: 2 broken, 1 fixed, 3 changed in kind, 1 new, 1 gone, 1 the same" in broken.output
    assert "THR-INSERT-1: " in broken.output
    assert 'href="../b/index.html#' in text
    assert "<script" not in text.replace("&lt;script", "")
    assert HOSTILE not in text


def test_partial_runs_and_other_versions_are_reported(tmp_path: Path) -> None:
    first, second = written(tmp_path / "a", *BEFORE), written(tmp_path / "b", *AFTER)
    summary = json.loads((second / "run.json").read_text(encoding="utf-8"))
    changed = {**summary, "partial": ["-k x"], "wireproof_version": "9"}
    (second / "run.json").write_text(json.dumps(changed), encoding="utf-8")
    notes = compare_runs(read_run(first), read_run(second)).notes

    assert "the second run is partial: -k x" in notes
    assert any(each.startswith("wireproof version: ") and each.endswith(" → 9") for each in notes)


def test_a_file_of_records_alone_is_a_run(tmp_path: Path) -> None:
    folder = written(tmp_path / "a", *BEFORE)
    packed = tmp_path / "old.jsonl.gz"
    packed.write_bytes(gzip.compress((folder / "records.jsonl").read_bytes() + b"no record\n"))
    found = read_run(packed)

    assert (len(found.records), found.skipped, found.summary["profile"]) == (len(BEFORE), 1, "7.1.0")
    assert found.records[0]["exchange"] == []


@pytest.mark.parametrize(("make", "printed"), [(Path.mkdir, "no run in"), (Path.touch, "no records in")])
def test_what_is_no_run_is_reported(make: Any, printed: str, tmp_path: Path) -> None:
    make(tmp_path / "x")
    done = CliRunner().invoke(command, ["compare", str(tmp_path / "x"), str(tmp_path / "x")])

    assert done.exit_code == 2
    assert printed in done.stderr


def test_runs_of_other_protocols_are_not_compared(tmp_path: Path) -> None:
    first = read_run(written(tmp_path / "a", *BEFORE))
    second = read_run(written(tmp_path / "b", *AFTER))
    other = type(second)(second.path, {**second.summary, "protocol": "psrt"}, second.records)

    with pytest.raises(RunFileError, match=r"protocol: .* has throttr"):
        compare_runs(first, other)
