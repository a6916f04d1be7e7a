"""What the pages show, as DataFrames with one row for each file or row of a page."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every reader of Spark code knows

from wireproof.spark.lake.folding import kept_runs
from wireproof.spark.lake.tables import LAST_BLAMING_RANK, verdict_of
from wireproof.spark.schemas import BLAMING, COLUMN_KEY, SCORED_LEVELS, WORST_FIRST
from wireproof.spark.statistics import columns_of, flaky_cases, newest_versions, version_changes
from wireproof.spark.transforms import by_clause, by_group, charged

SECTION: Final = ("protocol", "profile", "role")
WHO: Final = ("protocol", "role", "implementation")
"""What has a page of its own."""
CHANGES_SHOWN: Final = 200
CAUSES_SHOWN: Final = 500
SCORED: Final = ("must_passed", "must_scored", "should_passed", "should_scored")
SCORES: Final = (*SCORED, "must_untested", "should_untested")
UNTESTED_RANKS: Final = tuple(WORST_FIRST.index(verdict) + 1 for verdict in ("untestable", "harness_error"))
"""Of cases about which a run says nothing: what they need failed, or the harness did."""


def mark() -> Column:
    """Return one letter for counts of a cell: f(ail), l(enient), q (something is untested), p(ass), u(nsupported),
    n(ot required)."""
    return (
        F.when(F.col("crash") + F.col("hang") + F.col("fail") > 0, "f")
        .when(F.col("lenient") > 0, "l")
        .when(F.col("untestable") + F.col("harness_error") > 0, "q")
        .when(F.col("n") > 0, "p")
        .when(F.col("unsupported") > 0, "u")
        .otherwise("n")
    )


def versions(runs: DataFrame, latest: DataFrame) -> DataFrame:
    """RUNS and LATEST -> one row a column: what it is, and the scores of the run that is kept.

    `must_untested` and `should_untested`: cases that are not scored, since they could not be tested.
    """
    kept = kept_runs(runs).select("run_key")
    taken = runs.join(kept, on="run_key", how="left_semi").select("column_id", "started", "partial", "run_id", *SCORED)
    untested = latest.where(F.col("counts") & F.col("case_rank").isin(*UNTESTED_RANKS)).groupBy("column_id")
    lost = untested.agg(*[F.count_if(F.col("level") == level).alias(_untested(level)) for level in SCORED_LEVELS])
    whole = columns_of(runs).join(taken, on="column_id").join(lost, on="column_id", how="left")
    return whole.fillna(0, [_untested(level) for level in SCORED_LEVELS])


def _untested(level: str) -> str:
    return f"{level.lower()}_untested"


def cells(latest: DataFrame, stats: DataFrame) -> DataFrame:
    """LATEST and CASE_STATS of the columns of a matrix -> one row a clause and level: its cells as an array.

    A cell: column_id, mark, k, n, and for what never fails no more; else runs and passes of its cases.
    """
    counted = by_clause(latest.where(F.col("level").isin(*SCORED_LEVELS)))
    history = _history(latest, stats)
    named = counted.withColumn("column_id", F.xxhash64(*COLUMN_KEY))
    joined = named.join(history, on=["column_id", "group", "clause", "level"], how="left")
    cell = F.struct("column_id", mark().alias("mark"), "k", "n", "runs", "passes")
    return joined.groupBy(*SECTION, "group", "clause", "level").agg(F.collect_list(cell).alias("cells"))


def _history(latest: DataFrame, stats: DataFrame) -> DataFrame:
    """Return runs and passes of the cases of each cell, where one of them ever failed."""
    cases = latest.where("counts").select("column_id", "group", "level", "case", F.explode("clauses").alias("clause"))
    ever = stats.where(F.col("passes") < F.col("runs")).select("column_id", "case", "runs", "passes")
    return (
        cases.join(ever, on=["column_id", "case"])
        .groupBy("column_id", "group", "clause", "level")
        .agg(F.sum("runs").alias("runs"), F.sum("passes").alias("passes"))
    )


def group_rows(latest: DataFrame) -> DataFrame:
    """LATEST -> for each column, group and level: k, n and mark."""
    counted = by_group(latest.where(F.col("level").isin(*SCORED_LEVELS)))
    named = counted.withColumn("column_id", F.xxhash64(*COLUMN_KEY))
    return named.select("column_id", "group", "level", "k", "n", mark().alias("mark"))


def failing(latest: DataFrame) -> DataFrame:
    """LATEST -> one row for each implementation: its versions, each with the cases that are blamed on it."""
    blamed = latest.where(F.col("counts") & (F.col("case_rank") <= LAST_BLAMING_RANK))
    of_column = blamed.groupBy(*WHO, "profile", "variant", "implementation_version").agg(
        F.sort_array(F.collect_set("case")).alias("cases")
    )
    version = F.struct("profile", "variant", "implementation_version", "cases")
    return of_column.groupBy(*WHO).agg(F.sort_array(F.collect_list(version)).alias("failing"))


def causes(latest: DataFrame, evidence: DataFrame) -> DataFrame:
    """LATEST of the newest versions, and EVIDENCE -> for each implementation what it is blamed for, worst first.

    A cause is a clause and level: its worst case with what crossed the wire, all its cases, and where they fail.
    """
    open_ones = charged(latest.where(F.col("not_required").isNull() & F.col("verdict").isin(*BLAMING)))
    by_case = open_ones.groupBy(*WHO, "charged", "level", "case").agg(
        F.min("case_rank").alias("worst"),
        F.max("title").alias("title"),
        F.collect_set("delivery").alias("deliveries"),
        F.min("evidence_id").alias("evidence_id"),
        F.collect_set(F.concat_ws(" ", "profile", "variant", "implementation_version")).alias("columns"),
    )
    worst = F.min(F.struct("worst", "case", "title", F.sort_array("deliveries").alias("deliveries"), "evidence_id"))
    columns = F.array_distinct(F.flatten(F.collect_list("columns")))
    by_cause = by_case.groupBy(*WHO, "charged", "level").agg(
        worst.alias("first"), F.collect_list("case").alias("cases"), F.sort_array(columns).alias("columns")
    )
    wire = evidence.select("evidence_id", "expected", "got", "exchange").dropDuplicates(["evidence_id"])
    one = by_cause.select(*WHO, "charged", "level", "columns", "first.*", F.sort_array("cases").alias("cases"))
    shown = one.join(wire, on="evidence_id", how="left").withColumn("verdict", verdict_of("worst"))
    fields = ("worst", "charged", "level", "case", "verdict", "title", "deliveries", "columns", "cases")
    listed = F.sort_array(F.collect_list(F.struct(*fields, "expected", "got", "exchange")))
    return shown.groupBy(*WHO).agg(F.slice(listed, 1, CAUSES_SHOWN).alias("causes"), F.count("*").alias("number"))


def trends(columns: DataFrame) -> DataFrame:
    """The rows of `versions` -> for each implementation all its versions, in order."""
    fields = ("version_order", "first_run", "profile", "variant", "implementation_version", "last_run", "column_runs")
    one = F.struct(*fields, "partial", *SCORES)
    return columns.groupBy(*WHO).agg(F.sort_array(F.collect_list(one)).alias("versions"))


def changes(stats: DataFrame, columns: DataFrame) -> DataFrame:
    """CASE_STATS and `columns_of` -> for each implementation its regressions and fixes, the newest first."""
    fields = ("since", "kind", "case", "profile", "variant", "from_version", "to_version", "sure")
    listed = F.sort_array(F.collect_list(F.struct(*fields)), asc=False)
    return (
        version_changes(stats, columns)
        .groupBy(*WHO)
        .agg(F.slice(listed, 1, CHANGES_SHOWN).alias("changes"), F.count("*").alias("number"))
    )


def flaky(stats: DataFrame, columns: DataFrame) -> DataFrame:
    """CASE_STATS and `columns_of` -> for each implementation the cases that go to and fro."""
    one = F.struct("pass_rate", "case", "profile", "runs", "passes", "flips", "low", "high", "last_day")
    listed = F.sort_array(F.collect_list(one))
    return flaky_cases(stats, columns).groupBy(*WHO).agg(F.slice(listed, 1, CHANGES_SHOWN).alias("flaky"))


def recent_changes(stats: DataFrame, columns: DataFrame, since: str, limit: int) -> DataFrame:
    """Return regressions and fixes of versions, and of runs of one version, that were first seen since a day."""
    day = F.lit(since).cast("date")
    fields = ("day", "kind", *WHO, "profile", "variant", "case", "from_version", "to_version", "sure")
    by_version = version_changes(stats, columns).where(F.col("since") >= day).withColumn("day", F.col("since"))
    inside = (
        stats.where((F.col("changed_day") >= day) & (F.col("flips") == 1))
        .join(columns.drop("first_run", "last_run"), on="column_id")
        .withColumns(
            {
                "day": F.col("changed_day"),
                "kind": F.when(F.col("last_ok") == 0, "regression").otherwise("fix"),
                "from_version": F.col("implementation_version"),
                "to_version": F.col("implementation_version"),
                "sure": F.lit(False),
            }
        )
    )
    both = by_version.select(*fields).unionByName(inside.select(*fields))
    return both.orderBy(F.desc("sure"), F.desc("day"), *fields[1:]).limit(limit)


def newest(columns: DataFrame) -> DataFrame:
    """Return the rows of `versions` of the newest version of each implementation, profile, variant and role."""
    return newest_versions(columns)
