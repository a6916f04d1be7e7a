"""Clients with servers: what the records of both sides say of a pair, in a matrix and in a lake."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every reader of Spark code knows

from tests.browser import NEEDS_BROWSER, dumped
from tests.spark.lakes import commit_runs
from wireproof.spark.lake.aggregates import Aggregates
from wireproof.spark.lake.batches import Lake
from wireproof.spark.lake.refreshing import refresh
from wireproof.spark.lake.tables import RECORDS, migrated, stored_schema
from wireproof.spark.lake.views import register_views
from wireproof.spark.pages.write import write_site
from wireproof.spark.pairs import pair_tables, pairs

pytestmark = pytest.mark.spark

COUNTS = ("agree", "client_broke", "server_broke", "not_judged")
Play = dict[str, Any]


def operation(role: str, case: str, verdict: str = "pass", day: int = 1) -> Play:
    """One operation between sdk 1 and srv 2, as one side has it."""
    who = {"client": ("sdk", "1"), "server": ("srv", "2")}
    me, other = who[role], who["server" if role == "client" else "client"]
    return {
        "role": role,
        "implementation": me[0],
        "implementation_version": me[1],
        "peer": other[0],
        "peer_version": other[1],
        "case": f"interop/{case}@{other[0]}",
        "verdict": verdict,
        "run_id": f"run-{day}",
        "run_started_at": f"2026-01-{day:02}T10:00:00.000Z",
    }


PLAYED = [
    *(operation(role, "a") for role in ("client", "server")),
    *(operation(role, "b", verdict) for role, verdict in (("client", "untestable"), ("server", "fail"))),
    *(operation(role, "c", verdict) for role, verdict in (("client", "fail"), ("server", "untestable"))),
    operation("client", "d", "unsupported"),
]
"""One operation agrees, the server breaks one, the client one, and one is not supported."""


def counts(frame: DataFrame) -> list[tuple[int, ...]]:
    return [tuple(row[name] for name in COUNTS) for row in frame.collect()]


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A lake of what was played, with aggregates."""
    made = commit_runs(spark, tmp_path_factory.mktemp("pairs") / "lake", PLAYED)
    refresh(made)
    return Lake(spark, made.storage.root)


def test_each_operation_of_a_pair_counts_once(records: Callable[..., DataFrame]) -> None:
    found = pairs(records(*PLAYED, {"case": "of wireproof test"}))

    assert counts(found) == [(1, 1, 1, 1)]
    [row] = found.collect()
    assert (row["client"], row["client_version"], row["server"], row["server_version"]) == ("sdk", "1", "srv", "2")


def test_one_side_is_enough_and_the_newest_run_of_a_pair_counts(records: Callable[..., DataFrame]) -> None:
    newer = [operation("server", case, day=2) for case in "abc"]

    assert counts(pairs(records(*PLAYED, *newer))) == [(3, 0, 0, 0)]


def test_the_table_has_a_place_for_pairs_that_nobody_played() -> None:
    spoken = {"protocol": "p", "profile": "1", "variant": "v"}
    sides = ("client", "client_version", "server", "server_version")
    played = [("sdk", "1", "srv", "2"), ("sdk", "2", "other", "1")]
    rows = [spoken | dict(zip(sides, one, strict=True)) | dict.fromkeys(COUNTS, 1) for one in played]

    [table] = pair_tables(rows)

    assert table["cells"] == [[None, dict.fromkeys(COUNTS, 1)], [dict.fromkeys(COUNTS, 1), None]]


def test_a_lake_keeps_pairs(spark: SparkSession, lake: Lake) -> None:
    assert counts(pairs(Aggregates(lake).table("latest"))) == [(1, 1, 1, 1)]
    register_views(spark, lake.storage.root)
    assert [tuple(row) for row in spark.sql("select client, server, agree from pairs").collect()] == [("sdk", "srv", 1)]


def test_records_of_format_1_are_read_without_peers(lake: Lake) -> None:
    before = stored_schema(1)
    assert set(RECORDS.fieldNames()) - set(before.fieldNames()) == {"peer", "peer_version"}

    read = migrated(lake.records().select(*before.fieldNames()).withColumn("batch", F.lit("b")), 1)

    assert read.columns == RECORDS.fieldNames()
    assert {(row["peer"], row["peer_version"]) for row in read.collect()} == {(None, None)}


@pytest.mark.nightly
@NEEDS_BROWSER
def test_a_site_shows_pairs_and_what_could_not_be_tested(lake: Lake, tmp_path: Path) -> None:
    write_site(Aggregates(lake), tmp_path / "site", {})
    site = (tmp_path / "site").as_uri()

    shown = dumped(f"{site}/pairs.html", str(tmp_path / "pairs"))
    assert "✗ 1/3" in shown
    assert all(words in shown for words in ("client broke 1", "server broke 1", "not judged: 1"))
    overview = dumped(f"{site}/index.html", str(tmp_path / "index"))
    assert "MUST 1 of 2 judged, 1 could not be tested (50.0 %)" in overview
    assert "Nothing." in dumped(f"{site}/findings.html", str(tmp_path / "findings"))
