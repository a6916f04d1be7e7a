"""The job: `python -m wireproof.spark.job RUNS [RUNS ...] --out DIR [--master local[*]]`, or under spark-submit.

Reads every record below the folders, or with `--lake URI` the latest runs of a lake, folds them (`transforms`), and
writes Parquet, matrix.json, matrix.md and pages.
Exit codes: 0 written; 2 nothing written: no input, no lake, no Java, an unwritable folder, a bad option.
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
from wireproof.spark.wording import number_of
from wireproof.spark.written_tables import EVIDENCE_PER_CELL, Tables, cells_and_evidence, local_uri, rows_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from wireproof.spark.matrix import Collected, Json, Rows

GLOB = re.compile(r"[\\\[\]{}*?]")
"""Characters that Spark interprets as a pattern; files with them are read one by one, since a list would be read twice.
"""
DONE, REFUSED = 0, 2
UNDECIDED = "what was played last or judged provisionally is missing (pending.jsonl has it)"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the job with command line `arguments` (None: those of the process); return its exit code."""
    options = _parser().parse_args(arguments)
    began = time.monotonic()
    if bool(options.runs) == bool(options.lake):
        print("wireproof matrix: name RUNS or a --lake, one of the two", file=sys.stderr)
        return REFUSED
    try:
        document = fold(options.runs, options.out, options.master, options.lake)
    except (RefusedError, JavaNotFoundError) as refusal:
        print(f"wireproof matrix: {refusal}", file=sys.stderr)
        return REFUSED
    for line in summary(document):
        print(line)
    print(f"wrote {options.out / 'index.html'}, matrix.md, matrix.json, parquet in {time.monotonic() - began:.1f} s")
    return DONE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="wireproof matrix", description="Fold runs into compatibility matrices.")
    parser.add_argument("runs", nargs="*", type=Path, metavar="RUNS", help="folder with runs at any depth")
    parser.add_argument("--lake", metavar="URI", help="a lake that `wireproof ingest` made, in place of RUNS")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="where the matrix is written")
    parser.add_argument("--master", help="Spark master (default: that of spark-submit, else local[*])")
    return parser


def fold(roots: Sequence[Path], out: Path, master: str | None = None, lake: str | None = None) -> Json:
    """Fold the runs below `roots`, or those of `lake`, into `out`; return the matrix document.

    Raises `RefusedError` or `JavaNotFoundError`; then no matrix was written.
    """
    check_packages()
    files = [] if lake else input_files(roots)
    try:
        (out / "parquet").mkdir(parents=True, exist_ok=True)
        (out / "spark.log").write_bytes(b"")
    except OSError as error:
        raise RefusedError(f"cannot write to {out}: {error.strerror}") from error
    size = sum(file.stat().st_size for file in files)
    with (
        ThreadPoolExecutor(1) as pages,
        session_with_log(out / "spark.log", master, small=size < SMALL_INPUT) as session,
    ):
        from wireproof.spark.session import WORTH_CODE, compile_queries

        if WORTH_CODE < size < SMALL_INPUT:
            compile_queries(session)
        collected = collect_lake(session, lake, out) if lake else collect(session, files, out)
        soon = pages.submit(_document, collected, out) if 0 < size < SMALL_INPUT else None  # while the JVM ends
    return soon.result() if soon else _document(collected, out)  # without the memory of a JVM beside it


def collect_lake(session: SparkSession, uri: str, out: Path) -> Collected:
    """Write the tables of the latest runs of a lake below `out`; return what a matrix is made of.

    Raises `RefusedError` if it is no lake, or has no record.
    """
    from wireproof.spark.from_lake import collected_from
    from wireproof.spark.lake.aggregates import Aggregates
    from wireproof.spark.lake.batches import Lake, LakeError
    from wireproof.spark.session import for_records

    try:
        aggregates = Aggregates(Lake(session, uri))
        with for_records(session, sum(marker.rows.get("records", 0) for marker in aggregates.lake.active)):
            collected = collected_from(aggregates, out / "parquet")
    except LakeError as error:
        raise RefusedError(str(error)) from error
    if not collected.runs:
        raise RefusedError(f"{uri} has no record to fold")
    return collected


def _document(collected: Collected, out: Path) -> Json:
    """Write document and pages below `out` piece by piece; return the document."""
    from wireproof.spark.matrix import matrix_document
    from wireproof.spark.render import write_pages

    document = matrix_document(collected)
    with (out / "matrix.json").open("w", encoding="utf-8", errors="replace") as stream:
        json.dump(document, stream, indent=1, ensure_ascii=False)
        stream.write("\n")
    write_pages(document, collected.evidence, out)
    return document


