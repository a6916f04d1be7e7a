"""The Spark session of the job: quiet, on the loopback interface, sized for one machine."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark import SparkContext, StorageLevel
from pyspark.sql import DataFrame, SparkSession

from wireproof.spark.jvm import class_archive, spark_home

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.files.ignoreCorruptFiles": "true",  # a cut .gz: what is readable counts, the job names the file
    "spark.sql.json.enablePartialResults": "false",  # a line with a field of another type is refused as a whole
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
    "spark.driver.memory": "2g",
    "spark.python.sql.dataFrameDebugging.enabled": "false",  # else Python says with each function where it was called
}
QUICK_JAVA = (
    "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC -XX:MetaspaceSize=192m -Xmn256m "
    "-XX:+IgnoreUnrecognizedVMOptions -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)
"""Classes are loaded without a check of their bytecode, which javac made: that is a tenth of what a few records cost.

What the quick compiler makes has 48 MB unless more is asked for; many jobs throw it away and make it again.
"""
LONG_JAVA = (
    "-XX:+UseParallelGC -XX:Tier4InvocationThreshold=100000 -XX:Tier4MinInvocationThreshold=20000 "
    "-XX:Tier4CompileThreshold=200000 -XX:Tier4BackEdgeThreshold=600000"
)
"""In a job of a minute the optimizing compiler takes a third of the time: it gets the hottest methods only."""
YOUNG_MB_A_CORE = 64
"""Bounds the memory for short-lived objects, which otherwise grows up to a third of the heap before it is collected."""
QUICK_QUERIES = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "1000000",
}
"""For a few thousand records, where most of the time is compiling and planning."""
CODE = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}
"""What compiles queries."""
WORTH_CODE = 12 << 20
"""Bytes of small input above which compiling queries costs less than interpreting them (about 16,000 records)."""
MANY_RECORDS = 2_000_000
"""Records above which queries are compiled and shuffled, however the session was started."""
COMPILED_QUERIES = {
    **CODE,
    "spark.sql.adaptive.enabled": SETTINGS["spark.sql.adaptive.enabled"],
    "spark.sql.shuffle.partitions": SETTINGS["spark.sql.shuffle.partitions"],
}
NAMES_USED_MOST = ("functions", "org.apache.spark.sql.functions", "PythonUtils", "PythonSQLUtils")
LOOPBACK = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


EXIT_SECONDS = 10.0
"""Seconds that the JVM may take to exit."""


def under_spark_submit() -> bool:
    """Return whether spark-submit started this process, and so chose the master and the Java."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def open_session(master: str | None, *, small: bool = False, java: str | None = None) -> SparkSession:
    """Return a session on `master` (None: that of spark-submit, else local[*]); `small` input starts faster.

    `java`: options of a local Java, in place of the usual ones.
    """
    builder = SparkSession.Builder().appName("wireproof matrix").config(map={**SETTINGS})
    if master is None and not under_spark_submit():
        master = "local[*]"
    if master is not None:
        builder = builder.master(master)
        if master.startswith("local"):
            os.environ["SPARK_HOME"] = str(spark_home(os.environ))
            options = {"spark.driver.extraJavaOptions": java or java_options(small=small)}
            builder = builder.config(map={**LOOPBACK, **(QUICK_QUERIES if small else {}), **options})
    session = builder.getOrCreate()
    keep_names(session)
    return session


def keep_names(session: SparkSession) -> None:
    """Look NAMES_USED_MOST up once: PySpark asks again with each column, and Java opens every jar for a short name."""
    jvm = session.sparkContext._jvm
    for name in NAMES_USED_MOST:
        setattr(jvm, name, getattr(jvm, name))


def java_options(*, small: bool) -> str:
    """Return the options of a local Java: for small input such that it starts soon, else such that it lasts."""
    archive = class_archive(os.environ)
    shared = f"-XX:SharedArchiveFile={archive}" if archive.is_file() else "-Xshare:auto"
    young = f"-XX:MaxNewSize={YOUNG_MB_A_CORE * max(2, os.cpu_count() or 1)}m"
    return f"{QUICK_JAVA} {shared}" if small else f"{LONG_JAVA} {young} {shared}"


@contextmanager
def for_records(session: SparkSession, number: int) -> Iterator[None]:
    """Compile the queries of the block if they are about many records, in a session that was started for few."""
    if number < MANY_RECORDS:
        yield
        return
    before = {name: session.conf.get(name) for name in COMPILED_QUERIES}
    for name, value in COMPILED_QUERIES.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            session.conf.set(name, str(old))


def is_quick(session: SparkSession) -> bool:
    """Return whether queries are about few records at the moment, so that planning costs more than the work."""
    return bool(session.conf.get("spark.sql.adaptive.enabled") == QUICK_QUERIES["spark.sql.adaptive.enabled"])


def compile_queries(session: SparkSession) -> None:
    """Compile the queries of a session that was started for small input, and plan them as before."""
    for name, value in CODE.items():
        session.conf.set(name, value)


def kept(frame: DataFrame) -> DataFrame:
    """Return a frame whose rows are computed once; `unpersist` it in the end.

    Few rows are computed at once and kept as they are: a cache would compile code for its columns.
    """
    return frame.localCheckpoint() if is_quick(frame.sparkSession) else frame.persist(StorageLevel.DISK_ONLY)


def close_session(session: SparkSession, seconds: float = EXIT_SECONDS) -> None:
    """Stop the session and wait for the exit of the JVM that it started; under spark-submit the JVM continues.

    A JVM that has not ended after `seconds` is killed.
    """
    gateway = SparkContext._gateway
    session.stop()
    process = getattr(gateway, "proc", None)
    if gateway is None or process is None:
        return
    gateway.shutdown()
    SparkContext._gateway = SparkContext._jvm = None
    process.stdin.close()
    try:
        process.wait(seconds)
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
