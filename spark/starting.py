"""Starts and ends the session of a command, and turns what Spark raises into one line."""

from __future__ import annotations

import importlib.util
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from wireproof.spark.job import RefusedError
from wireproof.spark.jvm import prepare_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def session_for(command: str, master: str | None, *, small: bool = False) -> Iterator[SparkSession]:
    """Yield a session; end it afterwards.

    Raises `JavaNotFoundError`, and `RefusedError` for whatever Spark raises inside; the log that it names stays.
    """
    for package in ("pyspark", "jinja2"):
        if importlib.util.find_spec(package) is None:
            raise RefusedError(f"{package} is not installed: python -m pip install 'wireproof[spark]'")
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # ships no types
    from pyspark.errors import PySparkException

    handle, name = tempfile.mkstemp(prefix=f"wireproof-{command}-", suffix=".log")
    os.close(handle)
    log = Path(name)
    session = _started(master, log, small=small)
    try:
        yield session
    except (Py4JError, PySparkException) as error:
        with log.open("a", encoding="utf-8", errors="replace") as stream:
            stream.write(str(error))
        raise RefusedError(f"Spark failed ({_first_line(error)}); see {log}") from error
    finally:
        _ended(session)
    log.unlink(missing_ok=True)


def _first_line(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    java = [line for line in lines if "Exception" in line or "Error" in line]
    return (java or lines or [type(error).__name__])[0].strip()[:200]


def _started(master: str | None, log: Path, *, small: bool) -> SparkSession:
    from wireproof.spark.session import open_session, stderr_into, under_spark_submit

    if under_spark_submit():
        return open_session(master, small=small)
    prepare_java(os.environ)
    try:
        with stderr_into(log):
            return open_session(master, small=small)
    except Exception as error:  # py4j and pyspark raise many kinds; none helps a reader of the console
        raise RefusedError(f"Spark does not start on {master or 'local[*]'}; see {log}") from error


def _ended(session: SparkSession) -> None:
    from wireproof.spark.session import close_session

    close_session(session)
