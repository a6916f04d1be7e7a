"""Pure DataFrame functions from the aggregates of a lake to what they say: flakiness, regressions, disagreements.

`columns_of` names what a `column_id` stands for; the others take CASE_STATS, CASE_DAYS or LATEST (lake/folding.py).
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - the name every reader of Spark code knows

from wireproof.spark.schemas import BLAMING, COLUMN_KEY, SCORED
from wireproof.spark.transforms import charged

Z: Final = 1.959964
"""Standard deviations of a two-sided interval of 95 %."""
CLASSES: Final = ("once", "steady", "broken", "changed", "transient", "flaky")
"""Played once; always passed; never passed; changed once and stayed; differed a single time; went to and fro."""
SAME_LINE: Final = ("protocol", "profile", "variant", "role", "implementation", "case")
"""What the versions of an implementation are compared within."""
EVERY_VARIANT: Final = ("protocol", "profile", "role", "implementation", "case")
"""The same, of all variants together."""
MIXED: Final = -1
"""State of a case in a version in which some runs pass."""
FEWEST_RUNS: Final = 2
"""Runs that a sure change needs on either side: one alone may be an accident."""
MOST_TURNS: Final = 2
"""Changes of a case over all versions, one of which is sure: a regression and its fix."""


def wilson(passes: Column, runs: Column) -> tuple[Column, Column]:
    """Return the ends of the Wilson interval of a share, which stays in 0..1 where few runs are known."""
    n, k = runs.cast("double"), passes.cast("double")
    centre = k + F.lit(Z * Z / 2)
    spread = F.lit(Z) * F.sqrt(k * (n - k) / n + F.lit(Z * Z / 4))
    below = n + F.lit(Z * Z)
    return F.greatest((centre - spread) / below, F.lit(0.0)), F.least((centre + spread) / below, F.lit(1.0))


def columns_of(runs: DataFrame) -> DataFrame:
    """RUNS -> one row a column: its fields, runs, first and last day, and `version_order`, by which versions sort."""
    columns = runs.groupBy("column_id").agg(
        *[F.max(name).alias(name) for name in COLUMN_KEY],
        F.count("*").alias("column_runs"),
        F.to_date(F.min("started")).alias("first_run"),
        F.to_date(F.max("started")).alias("last_run"),
    )
    return columns.withColumn("version_order", version_order(F.col("implementation_version")))


def version_order(version: Column) -> Column:
    """Return a string that sorts versions by their numbers, a pre-release before its release; without numbers last."""
    numbers = F.regexp_extract(version, r"^[vV]?(\d+(?:\.\d+)*)", 1)
    rest = F.regexp_replace(version, r"^[vV]?\d+(?:\.\d+)*", "")
    parts = F.concat(F.split(numbers, r"\."), F.array_repeat(F.lit("0"), 4))
    padded = F.transform(F.slice(parts, 1, 4), lambda part: F.lpad(part, 10, "0"))
    pre_release = F.when(rest.rlike(r"^[-._]?(a|b|c|rc|alpha|beta|dev|pre|snapshot)"), "-").otherwise("~")
    widened = F.regexp_replace(rest, r"(\d+)", "000000000$1")
    last = F.regexp_replace(widened, r"\d*(\d{9})(?!\d)", "$1")
    ordered = F.concat(F.array_join(padded, "."), pre_release, last)
    return F.when(numbers == "", F.concat(F.lit("~"), version)).otherwise(ordered)


def flakiness(stats: DataFrame) -> DataFrame:
    """CASE_STATS -> pass_rate with its interval (low, high), flip_rate of neighbouring runs, runs_since, class."""
    low, high = wilson(F.col("passes"), F.col("runs"))
    fewer = F.least(F.col("passes"), F.col("runs") - F.col("passes"))
    kind = (
        F.when(F.col("runs") == 1, "once")
        .when(F.col("passes") == F.col("runs"), "steady")
        .when(F.col("passes") == 0, "broken")
        .when((F.col("flips") == 1) & ((fewer > 1) | (F.col("runs") == 2)), "changed")
        .when(fewer == 1, "transient")
        .when(F.col("flips") == 1, "changed")
        .otherwise("flaky")
    )
    return stats.withColumns(
        {
            "pass_rate": F.col("passes") / F.col("runs"),
            "low": low,
            "high": high,
            "flip_rate": F.when(F.col("runs") > 1, F.col("flips") / (F.col("runs") - 1)),
            "runs_since": F.col("runs") - F.col("runs_before"),
            "class": kind,
        }
    )


def flaky_cases(stats: DataFrame, columns: DataFrame) -> DataFrame:
    """Return the cases of an implementation that go to and fro inside a version; its versions and variants together.

    A flip between two versions is a change of the code, and is left out: only runs of one column are compared.
    """
    named = stats.join(columns.select("column_id", *COLUMN_KEY), on="column_id")
    pooled = named.groupBy(*EVERY_VARIANT).agg(
        F.sum("runs").alias("runs"),
        F.sum("passes").alias("passes"),
        F.sum("flips").alias("flips"),
        F.count("*").alias("columns"),
        F.count_if(F.col("flips") > 0).alias("flipping_columns"),
        F.count_if(F.col("flips") > 1).alias("returning_columns"),
        F.sum(F.when(F.col("flips") > 0, F.least("passes", F.col("runs") - F.col("passes")))).alias("rare"),
        F.max("last_day").alias("last_day"),
    )
    flaky = pooled.where(_goes_to_and_fro(F.col("flips"), F.col("rare"), F.col("returning_columns")))
    low, high = wilson(F.col("passes"), F.col("runs"))
    return flaky.withColumns({"pass_rate": F.col("passes") / F.col("runs"), "low": low, "high": high})


def _goes_to_and_fro(flips: Column, rare: Column, returning: Column) -> Column:
    """Say whether a case is flaky, of its columns together: it flips and comes back more than by an accident."""
    return (flips >= 3) & (rare >= 2) & (returning >= 1)


def _is_flaky() -> Column:
    """Say of a row of CASE_STATS whether the case goes to and fro in any version and variant of its implementation."""
    every = Window.partitionBy(*EVERY_VARIANT)
    rare = F.when(F.col("flips") > 0, F.least("passes", F.col("runs") - F.col("passes"))).otherwise(0)
    sums = (F.sum(one).over(every) for one in (F.col("flips"), rare, (F.col("flips") > 1).cast("int")))
    return _goes_to_and_fro(*sums)


def version_changes(stats: DataFrame, columns: DataFrame) -> DataFrame:
    """Return what passed in one version and not in the next one that was tested (`regression`), or became good (`fix`).

    `sure`: no run of either version says otherwise, the case goes to and fro in no version, and its streaks are
    clear (`_is_clear`), of the variants together or of this one.
    """
    named = stats.join(
        columns.select("column_id", "version_order", "first_run", *COLUMN_KEY), on="column_id"
    ).withColumnRenamed("implementation_version", "to_version")
    marked = named.withColumn("flaky", _is_flaky())
    streaks = _with_streaks(_with_streaks(marked, "all", *EVERY_VARIANT), "own", *SAME_LINE)
    in_order = Window.partitionBy(*SAME_LINE).orderBy("version_order", "first_run", "to_version")
    seen = ("to_version", "last_ok", "runs", "passes", "flips", "all_state", "all_streak", "own_streak")
    before = F.lag(F.struct(*seen)).over(in_order)
    chained = streaks.withColumn("before", before).where(
        F.col("before").isNotNull() & (F.col("before.last_ok") != F.col("last_ok"))
    )
    one_way = (F.col("passes") == F.col("runs") * F.col("last_ok")) & (
        F.col("before.passes") == F.col("before.runs") * F.col("before.last_ok")
    )
    agreed = (F.col("all_state") == F.col("last_ok")) & (F.col("before.all_state") == F.col("before.last_ok"))
    clear = (agreed & _is_clear("all")) | _is_clear("own")
    return chained.select(
        *SAME_LINE,
        F.col("before.to_version").alias("from_version"),
        "to_version",
        F.when(F.col("last_ok") == 0, "regression").otherwise("fix").alias("kind"),
        F.col("before.runs").alias("runs_from"),
        F.col("runs").alias("runs_to"),
        (one_way & ~F.col("flaky") & clear).alias("sure"),
        F.col("first_day").alias("since"),
        "column_id",
    )


def _with_streaks(named: DataFrame, prefix: str, *line: str) -> DataFrame:
    """Add the `state` of a case in each version of a `line` (1 each run passed, 0 none did, else MIXED), how many runs
    the `streak` of neighbouring versions with that state has, and how often the state `turns`; each with `prefix`.
    """
    version = Window.partitionBy(*line, "version_order", "to_version")
    runs, passes = F.sum("runs").over(version), F.sum("passes").over(version)
    state = F.when(passes == runs, 1).when(passes == 0, 0).otherwise(MIXED)
    in_order = Window.partitionBy(*line).orderBy("version_order", "to_version", "column_id")
    names = {name: f"{prefix}_{name}" for name in ("state", "streak", "turns")}
    turned = named.withColumn(names["state"], state).withColumn(
        "turn", F.coalesce((F.lag(names["state"]).over(in_order) != F.col(names["state"])).cast("int"), F.lit(0))
    )
    numbered = turned.withColumn("place", F.sum("turn").over(in_order.rowsBetween(Window.unboundedPreceding, 0)))
    streak = F.sum("runs").over(Window.partitionBy(*line, "place"))
    turns = F.max("place").over(Window.partitionBy(*line))
    return numbered.withColumns({names["streak"]: streak, names["turns"]: turns}).drop("turn", "place")


def _is_clear(prefix: str) -> Column:
    """Say whether the streaks before and after a change have intervals apart and two runs each, and the case turned
    MOST_TURNS times at most: of a case that passes by chance, two runs that fail after two that pass are not rare.
    """
    after, earlier = F.col(f"{prefix}_streak"), F.col(f"before.{prefix}_streak")
    several = (after >= FEWEST_RUNS) & (earlier >= FEWEST_RUNS)
    (_, failing), (passing, _) = wilson(F.lit(0), after), wilson(earlier, earlier)
    return several & (passing > failing) & (F.col(f"{prefix}_turns") <= MOST_TURNS)


def date_changes(days: DataFrame, earlier: str, later: str) -> DataFrame:
    """CASE_DAYS -> cases of a column whose last run up to `earlier` and up to `later` (YYYY-MM-DD) differ."""
    last_ok = ((F.col("first_ok") + F.col("flips")) % 2).cast("int")
    until = days.where(F.col("day") <= F.lit(later).cast("date")).withColumn("last_ok", last_ok)
    before = F.when(F.col("day") <= F.lit(earlier).cast("date"), F.col("day"))
    states = until.groupBy("column_id", "case").agg(
        F.max_by("last_ok", before).alias("before"),
        F.max(before).alias("seen_before"),
        F.max_by("last_ok", "day").alias("after"),
        F.max("day").alias("day"),
    )
    both = states.where(F.col("seen_before").isNotNull() & (F.col("before") != F.col("after")))
    return both.withColumn("kind", F.when(F.col("after") == 0, "regression").otherwise("fix")).drop("seen_before")


def newest_versions(columns: DataFrame) -> DataFrame:
    """Return the columns of the newest version of each implementation, in each profile, variant and role."""
    line = Window.partitionBy("protocol", "profile", "variant", "role", "implementation")
    last = F.row_number().over(line.orderBy(F.desc("version_order"), F.desc("first_run"), F.desc("column_id")))
    return columns.withColumn("place", last).where(F.col("place") == 1).drop("place")


def disagreements(latest: DataFrame) -> DataFrame:
    """LATEST -> clauses that some implementations pass and others do not: how many of each, and their `dissent` (0..1).

    An implementation passes a clause if nothing that it is blamed for is against it.
    """
    blamed = F.col("verdict").isin(*BLAMING)
    each = charged(latest.where(F.col("not_required").isNull() & F.col("verdict").isin(*SCORED))).withColumn(
        "clause", F.explode(F.when(blamed, F.array("charged")).otherwise(F.array_distinct("clauses")))
    )
    row = ("protocol", "profile", "role", "group", "clause", "level")
    of_one = each.groupBy(*row, "implementation").agg(F.max(blamed).alias("fails"))
    counted = of_one.groupBy(*row).agg(
        F.count_if(~F.col("fails")).alias("passing"), F.count_if(F.col("fails")).alias("failing")
    )
    share = F.least("passing", "failing") / (F.col("passing") + F.col("failing"))
    return counted.where((F.col("passing") > 0) & (F.col("failing") > 0)).withColumn("dissent", 2 * share)


def detection(latest: DataFrame, mutants: DataFrame) -> DataFrame:
    """LATEST and rows of `mutants_by_case` -> one row a case: in how many columns it was played, in how many it found a
    fault, of whom; and the mutants that it kills: 0 for none, null where the lake has no kill matrix of its profile.
    """
    scored = latest.where(F.col("counts") & F.col("verdict").isNotNull())
    found = F.col("case_rank") <= len(BLAMING)
    cases = scored.groupBy("protocol", "profile", "role", "group", "case").agg(
        F.max("title").alias("title"),
        F.max("level").alias("level"),
        F.count("*").alias("columns"),
        F.count_if(found).alias("found_in"),
        F.count_distinct(F.when(found, F.col("implementation"))).alias("implementations"),
    )
    suite = ["protocol", "profile", "role"]
    kills = mutants.withColumn("role", F.lit("server"))
    measured = kills.select(*suite).distinct().withColumn("none", F.lit(0))
    known = cases.join(measured, on=suite, how="left").join(kills, on=[*suite, "case"], how="left")
    counts = [F.coalesce(name, "none").alias(name) for name in ("mutants", "alone")]
    return known.select(*cases.columns, *counts)


def mutants_by_case(kills: DataFrame) -> DataFrame:
    """KILLS -> one row a case of a profile, by the newest kill matrix of each variant: how many mutants it kills, how
    many of them no other case kills (`alone`), and in how many the clause that it blames is broken (`right`).
    """
    of_variant = Window.partitionBy("protocol", "profile", "variant")
    last = F.max(F.struct("taken_at", "matrix")).over(of_variant) == F.struct("taken_at", "matrix")
    newest = kills.withColumn("last", last).where(F.col("last") & F.col("case").isNotNull())
    cases = F.count("*").over(Window.partitionBy("matrix", "mutant"))
    return (
        newest.withColumn("alone", cases == 1)
        .groupBy("protocol", "profile", "case")
        .agg(
            F.count_distinct("mutant").alias("mutants"),
            F.count_distinct(F.when(F.col("alone"), F.col("mutant"))).alias("alone"),
            F.count_distinct(F.when(F.col("right"), F.col("mutant"))).alias("right"),
        )
    )


def coverage(latest: DataFrame) -> DataFrame:
    """LATEST -> for each column and group: cases, and how many were scored, are not supported, could not be tested."""
    cases = latest.where("counts")
    of_verdict = {
        "scored": F.col("case_rank").isin(1, 2, 3, 4, 8),
        "harness_errors": F.col("case_rank") == 5,
        "untestable": F.col("case_rank") == 6,
        "unsupported": F.col("case_rank") == 7,
    }
    return cases.groupBy("column_id", "protocol", "group").agg(
        F.count("*").alias("cases"), *[F.count_if(condition).alias(name) for name, condition in of_verdict.items()]
    )


def findings_by_clause(findings: DataFrame) -> DataFrame:
    """Fuzz findings (reports/schema/finding.schema.json) -> counts by protocol, oracle, clause and implementation."""
    return findings.groupBy("protocol", "oracle", "clause", "implementation").agg(
        F.count_distinct("shape").alias("shapes"),
        F.count("*").alias("findings"),
        F.min("found_at").alias("first"),
        F.max("found_at").alias("last"),
    )
