"""The job: `python -m wireproof.spark.job RUNS [RUNS ...] --out DIR [--master local[*]]`, or under spark-submit.

Reads every record below the folders, folds them (`transforms`), and writes Parquet, matrix.json, matrix.md and pages.
Exit codes: 0 written; 2 nothing written: no input, no Java, an unwritable folder, a bad option.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

from wireproof.spark.inputs import is_damaged, is_incomplete, path_of
from wireproof.spark.jvm import JavaNotFoundError
from wireproof.spark.starting import SMALL_INPUT, RefusedError, check_packages, input_files, session_with_log

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from wireproof.spark.matrix import Collected, Json, Rows

EVIDENCE_PER_CELL = 20
GLOB = re.compile(r"[\\\[\]{}*?]")
"""Characters that Spark interprets as a pattern; files with them are read one by one, since a list would be read twice.
"""
DONE, REFUSED = 0, 2
UNDECIDED = "what was played last or judged provisionally is missing (pending.jsonl has it)"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the job with command line `arguments` (None: those of the process); return its exit code."""
    options = _parser().parse_args(arguments)
    began = time.monotonic()
    try:
        document = fold(options.runs, options.out, options.master)
    except (RefusedError, JavaNotFoundError) as refusal:
        print(f"wireproof matrix: {refusal}", file=sys.stderr)
        return REFUSED
    for line in summary(document):
        print(line)
    print(f"wrote {options.out / 'index.html'}, matrix.md, matrix.json, parquet in {time.monotonic() - began:.1f} s")
    return DONE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="wireproof matrix", description="Fold runs into compatibility matrices.")
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUNS", help="folder with runs at any depth")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="where the matrix is written")
    parser.add_argument("--master", help="Spark master (default: that of spark-submit, else local[*])")
    return parser


def fold(roots: Sequence[Path], out: Path, master: str | None = None) -> Json:
    """Fold the runs below `roots` into `out`; return the matrix document.

    Raises `RefusedError` or `JavaNotFoundError`; then no matrix was written.
    """
    check_packages()
    files = input_files(roots)
    try:
        (out / "parquet").mkdir(parents=True, exist_ok=True)
        (out / "spark.log").write_bytes(b"")
    except OSError as error:
        raise RefusedError(f"cannot write to {out}: {error.strerror}") from error
    is_small = sum(file.stat().st_size for file in files) < SMALL_INPUT
    with session_with_log(out / "spark.log", master, small=is_small) as session:
        return fold_with(session, files, out)


def fold_with(session: SparkSession, files: Sequence[Path], out: Path) -> Json:
    """Read `files` in a session and write everything below `out`; return the matrix document.

    Raises `RefusedError` if there is no record.
    """
    from wireproof.spark.matrix import matrix_document
    from wireproof.spark.render import write_pages

    collected = _collect(session, files, out / "parquet")
    document = matrix_document(collected)
    text = json.dumps(document, indent=1, ensure_ascii=False)
    (out / "matrix.json").write_text(text + "\n", encoding="utf-8", errors="replace")
    write_pages(document, collected.evidence, out)
    return document


def _collect(session: SparkSession, files: Sequence[Path], parquet: Path) -> Collected:
    """Read the files twice: all for their runs, then those of the runs that are kept. Nothing wide is held."""
    from pyspark import StorageLevel

    from wireproof.spark import transforms as t
    from wireproof.spark.matrix import Collected

    cases = t.cases_of(t.classified(read_lines(session, files))).persist(StorageLevel.DISK_ONLY)
    by_source = _rows(t.line_counts(cases))
    counts = [{**row, "source": _shown(path_of(row["source"]))} for row in by_source]
    cut_short = sorted({row["source"] for row in by_source if is_incomplete(path_of(row["source"]))})
    if not any(row["kind"] == "record" for row in counts):
        raise RefusedError(_nothing_to_fold(counts))
    runs = _written(t.runs_of(cases, cut_short).coalesce(1), parquet / "runs")
    kept = {path_of(row["source"]) for row in t.latest_records(cases, runs).select("source").distinct().collect()}
    cases.unpersist()
    records = t.accepted(t.classified(read_lines(session, [file for file in files if file in kept])))
    latest = _written(t.without_repeats(t.latest_records(records, runs)), parquet / "latest_records")
    tables = {
        "clause_cells": (t.by_clause(latest), "cells_by_clause"),
        "group_cells": (t.by_group(latest), "cells_by_group"),
        "may_answers": (t.may_answers(latest), "may_answers"),
    }
    with ThreadPoolExecutor(2) as both:
        cells = {
            name: both.submit(lambda frame, table: _rows(_written(frame, parquet / table)), frame.coalesce(1), table)
            for name, (frame, table) in tables.items()
        }
        evidence = both.submit(_rows, t.evidence(latest, EVIDENCE_PER_CELL))
        return Collected(
            **{name: rows.result() for name, rows in cells.items()},
            evidence=evidence.result(),
            runs=_rows(runs),
            line_counts=counts,
            files={_shown(file): is_damaged(file) for file in files},
            incomplete=frozenset(_shown(file) for file in files if is_incomplete(file)),
        )


