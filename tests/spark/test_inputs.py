"""Which files are records, and which of them are broken."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from wireproof.spark.inputs import is_damaged, is_incomplete, path_of, record_files


def touch(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


def test_records_are_found_at_any_depth_and_nothing_else(tmp_path: Path) -> None:
    expected = [touch(tmp_path / name) for name in ("a/b/c/records.jsonl", "a/old.jsonl.gz", "records.jsonl")]
    for name in ("a/run.json", "a/other.jsonl", "a/.hidden.jsonl.gz", "notes.txt"):
        touch(tmp_path / name)

    assert sorted(expected) == record_files([tmp_path])


def test_a_file_below_two_roots_is_found_once(tmp_path: Path) -> None:
    file = touch(tmp_path / "a" / "records.jsonl")

    assert [file] == record_files([tmp_path, tmp_path / "a", file])


def test_a_root_may_be_a_file_of_any_name(tmp_path: Path) -> None:
    file = touch(tmp_path / "yesterday.jsonl")

    assert [file] == record_files([file])


def test_a_root_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        record_files([tmp_path / "missing"])


def test_a_run_with_its_journal_is_incomplete(tmp_path: Path) -> None:
    records, packed = touch(tmp_path / "records.jsonl"), touch(tmp_path / "old.jsonl.gz")
    before = is_incomplete(records)
    touch(tmp_path / "pending.jsonl")

    assert (before, is_incomplete(records), is_incomplete(packed)) == (False, True, False)


def test_a_cut_gzip_is_damaged(tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole.jsonl.gz", tmp_path / "cut.jsonl.gz"
    whole.write_bytes(gzip.compress(b"{}\n" * 1000))
    cut.write_bytes(whole.read_bytes()[:-9])

    assert (is_damaged(whole), is_damaged(cut)) == (False, True)


def test_a_uri_of_spark_becomes_the_path_again() -> None:
    assert path_of("file:///a%20b/c+d/%25.jsonl") == Path("/a b/c+d/%.jsonl")
