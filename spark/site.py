"""`python -m wireproof.spark.site --lake URI --out DIR`: writes the pages of a lake.

Exit codes: 0 written; 2 not written: no lake, no aggregates, no Java, a folder that cannot be written, a bad option.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from wireproof.spark.jvm import JavaNotFoundError
from wireproof.spark.starting import RefusedError, has_few_records, session_for
from wireproof.spark.wording import number_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DONE, REFUSED = 0, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line `arguments` (None: those of the process); return the exit code."""
    options = _parser().parse_args(arguments)
    began = time.monotonic()
    try:
        sentences = _sentences(options.sentences)
        options.out.mkdir(parents=True, exist_ok=True)
        with session_for("site", options.master, small=has_few_records(options.lake)) as session:
            _write(session, options, sentences)
    except (RefusedError, JavaNotFoundError) as refusal:
        print(f"wireproof site: {refusal}", file=sys.stderr)
        return REFUSED
    except OSError as error:
        print(f"wireproof site: cannot write to {options.out}: {error.strerror}", file=sys.stderr)
        return REFUSED
    print(f"wrote {options.out / 'index.html'} in {time.monotonic() - began:.1f} s")
    return DONE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="wireproof site",
        description="Write the pages of a lake: an overview of all implementations, the matrix, a page for each "
        "implementation and clause, and what changed. Static files: open index.html; no network is used.",
    )
    parser.add_argument("--lake", required=True, metavar="URI", help="a lake that `wireproof ingest` made")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="where the pages go")
    parser.add_argument("--days", type=int, default=7, metavar="N", help="how far back changes are listed (default 7)")
    parser.add_argument("--sentences", type=Path, metavar="FILE", help="JSON: clause -> its sentence")
    parser.add_argument("--master", help="Spark master (default: that of spark-submit, else local[*])")
    return parser


def _sentences(path: Path | None) -> dict[str, str]:
    if path is None:
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RefusedError(f"{path} is no JSON file of sentences: {error}") from error
    return {str(clause): str(text) for clause, text in found.items()}


def _write(session: SparkSession, options: argparse.Namespace, sentences: dict[str, str]) -> None:
    from wireproof.spark.lake.aggregates import Aggregates
    from wireproof.spark.lake.batches import Lake, LakeError
    from wireproof.spark.pages.write import write_site

    try:
        done = write_site(Aggregates(Lake(session, options.lake)), options.out, sentences, options.days)
    except LakeError as error:
        raise RefusedError(str(error)) from error
    print(
        f"{number_of(done.implementations, 'implementation')}, {number_of(done.columns, 'column')}, "
        f"{number_of(done.clauses, 'row')}; {number_of(done.files, 'file')} of {done.octets / 1e6:.1f} MB, "
        f"the largest {done.largest / 1e3:.0f} kB"
    )


if __name__ == "__main__":
    sys.exit(main())
