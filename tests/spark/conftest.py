"""One Spark session for all tests here, and made-up records: nothing below is a result of a real implementation."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from wireproof.spark.jvm import JavaNotFoundError, prepare_java
from wireproof.spark.schemas import RECORD
from wireproof.spark.session import close_session, open_session, stderr_into

Record = dict[str, Any]


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    import os

    try:
        prepare_java(os.environ)
    except JavaNotFoundError as missing:
        pytest.skip(str(missing))
    with stderr_into(tmp_path_factory.mktemp("spark") / "spark.log"):
        session = open_session("local[2]", small=True)
    session.conf.set("spark.sql.shuffle.partitions", "1")
    yield session
    close_session(session)


def make_record(**changes: Any) -> Record:
    """A record that passed; `changes` say what is different."""
    record: Record = {
        "schema": "wireproof.record/1",
        "run_id": "run-1",
        "run_started_at": "2026-01-01T10:00:00.000Z",
        "role": "server",
        "implementation": "alpha",
        "implementation_version": "1.0",
        "protocol": "throttr",
        "profile": "7.1.0",
        "variant": "uint16",
        "case": "THR-C-INSERT-1",
        "title": "a counter is stored",
        "group": "INSERT",
        "level": "MUST",
        "clauses": ["THR-INSERT-1"],
        "verdict": "pass",
        "blamed": None,
        "guilty": None,
        "observed": None,
        "delivery": "whole",
        "step": None,
        "byte": None,
        "expected": None,
        "got": None,
        "exchange": [{"at_us": 10, "connection": "a", "direction": "sent", "hex": "07", "text": "LIST"}],
        "duration_us": 900,
        "extra": {},
    } | changes
    identity = "|".join(str(record[name]) for name in ("case", "delivery", "profile", "variant"))
    return {"record_id": hashlib.sha256(identity.encode()).hexdigest()[:12]} | record


@pytest.fixture
def record() -> Callable[..., Record]:
    return make_record


@pytest.fixture
def records(spark: SparkSession) -> Callable[..., DataFrame]:
    """Makes the frame transforms work on, as `accepted` gives it; each dict is what differs from a plain pass."""

    def frame(*changes: Record) -> DataFrame:
        rows = [make_record(**change) | {"source": "f"} for change in changes]
        plain = spark.createDataFrame(rows, StructType([*RECORD.fields, StructField("source", StringType())]))
        return plain.selectExpr("*", "cast(run_started_at as timestamp) as started")

    return frame


@pytest.fixture
def write_run(tmp_path: Path) -> Callable[..., Path]:
    """Write records and raw lines as one run below tmp_path/runs."""

    def write(name: str, lines: Iterable[Record | str]) -> Path:
        file = tmp_path / "runs" / name / "records.jsonl"
        file.parent.mkdir(parents=True)
        file.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
        return file

    return write


@pytest.fixture
def made_up_runs() -> Callable[..., Iterator[list[Record]]]:
    """Runs of several made-up implementations and widths, with every verdict and level in them."""
    return realistic_runs


GROUPS = ("INSERT", "QUERY", "UPDATE", "PURGE", "SET", "GET", "LIST", "INFO", "STAT", "SUBSCRIBE", "PUBLISH", "WHOAMI")
VERDICTS = ("fail", "lenient", "unsupported", "untestable", "crash", "hang", "harness_error")


def realistic_runs(
    implementations: Iterable[str] = ("alpha", "beta"),
    variants: Iterable[str] = ("uint8", "uint16"),
    groups: Iterable[str] = GROUPS,
    cases: int = 4,
) -> Iterator[list[Record]]:
    """One run for each implementation and variant; every few cases something goes wrong, in a fixed rhythm."""
    groups = list(groups)
    for number, (implementation, variant) in enumerate(itertools.product(implementations, variants)):
        run = {
            "run_id": f"run-{implementation}-{variant}",
            "run_started_at": f"2026-01-{1 + number % 28:02}T10:00:00.000Z",
            "implementation": implementation,
            "variant": variant,
        }
        yield [
            made_up_case(run, group, index, delivery)
            for group in groups
            for index in range(1, cases + 1)
            for delivery in ("whole", "bytes")
        ]


def made_up_case(run: Record, group: str, index: int, delivery: str) -> Record:
    case = f"THR-C-{group}-{index}"
    level = ("MUST", "MUST", "SHOULD", "MAY")[index % 4]
    luck = int(hashlib.sha256(f"{run['implementation']}{run['variant']}{case}".encode()).hexdigest(), 16) % 97
    verdict = VERDICTS[luck % 7] if luck < 14 and level != "MAY" else "pass"
    changes: Record = {"case": case, "title": f"{group} case {index}", "group": group, "level": level} | run
    changes |= {"clauses": [f"THR-{group}-{index}", f"THR-{group}-{index + 1}"], "verdict": verdict}
    if level == "MAY":
        changes["observed"] = ("refused", "accepted")[luck % 3 == 0]
    if verdict in ("fail", "crash", "hang"):
        changes |= {"blamed": f"THR-{group}-{index}", "guilty": "target", "step": 1, "byte": 2}
        changes |= {"expected": "01 07 00 04 3c 00", "got": "01 07 ff 04 3c 00"}
    return make_record(delivery=delivery, **changes)
