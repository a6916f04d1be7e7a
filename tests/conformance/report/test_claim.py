"""One run at a time writes into a folder, and a complete run there is only replaced by a complete one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from wireproof.conformance.report.claim import LOCK, claimed, holds_complete_run, replace_older
from wireproof.conformance.report.outputs import JOURNAL, OutputError, RunFolder
from wireproof.conformance.verdict.records import Run


def write(folder: Path, text: str, *, complete: bool = True, partial: str = "") -> None:
    """Write a run whose only record says `text`."""
    run = Run("throttr", "7.1.0", "uint16", "t", text, partial=[partial] if partial else [])
    with RunFolder(folder) as files:
        files.begin(run.summary((), 130))
        files.add({"text": text})
        if complete:
            files.finish(run.summary((), 0))


def text_in(folder: Path) -> str:
    found: str = json.loads((folder / "records.jsonl").read_text(encoding="utf-8"))["text"]
    return found


def play(out: Path, text: str, *, complete: bool = True, partial: str = "") -> Path:
    with claimed(out) as working:
        assert working is not None
        write(working, text, complete=complete, partial=partial)
        return replace_older(out, working)


def test_a_second_run_into_one_folder_is_refused_and_names_the_first(tmp_path: Path) -> None:
    with claimed(tmp_path / "out"), pytest.raises(OutputError) as error, claimed(tmp_path / "out"):
        pass

    assert str(error.value) == f"another run writes to {tmp_path / 'out'} (process {os.getpid()}): name another --out"


def test_a_lock_goes_with_its_process_however_that_ends(tmp_path: Path) -> None:
    code = "import sys, os; from pathlib import Path; from wireproof.conformance.report.claim import claimed\n"
    code += "with claimed(Path(sys.argv[1])):\n    os.kill(os.getpid(), 9)\n"
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "out")], timeout=30, check=False)
    left = (tmp_path / "out" / LOCK).exists()

    with claimed(tmp_path / "out") as working:
        assert (left, working) == (True, tmp_path / "out")


def test_a_complete_run_stays_until_another_one_is_complete(tmp_path: Path) -> None:
    first = play(tmp_path, "first")
    killed = play(tmp_path, "killed", complete=False)
    kept = text_in(tmp_path)
    filtered = play(tmp_path, "filtered", partial="-k insert")
    still = text_in(tmp_path)
    second = play(tmp_path, "second")

    assert (first, second) == (tmp_path, tmp_path)
    assert killed == filtered == tmp_path / "partial"
    assert (kept, still, text_in(tmp_path)) == ("first", "first", "second")
    assert not (tmp_path / "partial").exists()


def test_a_partial_run_is_replaced_at_once(tmp_path: Path) -> None:
    play(tmp_path, "killed", complete=False)

    assert (tmp_path / JOURNAL).exists()
    assert play(tmp_path, "filtered", partial="-k insert") == tmp_path
    assert text_in(tmp_path) == "filtered"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"finished_at": null}', '{"finished_at": "x", "partial": ["-k x"]}'])
def test_what_is_no_complete_run_is_distinguished(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.json").write_text(text)
    incomplete = holds_complete_run(tmp_path)
    (tmp_path / "run.json").write_text('{"finished_at": "2026-01-01T00:00:00.000Z"}')

    assert (incomplete, holds_complete_run(tmp_path)) == (False, True)


def test_nothing_is_left_of_a_run_that_did_not_begin(tmp_path: Path) -> None:
    with claimed(tmp_path / "new"):
        pass
    play(tmp_path / "old", "first")
    with claimed(tmp_path / "old"):
        pass

    assert not (tmp_path / "new").exists()
    assert sorted(one.name for one in (tmp_path / "old").iterdir()) == ["records.jsonl", "run.json"]


def test_without_a_folder_nothing_is_claimed() -> None:
    with claimed(None) as working:
        assert working is None
