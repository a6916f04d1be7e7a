"""What the statistics say of small histories, with the expected rows written out; and the plans they are run with."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every reader of Spark code knows

from wireproof.spark import made_up, statistics
from wireproof.spark.lake.folding import CASE_DAYS, CASE_STATS, bucketed, case_days, case_stats
from wireproof.spark.lake.tables import KILLS, PASS_RANK, RECORDS
from wireproof.spark.made_up_plan import Plan
from wireproof.spark.scoring import scored
from wireproof.spark.session import CODE, QUICK_QUERIES, compile_queries, kept

pytestmark = pytest.mark.spark

FAIL_RANK = 3
VERSIONS = ("1.0.0-rc.2", "1.0.0-rc.10", "1.0.0", "1.2.0", "1.10.0", "unknown")


def history(spark: SparkSession, plays: dict[int, str], case: str = "A") -> DataFrame:
    """CASE_STATS of columns that played a case once a day: P passed, F failed."""
    return histories(spark, {case: plays})


def histories(spark: SparkSession, cases: dict[str, dict[int, str]]) -> DataFrame:
    """CASE_STATS of several cases."""
    start = datetime.datetime(2026, 1, 1, 10)
    rows: list[dict[str, Any]] = [
        {
            "column_id": column,
            "run_key": column * 1000 + number,
            "case": case,
            "started": start + datetime.timedelta(days=number),
            "day": (start + datetime.timedelta(days=number)).date(),
            "case_rank": PASS_RANK if verdict == "P" else FAIL_RANK,
            "counts": True,
        }
        for case, plays in cases.items()
        for column, verdicts in plays.items()
        for number, verdict in enumerate(verdicts)
    ]
    records = spark.createDataFrame([{**dict.fromkeys(RECORDS.fieldNames()), **row} for row in rows], RECORDS)
    return case_stats(case_days(bucketed(records, 1).coalesce(1)))


def columns(spark: SparkSession, versions: dict[int, str], implementation: str = "alpha") -> DataFrame:
    """`columns_of` of one implementation with several versions."""
    named = {"protocol": "p", "profile": "1", "variant": "v", "role": "server", "implementation": implementation}
    rows = [{"column_id": number, "implementation_version": version, **named} for number, version in versions.items()]
    frame = spark.createDataFrame(rows).withColumn("first_run", F.lit("2026-01-01").cast("date"))
    return frame.withColumn("version_order", statistics.version_order(F.col("implementation_version")))


def test_a_history_has_a_class_and_an_interval(spark: SparkSession) -> None:
    plays = {1: "P", 2: "PPPP", 3: "FFFF", 4: "PPFF", 5: "PPFPPP", 6: "PFPFPF", 7: "PPPPF"}
    rows = statistics.flakiness(history(spark, plays)).orderBy("column_id").collect()
    assert [row["class"] for row in rows] == [
        "once", "steady", "broken", "changed", "transient", "flaky", "transient",
    ]  # fmt: skip
    flaky = rows[5]
    assert (flaky["flip_rate"], flaky["pass_rate"]) == (1.0, 0.5)
    assert (round(flaky["low"], 3), round(flaky["high"], 3)) == (0.188, 0.812)
    assert round(rows[1]["low"], 3) == 0.51
    assert round(rows[1]["high"], 9) == 1.0
    assert (rows[3]["runs_before"], rows[3]["passes_before"], str(rows[3]["changed_day"])) == (2, 2, "2026-01-03")


def test_versions_sort_by_their_numbers(spark: SparkSession) -> None:
    frame = columns(spark, dict(enumerate(reversed(VERSIONS))))
    ordered = [row["implementation_version"] for row in frame.orderBy("version_order").collect()]
    assert tuple(ordered) == VERSIONS
    newest = statistics.newest_versions(frame.where("implementation_version <> 'unknown'")).collect()
    assert [row["implementation_version"] for row in newest] == ["1.10.0"]


SHOWN = ("case", "from_version", "to_version", "kind", "sure")


def test_a_change_between_versions_is_sure_only_where_no_run_says_otherwise(spark: SparkSession) -> None:
    stats = history(spark, {1: "PPPP", 2: "FF", 3: "PFPF", 4: "PP"}).unionByName(
        history(spark, {1: "PPPP", 2: "FF", 3: "FF", 4: "FP"}, case="B")
    )
    named = columns(spark, {1: "1.0", 2: "1.9", 3: "1.10", 4: "1.11"})
    changes = statistics.version_changes(stats, named).orderBy("to_version").collect()
    assert sorted(tuple(row[name] for name in SHOWN) for row in changes) == [
        ("A", "1.0", "1.9", "regression", False),  # of a flaky case it is chance
        ("A", "1.10", "1.11", "fix", False),
        ("B", "1.0", "1.9", "regression", True),
        ("B", "1.10", "1.11", "fix", False),
    ]
    flaky = statistics.flaky_cases(stats, named).collect()
    assert [(row["implementation"], row["case"], row["flips"], row["runs"]) for row in flaky] == [("alpha", "A", 3, 12)]


def test_a_change_is_sure_where_chance_would_not_do_it(spark: SparkSession) -> None:
    expected = {  # what each version did, of one variant or of two; the last change of the first is sure
        (("P", "F"),): False,
        (("PP", "FF"),): False,  # a case that passes by chance does this, too
        (("PPPP", "FFFF"),): True,
        (("PPPPPPPP", "FF"),): True,
        (("P" * 30, "F"),): False,  # a single run may be an accident
        (("PP", "FF"), ("PP", "FF")): True,  # both variants say so
        (("PP", "FF"), ("PP", "FP")): False,
        (("PPPP", "FFFF"), ("PPPP", "PPPP")): True,  # it is of one variant alone
        (("PP", "PP", "FF", "FF"),): True,  # neighbouring versions say the same
        (("P", "F", "P", "F", "PPPP", "FFFF"),): False,  # it turns too often for changes of the code
    }
    stats = histories(
        spark,
        {
            str(case): {
                10 * variant + version: runs for variant, of in enumerate(case) for version, runs in enumerate(of)
            }
            for case in expected
        },
    )
    named = columns(spark, {number: f"1.{number % 10}" for number in (*range(6), 10, 11)})
    named = named.withColumn("variant", F.when(F.col("column_id") < 10, "v").otherwise("w"))
    changes = statistics.version_changes(stats, named).where("variant = 'v'").orderBy("case", "to_version").collect()
    assert {row["case"]: row["sure"] for row in changes} == {str(case): sure for case, sure in expected.items()}
    assert [row["case"] for row in changes if row["sure"]] == sorted(str(case) for case in expected if expected[case])


@pytest.mark.nightly
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    ("plan", "recall"),
    [
        (Plan(seed=1, runs=1010, implementations=10), (0.99, 0.99)),
        (Plan(seed=1, runs=600, implementations=40), (0.7, 0.4)),
        (Plan(seed=2, runs=400, implementations=60), (0.2, 0)),
    ],
    ids=["many runs", "two runs", "one run"],
)
def test_what_is_sure_was_planted(spark: SparkSession, plan: Plan, recall: tuple[float, float]) -> None:
    """`ids` say how many runs a column has; of what differs with few a sixth is chance. The scores are printed."""
    compile_queries(spark)
    try:
        runs = kept(made_up.made_up_runs(spark, plan))
        plays = made_up.made_up_records(runs, plan).where("counts")
        stats, named = kept(case_stats(case_days(bucketed(plays, 1)))), kept(statistics.columns_of(runs))
        planted = made_up.planted(spark, plan).withColumn("implementation", F.format_string("maker-%03d", "i"))
        flaky, *changes = scored(kept(planted), stats, named)
    finally:
        for name in CODE:
            spark.conf.set(name, QUICK_QUERIES[name])
    for one in (flaky, *changes):
        print(one.row())
        assert one.precision >= 0.99
    assert all(one.recall >= share for one, share in zip(changes, recall, strict=True))


def test_a_change_between_dates_compares_the_last_run_before_each(spark: SparkSession) -> None:
    day = datetime.date(2026, 1, 1)
    rows = [
        {"column_id": 1, "case": case, "day": day + datetime.timedelta(days=number), "first_ok": ok, "flips": flips}
        for case, days in {"A": [(1, 0), (1, 1)], "B": [(0, 0), (1, 0)], "C": [(1, 0), (1, 0)]}.items()
        for number, (ok, flips) in enumerate(days)
    ]
    days = spark.createDataFrame([{**dict.fromkeys(CASE_DAYS.fieldNames()), **row} for row in rows], CASE_DAYS)
    changes = statistics.date_changes(days, "2026-01-01", "2026-01-02").collect()
    assert sorted((row["case"], row["kind"]) for row in changes) == [("A", "regression"), ("B", "fix")]


def latest(spark: SparkSession, *plays: tuple[str, str, str]) -> DataFrame:
    """LATEST of (implementation, case, verdict); the clause of a case has its name."""
    ranks = {"pass": PASS_RANK, "fail": FAIL_RANK, "unsupported": 7}
    named = {"protocol": "p", "profile": "1", "variant": "v", "role": "server", "group": "G", "level": "MUST"}
    rows = [
        {
            **dict.fromkeys(RECORDS.fieldNames()),
            **named,
            "implementation": who,
            "column_id": hash(who) % 1000,
            "case": case,
            "clauses": [case],
            "verdict": verdict,
            "case_rank": ranks[verdict],
            "counts": True,
        }
        for who, case, verdict in plays
    ]
    return spark.createDataFrame(rows, RECORDS)


def test_disagreement_detection_and_coverage(spark: SparkSession) -> None:
    frame = latest(
        spark, ("a", "A", "pass"), ("b", "A", "fail"), ("c", "A", "pass"), ("a", "B", "fail"), ("b", "B", "unsupported")
    )
    [split] = statistics.disagreements(frame).collect()
    assert (split["clause"], split["passing"], split["failing"], round(split["dissent"], 2)) == ("A", 2, 1, 0.67)
    detected = statistics.detection(frame, statistics.mutants_by_case(spark.createDataFrame([], KILLS))).collect()
    found = {row["case"]: (row["columns"], row["found_in"]) for row in detected}
    assert found == {"A": (3, 1), "B": (2, 1)}
    covered = statistics.coverage(frame.where("implementation = 'b'")).collect()
    assert [(row["cases"], row["scored"], row["unsupported"]) for row in covered] == [(2, 1, 1)]


def test_findings_are_counted_by_oracle_and_clause(spark: SparkSession) -> None:
    found = spark.createDataFrame(
        [("p", "store", "C-1", "a", "s1", "2026-01-01"), ("p", "store", "C-1", "a", "s2", "2026-01-02")],
        "protocol string, oracle string, clause string, implementation string, shape string, found_at string",
    )
    [row] = statistics.findings_by_clause(found).collect()
    assert (row["oracle"], row["clause"], row["shapes"], row["findings"]) == ("store", "C-1", 2, 2)


def test_no_statistic_needs_python_or_a_cartesian_product(spark: SparkSession) -> None:
    stats = spark.createDataFrame([], CASE_STATS)
    days = spark.createDataFrame([], CASE_DAYS)
    named = columns(spark, {1: "1.0"})
    none = spark.createDataFrame([], RECORDS)
    frames = [
        statistics.flakiness(stats),
        statistics.flaky_cases(stats, named),
        statistics.version_changes(stats, named),
        statistics.date_changes(days, "2026-01-01", "2026-01-02"),
        statistics.disagreements(none),
        statistics.detection(none, statistics.mutants_by_case(spark.createDataFrame([], KILLS))),
        statistics.coverage(none),
    ]
    for frame in frames:
        plan = frame._jdf.queryExecution().toString()
        assert "CartesianProduct" not in plan
        assert "BroadcastNestedLoopJoin" not in plan
        assert "Python" not in plan.replace("PythonRDD", "")
