"""The Spark session of the job: quiet, loopback only, sized for one machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.files.ignoreCorruptFiles": "true",  # a cut .gz: what is readable counts, the job names the file
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
    "spark.driver.memory": "2g",
}
QUICK_START = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"}
"""Half the time for a few thousand records; slower code, which only a long job would notice."""
LOOPBACK = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


def under_spark_submit() -> bool:
    """Whether spark-submit started this process (and so chose the master and the Java)."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def open_session(master: str | None, *, small: bool = False) -> SparkSession:
    """A session on `master` (None: what spark-submit said, else local[*]); `small` input starts quicker."""
    builder = SparkSession.Builder().appName("wireproof matrix").config(map={**SETTINGS})
    if master is None and not under_spark_submit():
        master = "local[*]"
    if master is not None:
        builder = builder.master(master)
        if master.startswith("local"):
            builder = builder.config(map={**LOOPBACK, **(QUICK_START if small else {})})
    return builder.getOrCreate()


@contextmanager
def stderr_into(log: Path) -> Iterator[None]:
    """Send file descriptor 2 to `log`, so that a JVM started inside writes there for as long as it lives."""
    sys.stderr.flush()
    console = os.dup(2)
    try:
        with log.open("ab") as stream:
            os.dup2(stream.fileno(), 2)
        yield
    finally:
        os.dup2(console, 2)
        os.close(console)
