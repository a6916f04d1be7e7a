"""The queries of docs/spark-lake.md run on a lake, and the site of a lake says what its records say."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.browser import NEEDS_BROWSER, dumped
from tests.places import ROOT
from tests.spark.lakes import commit_runs
from wireproof.spark import statistics
from wireproof.spark.lake.aggregates import Aggregates
from wireproof.spark.lake.batches import Lake
from wireproof.spark.lake.refreshing import refresh
from wireproof.spark.lake.views import VIEWS, register_views
from wireproof.spark.pages import write as pages

pytestmark = pytest.mark.spark

PAGE = (ROOT / "docs" / "spark-lake.md").read_text(encoding="utf-8")
QUERIES = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)


def play(who: str, version: str, day: int, case: str, verdict: str) -> dict[str, Any]:
    blamed = f"CL-{case}" if verdict == "fail" else None
    return {
        "run_id": f"{who}-{version}-{day}",
        "run_started_at": f"2026-01-{day:02}T10:00:00.000Z",
        "implementation": who,
        "implementation_version": version,
        "case": case,
        "clauses": [f"CL-{case}"],
        "verdict": verdict,
        "blamed": blamed,
        "title": "<script>alert(1)</script>",
    }


@pytest.fixture(scope="module")
def aggregates(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Aggregates:
    """alpha loses B in 1.1, beta passes all, gamma goes to and fro in A."""
    records = [play("alpha", "1.0", day, case, "pass") for day in range(1, 6) for case in "AB"]
    records += [play("alpha", "1.1", day, *one) for day in (5, 6, 7) for one in (("A", "pass"), ("B", "fail"))]
    records += [play("beta", "2.0", 3, case, "pass") for case in "AB"]
    records += [play("gamma", "3", day, "A", ("pass", "fail")[day % 2]) for day in range(1, 7)]
    lake = commit_runs(spark, tmp_path_factory.mktemp("queries") / "lake", records)
    refresh(lake)
    return Aggregates(Lake(spark, lake.storage.root))


def test_the_three_queries_of_the_page_run(spark: SparkSession, aggregates: Aggregates) -> None:
    register_views(spark, aggregates.lake.storage.root)
    assert len(QUERIES) == 3
    newly, differing, flaky = ([tuple(row) for row in spark.sql(query).collect()] for query in QUERIES)
    assert newly == []
    assert ("CL-B", 1, 1) in differing
    assert [row[:4] for row in flaky] == [("gamma", "A", 3, 6)]
    lost = spark.sql("select implementation, case, kind from version_changes where sure").collect()
    assert [tuple(row) for row in lost] == [("alpha", "B", "regression")]
    [apart] = spark.sql("select clause, passing, failing from disagreements where clause = 'CL-B'").collect()
    assert tuple(apart) == ("CL-B", 1, 1)
    found = spark.sql("select case, found_in, columns from detection order by case").collect()
    assert [tuple(row) for row in found] == [("A", 0, 4), ("B", 1, 3)]
    assert spark.sql("select sum(scored), sum(unsupported) from coverage").collect() == [(7, 0)]
    for name in VIEWS:
        spark.catalog.dropTempView(name)


def data(out: Path, name: str) -> Any:
    """What a data file of a site holds."""
    text = (out / "data" / f"{name}.js").read_text(encoding="utf-8")
    found = re.fullmatch(r"wireproof\.take\((\".*?\"),(.*)\);\n", text, re.DOTALL)
    assert found is not None
    assert json.loads(found[1]) == name
    return json.loads(found[2])


def test_the_site_says_what_the_records_say(aggregates: Aggregates, tmp_path: Path) -> None:
    written = pages.write_site(aggregates, tmp_path, {"CL-A": "A is to be done."}, days=7)
    assert (written.implementations, written.columns, written.clauses) == (3, 3, 2)
    index = data(tmp_path, "index")
    [section] = index["sections"]
    assert [column[:2] for column in section["columns"]] == [["alpha", "1.1"], ["beta", "2.0"], ["gamma", "3"]]
    assert [row[1] for row in section["rows"]] == ["CL-A", "CL-B"]
    of_a, of_b = data(tmp_path, "matrix/0/0")
    assert (of_a["marks"], of_b["marks"]) == ("ppp", "fp.")
    assert of_a["x"]["2"] == [1, 1, 3, 6]
    alpha = data(tmp_path, f"implementation/{section['columns'][0][3]}")
    assert [one["implementation_version"] for one in alpha["trends"]["versions"]] == ["1.0", "1.1"]
    assert [(one["case"], one["kind"], one["sure"]) for one in alpha["changes"]["changes"]] == [
        ("B", "regression", True)
    ]
    assert alpha["causes"]["causes"][0]["charged"] == "CL-B"
    gamma = data(tmp_path, f"implementation/{section['columns'][2][3]}")
    assert [one["case"] for one in gamma["flaky"]["flaky"]] == ["A"]
    assert gamma["flaky"]["flaky"][0]["passes"] == 3
    [change] = [row for row in data(tmp_path, "changes")["rows"] if row["sure"]]
    assert (change["implementation"], change["case"], change["to_version"]) == ("alpha", "B", "1.1")
    for file in tmp_path.rglob("*.js"):
        assert "</script" not in file.read_text(encoding="utf-8")
    for page in pages.PAGES:
        assert "http" not in (tmp_path / page).read_text(encoding="utf-8").replace("http-equiv", "")


def test_a_cause_is_listed_once_with_its_cases_and_where_they_fail(spark: SparkSession, tmp_path: Path) -> None:
    """It was listed once for each case and variant: four variants of a server said everything four times."""
    failing = play("alpha", "1.0", 1, "B", "fail")
    records = [
        failing | {"variant": variant, "case": case, "run_id": variant, "title": f"title of {case}"}
        for variant in ("uint16", "uint8")
        for case in ("b/two", "b/one")
    ]
    records.append(records[0] | {"case": "a/crash", "verdict": "crash", "delivery": "bytes"})
    lake = commit_runs(spark, tmp_path / "lake", records)
    refresh(lake)
    aggregates = Aggregates(Lake(spark, lake.storage.root))
    pages.write_site(aggregates, tmp_path / "site", {}, days=7)
    alpha = data(tmp_path / "site", "index")["sections"][0]["columns"][0][3]

    found = data(tmp_path / "site", f"implementation/{alpha}")["causes"]
    assert found["number"] == 1
    [cause] = found["causes"]
    assert [cause[name] for name in ("charged", "verdict", "case")] == ["CL-B", "crash", "a/crash"]
    assert cause["deliveries"] == ["bytes"]
    assert cause["cases"] == ["a/crash", "b/one", "b/two"]
    assert cause["columns"] == ["7.1.0 uint16 1.0", "7.1.0 uint8 1.0"]


@pytest.mark.nightly
@NEEDS_BROWSER
def test_a_browser_shows_every_page_of_a_site(aggregates: Aggregates, tmp_path: Path) -> None:
    pages.write_site(aggregates, tmp_path / "site", {"CL-B": "B is to be done."}, days=7)
    alpha = data(tmp_path / "site", "index")["sections"][0]["columns"][0][3]

    def shown(page: str) -> str:
        url = (tmp_path / "site").as_uri()
        return dumped(f"{url}/{page}", str(tmp_path / re.sub(r"\W", "", page)))

    overview, matrix = shown("index.html"), shown("matrix.html?s=0")
    assert "3 columns, 2 pass every MUST" in overview
    assert "alpha 1.1 uint16: MUST 1 of 2 judged (50.0 %)" in overview
    assert "2 clauses, 3 columns" in matrix
    assert len(re.findall(r'role="gridcell"', matrix)) == 6
    assert 'class="cell f"' in matrix
    implementation, clause = shown(f"implementation.html?id={alpha}"), shown("clause.html?s=0&r=1")
    assert "fail only in 1.1 7.1.0 uint16: 1 case" in implementation
    assert "1.0 → 1.1" in implementation
    assert "B is to be done." in clause
    assert "Implementations differ here." in clause
    assert "✗ regression" in shown("changes.html")


def test_the_intervals_of_the_pages_are_those_of_the_statistics() -> None:
    script = (ROOT / "reports" / "templates" / "site" / "site.js").read_text(encoding="utf-8")
    assert f"const z = {statistics.Z}" in script
