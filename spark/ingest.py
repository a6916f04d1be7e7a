"""`python -m wireproof.spark.ingest RUN... --lake URI`: takes runs into a lake and refreshes its aggregates.

Exit codes: 0 the lake has the runs; 2 nothing was changed: no input, no Java, another job was faster, a bad option.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from wireproof.spark.inputs import (
    DOCUMENT_FILES,
    FINDING_FILE,
    JOURNAL,
    KILL_MATRIX_FILE,
    RECORDS_FILE,
    SCHEME,
    document_files,
    holds_records,
    is_incomplete,
)
from wireproof.spark.jvm import JavaNotFoundError
from wireproof.spark.lake.ingest_reports import report_documents, report_ingest, report_refresh
from wireproof.spark.starting import SMALL_INPUT, RefusedError, input_files, session_for

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from wireproof.spark.lake.batches import Lake
    from wireproof.spark.lake.ingest import Ingested

DONE, REFUSED = 0, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line `arguments` (None: those of the process); return the exit code."""
    options = _parser().parse_args(arguments)
    began = time.monotonic()
    if not (options.runs or options.compact or options.vacuum is not None or options.rebuild or options.follow):
        print("wireproof ingest: name a RUN, or --compact, --vacuum or --rebuild", file=sys.stderr)
        return REFUSED
    try:
        local = [Path(run) for run in options.runs if not SCHEME.match(run)]
        documents = [] if options.follow else document_files(local)
        files = input_files(local, may_be_none=bool(documents)) if local and not options.follow else []
        size = sum(file.stat().st_size for file in files)
        of_few = size < SMALL_INPUT and len(local) == len(options.runs)
        small = of_few and not (options.rebuild or options.compact or options.follow)
        with session_for("ingest", options.master, small=small) as session:
            _work(session, files, documents, options)
    except (RefusedError, JavaNotFoundError) as refusal:
        print(f"wireproof ingest: {refusal}", file=sys.stderr)
        return REFUSED
    print(f"done in {time.monotonic() - began:.1f} s")
    return DONE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="wireproof ingest",
        description="Take runs into a lake: Parquet under any Hadoop URI, with aggregates that follow each new run. "
        "A run that the lake has is left alone, so the command may be repeated. Lines that are no records go to the "
        "table `quarantine`, with file and reason.",
    )
    parser.add_argument(
        "runs",
        nargs="*",
        metavar="RUN",
        help="file or URI, or folder with runs, findings or kill matrices at any depth",
    )
    parser.add_argument("--lake", required=True, metavar="URI", help="folder, or URI such as hdfs://name/lake")
    parser.add_argument("--master", help="Spark master (default: that of spark-submit, else local[*])")
    parser.add_argument("--no-refresh", action="store_true", help="leave the aggregates for later")
    parser.add_argument("--rebuild", action="store_true", help="make all aggregates anew; the result is the same")
    parser.add_argument("--compact", action="store_true", help="merge small batches and patches")
    parser.add_argument(
        "--vacuum", type=float, metavar="HOURS", help="delete what no batch names and is older than so many hours"
    )
    parser.add_argument("--follow", action="store_true", help="keep running: take runs as they are finished")
    parser.add_argument("--interval", type=float, default=10.0, metavar="S", help="with --follow: seconds (default 10)")
    parser.add_argument("--for", type=float, dest="seconds", metavar="S", help="with --follow: end after S seconds")
    return parser


def _work(session: SparkSession, files: Sequence[Path], documents: Sequence[Path], options: argparse.Namespace) -> None:
    from wireproof.spark.lake.batches import Lake, LakeError

    try:
        if options.follow:
            from wireproof.spark.lake.follow import follow

            follow(session, options.lake, options.runs, options.interval, options.seconds, say=print)
            return
        remote = [file for run in options.runs if SCHEME.match(run) for file in remote_files(session, run)]
        found: list[Path | str] = [*documents, *(one.uri for one in remote if one.is_document)]
        remote = [one for one in remote if not one.is_document]
        lake = Lake(session, options.lake, create=bool(files or remote or found))
        if files or remote:
            report_ingest(take(lake, files, remote), print)
        _take_documents(session, options.lake, found)
        _maintain(session, options)
    except LakeError as error:
        raise RefusedError(str(error)) from error


