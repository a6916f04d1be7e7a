"""`python -m wireproof.spark.generate --rows 1e6 --lake URI`: a lake of made-up runs, for measurements and tests.

Made by Spark from a range and hashes, so it is the same for the same seed and needs no memory that grows with the rows.
Implementations have bugs from the first version on, regressions with and without a fix, cases that pass by chance, and
features that they lack; a few plays go wrong by accident. What was planted is in the table `planted` of the lake, and
`--score` says how much of it the statistics find, and how much of what they find was planted.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from wireproof.spark.jvm import JavaNotFoundError
from wireproof.spark.made_up_plan import plan_for
from wireproof.spark.starting import RefusedError, session_for

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DONE, REFUSED = 0, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line `arguments` (None: those of the process); return the exit code."""
    options = _parser().parse_args(arguments)
    began = time.monotonic()
    try:
        with session_for("generate", options.master) as session:
            if options.score:
                _print_score(session, options.lake)
            else:
                _make(session, options)
    except (RefusedError, JavaNotFoundError) as refusal:
        print(f"wireproof generate: {refusal}", file=sys.stderr)
        return REFUSED
    print(f"done in {time.monotonic() - began:.1f} s")
    return DONE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m wireproof.spark.generate",
        description="Make a lake of made-up runs, or say how much of what was planted in it the statistics find.",
    )
    parser.add_argument("--rows", type=float, default=1e6, metavar="N", help="about so many records (default 1e6)")
    parser.add_argument("--seed", type=int, default=1, help="the same seed and rows give the same lake (default 1)")
    parser.add_argument("--implementations", type=int, metavar="N", help="default: by the rows, at most 400")
    parser.add_argument("--lake", required=True, metavar="URI", help="where the lake is made; it must not exist")
    parser.add_argument("--score", action="store_true", help="precision and recall on a lake made earlier")
    parser.add_argument("--master", help="Spark master (default: that of spark-submit, else local[*])")
    return parser


def _make(session: SparkSession, options: argparse.Namespace) -> None:
    from wireproof.spark.lake.batches import MARKERS, Lake, LakeError
    from wireproof.spark.made_up import make_lake

    try:
        lake = Lake(session, options.lake, create=True)
        if lake.markers:
            raise RefusedError(f"{lake.storage.root} has {MARKERS} already: choose another folder")
        plan = plan_for(options.rows, options.seed, options.implementations)
        rows = make_lake(lake, plan)
    except LakeError as error:
        raise RefusedError(str(error)) from error
    print(f"made {rows['records']} records of {rows['runs']} runs: {asdict(plan)}")


def _print_score(session: SparkSession, uri: str) -> None:
    from wireproof.spark.lake.aggregates import Aggregates
    from wireproof.spark.lake.batches import Lake, LakeError
    from wireproof.spark.scoring import scores

    try:
        found = scores(Aggregates(Lake(session, uri)))
    except LakeError as error:
        raise RefusedError(str(error)) from error
    print("| what | planted | of these found | could be seen | found | right | precision | recall |")
    print("|---|---|---|---|---|---|---|---|")
    for one in found:
        print(one.row())


if __name__ == "__main__":
    sys.exit(main())
