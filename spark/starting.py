"""What every command of the job begins with: input files, a session, and one line for whatever Spark raises."""

from __future__ import annotations

import importlib.util
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from wireproof.spark.inputs import SCHEME, record_files
from wireproof.spark.jvm import prepare_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SMALL_INPUT = 64 << 20
"""Bytes below which starting Spark costs more than the work."""

FEW_RECORDS = 100_000
"""Records of a lake below which the same holds."""


class RefusedError(Exception):
    """Raised when a command cannot do its work; the message says what to change."""


def check_packages() -> None:
    """Raise `RefusedError` for a package that is not installed."""
    for package in ("pyspark", "jinja2"):
        if importlib.util.find_spec(package) is None:
            raise RefusedError(f"{package} is not installed: python -m pip install 'wireproof[spark]'")


def input_files(roots: Sequence[Path], *, may_be_none: bool = False) -> list[Path]:
    """Return the record files below `roots`. Raises `RefusedError` if there are none, unless there may be."""
    try:
        files = record_files(roots)
    except FileNotFoundError as missing:
        raise RefusedError(f"{missing} does not exist") from missing
    if not files and not may_be_none:
        raise RefusedError(f"no records.jsonl or *.jsonl.gz below {', '.join(map(str, roots))}")
    return files


def has_few_records(lake: str) -> bool:
    """Return whether the batches of a lake in a local folder hold few records; of any other lake it is not known."""
    if SCHEME.match(lake):
        return False
    try:
        markers = [json.loads(file.read_text(encoding="utf-8")) for file in Path(lake).glob("_batches/*.json")]
        return sum(int(marker["rows"].get("records", 0)) for marker in markers) < FEW_RECORDS
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return False  # opening the lake says what is wrong with it


@contextmanager
def session_for(command: str, master: str | None, *, small: bool = False) -> Iterator[SparkSession]:
    """Yield a session whose log is a temporary file, which stays after an error that names it; end it afterwards.

    Raises `JavaNotFoundError`, and `RefusedError` for whatever Spark raises inside and a package that is missing.
    """
    check_packages()
    handle, name = tempfile.mkstemp(prefix=f"wireproof-{command}-", suffix=".log")
    os.close(handle)
    with session_with_log(Path(name), master, small=small) as session:
        yield session
    Path(name).unlink(missing_ok=True)


@contextmanager
def session_with_log(log: Path, master: str | None, *, small: bool = False) -> Iterator[SparkSession]:
    """Yield a session that writes to `log`; end it afterwards.

    Raises `JavaNotFoundError`, and `RefusedError` for whatever Spark raises inside and a package that is missing.
    """
    check_packages()
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # ships no types
    from pyspark.errors import PySparkException

    from wireproof.spark.session import close_session

    session = _started(master, log, small=small)
    try:
        yield session
    except (Py4JError, PySparkException) as error:
        with log.open("a", encoding="utf-8", errors="replace") as stream:
            stream.write(str(error))
        raise RefusedError(f"Spark failed ({_first_line(error)}); see {log}") from error
    finally:
        close_session(session)


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
