"""The Spark session of the job: quiet, on the loopback interface, sized for one machine."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark import SparkContext
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
QUICK_START = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""Halves the time for a few thousand records, most of which is compiling; slower code matters only for a long job."""
LOOPBACK = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


EXIT_SECONDS = 10.0
"""Seconds that the JVM may take to exit."""


def under_spark_submit() -> bool:
    """Return whether spark-submit started this process, and so chose the master and the Java."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def open_session(master: str | None, *, small: bool = False) -> SparkSession:
    """Return a session on `master` (None: that of spark-submit, else local[*]); `small` input starts faster."""
    builder = SparkSession.Builder().appName("wireproof matrix").config(map={**SETTINGS})
    if master is None and not under_spark_submit():
        master = "local[*]"
    if master is not None:
        builder = builder.master(master)
        if master.startswith("local"):
            builder = builder.config(map={**LOOPBACK, **(QUICK_START if small else {})})
    return builder.getOrCreate()


def close_session(session: SparkSession) -> None:
    """Stop the session and wait for the exit of the JVM that it started; under spark-submit the JVM continues."""
    gateway = SparkContext._gateway
    session.stop()
    process = getattr(gateway, "proc", None)
    if gateway is None or process is None:
        return
    gateway.shutdown()
    SparkContext._gateway = SparkContext._jvm = None
    process.stdin.close()
    try:
        process.wait(EXIT_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def stderr_into(log: Path) -> Iterator[None]:
    """Redirect file descriptor 2 to `log`; a JVM started inside writes there for its lifetime. Raises `OSError`."""
    sys.stderr.flush()
    console = os.dup(2)
    try:
        with log.open("ab") as stream:
            os.dup2(stream.fileno(), 2)
        yield
    finally:
        os.dup2(console, 2)
        os.close(console)
