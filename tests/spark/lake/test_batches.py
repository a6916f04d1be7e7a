"""Jobs that are killed with SIGKILL, at any moment, leave whole runs only; the next job goes on from there."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from wireproof.spark.lake.aggregates import Aggregates, newest_manifest
from wireproof.spark.lake.batches import MARKERS, Lake
from wireproof.spark.lake.folding import SCHEMAS
from wireproof.spark.lake.refreshing import rebuild

pytestmark = [pytest.mark.spark, pytest.mark.nightly]

KILLS = 10
LONGEST_SECONDS = 300.0


def ingest(runs: Path, lake: Path, kill_after: float | None = None) -> tuple[float, int | None]:
    """Run the command in a process group of its own; return its seconds and its exit code, None if it was killed."""
    began = time.monotonic()
    command = [sys.executable, "-m", "wireproof.spark.ingest", str(runs), "--lake", str(lake)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        code: int | None = process.wait(LONGEST_SECONDS if kill_after is None else kill_after)
    except subprocess.TimeoutExpired:
        code = None
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(LONGEST_SECONDS)
    return time.monotonic() - began, code


def records_by_run(lake: Lake) -> dict[str, int]:
    return {row["run_id"]: row["count"] for row in lake.records().groupBy("run_id").count().collect()}


def rows(lake: Lake) -> dict[str, list[str]]:
    return {table: sorted(map(str, Aggregates(lake).table(table).collect())) for table in SCHEMAS}


@pytest.mark.timeout(3600)
def test_ten_kills_at_random_moments_leave_whole_runs_only(
    spark: SparkSession,
    made_up_runs: Callable[..., Iterator[list[dict[str, Any]]]],
    write_run: Callable[..., Path],
    tmp_path: Path,
) -> None:
    runs = list(made_up_runs())
    for number, run in enumerate(runs[:2]):
        write_run(f"{number}", run)
    seconds, code = ingest(tmp_path / "runs", tmp_path / "unhurt")
    assert code == 0
    lake, drawn, killed = tmp_path / "lake", random.Random(os.environ.get("WIREPROOF_SEED", "1")), 0
    while killed < KILLS:
        _, code = ingest(tmp_path / "runs", lake, drawn.uniform(0.3 * seconds, seconds))
        killed += code is None
        assert code in (0, None)
        if (lake / MARKERS).is_dir():
            opened = Lake(spark, str(lake))
            assert set(records_by_run(opened).values()) <= {len(runs[0])}
            assert opened.runs().where("partial is not null").count() == 0
            if newest_manifest(opened) is not None:
                assert {len(found) for found in rows(opened).values()} != {0}
        if code == 0:  # all of it was taken: something new arrives
            number += 1
            changes = {"run_id": f"run-{number}", "run_started_at": "2026-02-01T10:00:00.000Z"}
            write_run(f"{number}", [one | changes for one in runs[0]])
    assert ingest(tmp_path / "runs", lake)[1] == 0
    whole = Lake(spark, str(lake))
    assert records_by_run(whole) == {f"run-{n}" if n > 1 else runs[n][0]["run_id"]: 96 for n in range(number + 1)}
    followed = rows(whole)
    rebuild(whole)
    assert rows(Lake(spark, str(lake))) == followed