def collect(session: SparkSession, files: Sequence[Path], out: Path) -> Collected:
    """Write the tables of the latest runs in `files` below `out`; return what a matrix is made of.

    Few records are read once and kept, and not copied where each of them counts; else the files are read twice, for
    their runs, then those of kept runs.
    Raises `RefusedError` if there is no record.
    """
    from wireproof.spark import transforms as t
    from wireproof.spark.matrix import Collected
    from wireproof.spark.schemas import RECORD
    from wireproof.spark.session import is_quick, kept

    quick = is_quick(session)
    lines = t.classified(read_lines(session, files))
    if quick:
        lines = kept(lines).coalesce(1)
    with ThreadPoolExecutor(1) as beside, Tables(out / "parquet", few=quick) as tables:
        every = t.accepted(lines).select(*RECORD.fieldNames())
        plays = beside.submit(lambda: kept(t.judged(every))) if quick else None  # nearly always each record counts
        cases = t.lines_as_cases(lines) if quick else kept(t.cases_of(lines))
        by_source = rows_of(t.line_counts(cases))
        counts = [{**row, "source": _shown(path_of(row["source"]))} for row in by_source]
        cut_short = sorted({row["source"] for row in by_source if is_incomplete(path_of(row["source"]))})
        if not any(row["kind"] == "record" for row in counts):
            raise RefusedError(_nothing_to_fold(counts))
        runs = tables.written(t.runs_of(cases, cut_short).coalesce(1), "runs", *t.OF_LINES)
        of_runs = rows_of(runs)
        paired = any(run.get("paired", True) for run in of_runs)
        if not quick:
            sources = t.latest_records(cases, runs).select("source").distinct().collect()
            holding = {path_of(row["source"]) for row in sources}
            lines = t.classified(read_lines(session, [file for file in files if file in holding]))
        cases.unpersist()
        if plays and all(run["kept"] and not run["repeats"] for run in of_runs):
            latest, judged = tables.also(every, "latest_records"), plays.result()
        else:
            records = t.latest_records(t.accepted(lines), runs)
            latest, judged = tables.written(t.without_repeats(records), "latest_records"), None
        return Collected(
            **cells_and_evidence(latest, t.evidence(latest, EVIDENCE_PER_CELL), tables, judged, paired=paired),
            runs=[{name: run[name] for name in run if name not in t.OF_LINES} for run in of_runs],
            line_counts=counts,
            files={_shown(file): is_damaged(file) for file in files},
            incomplete=frozenset(_shown(file) for file in files if is_incomplete(file)),
        )


def read_lines(session: SparkSession, files: Sequence[Path | str], *, whole: bool = False) -> DataFrame:
    """Return every line of `files` (paths or URIs) as LINES: as text, so that no parser can drop a line, with its
    file's URI. `whole`: each file is one line."""
    uris = [file if isinstance(file, str) else local_uri(file) for file in files]
    odd = [uri for uri in uris if GLOB.search(uri)]
    plain = [uri for uri in uris if not GLOB.search(uri)]
    frames = [session.read.text(plain, wholetext=whole)] if plain else []
    frames += [session.read.option("__globPaths__", "false").text(uri, wholetext=whole) for uri in odd]
    lines = [frame.select("value", "_metadata.file_path").withColumnRenamed("file_path", "source") for frame in frames]
    return reduce(type(lines[0]).unionAll, lines)


def _shown(path: Path) -> str:
    """Return a path for pages: relative where possible, so that pages do not reveal who made them."""
    here = Path.cwd()
    return (path.relative_to(here) if path.is_relative_to(here) else path).as_posix()


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
        f"read {number_of(inputs['lines'], 'line')} of {number_of(len(inputs['files']), 'file')}: "
        f"{number_of(inputs['records'], 'record')}, "
        f"{inputs['corrupt']} corrupt, {inputs['foreign']} foreign",
        f"kept {kept} of {len(runs)} runs (the latest complete one of each version, profile and variant)",
    ]
    for run in runs:
        if run.get("partial"):
            what = "kept, because none is complete" if run["kept"] else "left out: a complete or later one counts"
            name = f"{run['implementation']} {run['implementation_version']} {run['profile']} {run['variant']}"
            lines.append(f"  {name}: run {run['run_id']} is partial ({run['partial']}), {what}")
    if inputs["repeated"]:
        lines.append(f"more than once, and counted once: {number_of(inputs['repeated'], 'record')}")
    for file in inputs["files"]:
        lines += [f"  {file['path']}: {one['count']} {one['kind']}: {one['reason']}" for one in file["problems"]]
        lines += [f"  {file['path']}: compressed data ends early or is broken"] if file["damaged"] else []
        lines += [f"  {file['path']}: incomplete run, {UNDECIDED}"] if file["incomplete"] else []
    return lines


if __name__ == "__main__":
    sys.exit(main())