def _take_documents(session: SparkSession, lake: str, files: Sequence[Path | str]) -> None:
    """Take findings and kill matrices, and say what became of them. Raises `LakeError`."""
    from wireproof.spark.job import read_lines
    from wireproof.spark.lake.batches import Lake
    from wireproof.spark.lake.findings import take_findings
    from wireproof.spark.lake.kills import take_kill_matrices

    for name, take_them, words in (
        (FINDING_FILE, take_findings, ("finding of fuzzing", "findings of fuzzing")),
        (KILL_MATRIX_FILE, take_kill_matrices, ("kill matrix", "kill matrices")),
    ):
        if found := [file for file in files if str(file).endswith(f"/{name}")]:
            report_documents(take_them(Lake(session, lake), read_lines(session, found, whole=True)), words, print)


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file on a Hadoop file system of records, and whether its run was cut short (the journal is beside it), or of
    one document."""

    uri: str
    incomplete: bool

    @property
    def is_document(self) -> bool:
        """Whether it is a finding of fuzzing or a kill matrix."""
        return self.uri.rpartition("/")[2] in DOCUMENT_FILES


def remote_files(session: SparkSession, root: str) -> list[RemoteFile]:
    """Return the files of records and documents at or below a URI. Raises `RefusedError` if there are none."""
    from wireproof.spark.lake.storage import Storage

    storage = Storage(session, root)
    found = list(storage.files("")) if storage.exists("") else []
    journals = {entry.uri.rpartition("/")[0] for entry in found if entry.name == JOURNAL}
    files = [
        RemoteFile(entry.uri, entry.name == RECORDS_FILE and entry.uri.rpartition("/")[0] in journals)
        for entry in found
        if holds_records(entry.name) or entry.name in DOCUMENT_FILES
    ]
    if not files:
        raise RefusedError(f"no {RECORDS_FILE} or *.jsonl.gz below {root}")
    return sorted(files, key=lambda file: file.uri)


def take(lake: Lake, files: Sequence[Path], remote: Sequence[RemoteFile] = ()) -> Ingested:
    """Take record files into a lake as one batch. Raises `LakeError` and what Spark raises."""
    from wireproof.spark.job import read_lines
    from wireproof.spark.lake.ingest import ingest

    cut_short = [str(file.resolve()) for file in files if is_incomplete(file)]
    cut_short += [re.sub("^file:/+", "/", file.uri) for file in remote if file.incomplete]
    return ingest(lake, read_lines(lake.session, [*files, *(file.uri for file in remote)]), cut_short)


def _maintain(session: SparkSession, options: argparse.Namespace) -> None:
    from wireproof.spark.lake.batches import Lake
    from wireproof.spark.lake.refreshing import fold_patches, rebuild, refresh
    from wireproof.spark.lake.upkeep import compact, vacuum

    if options.compact:
        merged = compact(Lake(session, options.lake))
        print(f"merged {merged} batches into one" if merged else "no batches to merge")
    if options.rebuild:
        report_refresh(rebuild(Lake(session, options.lake)), print)
    elif not options.no_refresh:
        report_refresh(refresh(Lake(session, options.lake)), print)
    if options.compact:
        folded = fold_patches(Lake(session, options.lake))
        print(f"folded patches into {folded.parts} parts of the aggregates" if folded.parts else "no patches to fold")
    if options.vacuum is not None:
        print(f"deleted {vacuum(Lake(session, options.lake), options.vacuum)} folders and files that nothing names")


if __name__ == "__main__":
    sys.exit(main())