def read_lines(session: SparkSession, files: Sequence[Path]) -> DataFrame:
    """Return every line of `files` as LINES: as text, so that no parser can drop a line, with its file's URI."""
    odd = [_local(file) for file in files if GLOB.search(str(file.resolve()))]
    plain = [path for path in map(_local, files) if path not in odd]
    frames = [session.read.text(plain)] if plain else []
    frames += [session.read.option("__globPaths__", "false").text(path) for path in odd]
    lines = [frame.select("value", "_metadata.file_path").withColumnRenamed("file_path", "source") for frame in frames]
    return reduce(type(lines[0]).unionAll, lines)


def _local(path: Path) -> str:
    """Return a path for Spark: absolute, on the local file system, unescaped."""
    return f"file:{path.resolve()}"


def _shown(path: Path) -> str:
    """Return a path for pages: relative where possible, so that pages do not reveal who made them."""
    here = Path.cwd()
    return (path.relative_to(here) if path.is_relative_to(here) else path).as_posix()


def _rows(frame: DataFrame) -> Rows:
    return [row.asDict(recursive=True) for row in frame.collect()]


def _written(frame: DataFrame, path: Path) -> DataFrame:
    """Write a frame as Parquet and return what was written, so that nothing is computed twice."""
    frame.write.mode("overwrite").parquet(_local(path))
    return frame.sparkSession.read.schema(frame.schema).parquet(_local(path))


def _nothing_to_fold(counts: Rows) -> str:
    reasons = {row["reason"]: 0 for row in counts}
    for row in counts:
        reasons[row["reason"]] += row["count"]
    found = ", ".join(f"{number} x {reason}" for reason, number in sorted(reasons.items())) or "only empty files"
    return f"no record to fold: {found}"


def summary(document: Json) -> list[str]:
    """Return the lines that the job prints at its end; they account for every line that was not counted."""
    inputs, runs = document["inputs"], document["runs"]
    kept = sum(run["kept"] for run in runs)
    lines = [
        f"read {inputs['lines']} lines of {len(inputs['files'])} files: {inputs['records']} records, "
        f"{inputs['corrupt']} corrupt, {inputs['foreign']} foreign",
        f"kept {kept} of {len(runs)} runs (the latest complete one of each version, profile and variant)",
    ]
    for run in runs:
        if run.get("partial"):
            what = "kept, because none is complete" if run["kept"] else "left out: a complete or later one counts"
            name = f"{run['implementation']} {run['implementation_version']} {run['profile']} {run['variant']}"
            lines.append(f"  {name}: run {run['run_id']} is partial ({run['partial']}), {what}")
    if inputs["repeated"]:
        lines.append(f"{inputs['repeated']} records occur more than once and count once")
    for file in inputs["files"]:
        lines += [f"  {file['path']}: {one['count']} {one['kind']}: {one['reason']}" for one in file["problems"]]
        lines += [f"  {file['path']}: compressed data ends early or is broken"] if file["damaged"] else []
        lines += [f"  {file['path']}: incomplete run, {UNDECIDED}"] if file["incomplete"] else []
    return lines


if __name__ == "__main__":
    sys.exit(main())
