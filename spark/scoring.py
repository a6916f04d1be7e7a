"""How much of what was planted in a made-up lake the statistics find."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - the name every reader of Spark code knows

from wireproof.spark.lake.aggregates import Aggregates
from wireproof.spark.statistics import columns_of, flaky_cases, version_changes


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """`planted` pairs of implementation and case, and those `met` by something right.

    Then what one can see in the runs there are, for changes each variant apart: `could_be_seen`, `found`, `right`.
    """

    what: str
    planted: int
    met: int
    could_be_seen: int
    found: int
    right: int
    right_and_visible: int

    @property
    def precision(self) -> float:
        """Return the share of what was found that was planted."""
        return self.right / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        """Return the share of what could be seen that was found."""
        return self.right_and_visible / self.could_be_seen if self.could_be_seen else 1.0

    def row(self) -> str:
        """Return a row of a Markdown table."""
        return (
            f"| {self.what} | {self.planted} | {self.met} | {self.could_be_seen} | {self.found} | {self.right} "
            f"| {self.precision:.3f} | {self.recall:.3f} |"
        )


def scores(aggregates: Aggregates) -> list[Score]:
    """Return the scores of flaky cases, regressions and fixes."""
    lake = aggregates.lake
    planted = lake.session.read.parquet(lake.storage.uri("planted")).select(
        F.format_string("maker-%03d", F.col("i")).alias("implementation"), "c", "fate", "since", "until"
    )
    return scored(planted, aggregates.table("case_stats"), columns_of(lake.runs()).cache())


def scored(planted: DataFrame, stats: DataFrame, columns: DataFrame) -> list[Score]:
    """Return the scores of flaky cases, regressions and fixes from CASE_STATS and `columns_of`."""
    named = stats.join(columns, on="column_id").withColumn("c", F.regexp_extract("case", r"(\d+)$", 1).cast("int"))
    seen = named.join(
        planted.select("implementation", "c").distinct(), on=["implementation", "c"], how="left_semi"
    ).cache()
    changes = version_changes(stats, columns).where("sure").cache()
    return [
        _flaky(planted.where("fate = 'flaky'"), flaky_cases(stats, columns), seen),
        *(_changes(planted.where("fate = 'regression'"), changes, seen, kind) for kind in ("regression", "fix")),
    ]


def _flaky(planted: DataFrame, found: DataFrame, seen: DataFrame) -> Score:
    """A flaky case can be seen if, in one column, it failed and passed twice at least."""
    pair = ["implementation", "c"]
    chosen = found.withColumn("c", F.regexp_extract("case", r"(\d+)$", 1).cast("int")).select(*pair).distinct()
    fewer = F.least(F.col("passes"), F.col("runs") - F.col("passes"))
    visible = seen.where(fewer >= 2).select(*pair).distinct().join(planted, on=pair, how="left_semi")
    right = chosen.join(planted, on=pair, how="left_semi")
    return Score(
        what="flaky cases",
        planted=planted.count(),
        met=right.count(),
        could_be_seen=visible.count(),
        found=chosen.count(),
        right=right.count(),
        right_and_visible=right.join(visible, on=pair, how="left_semi").count(),
    )


def _changes(planted: DataFrame, changes: DataFrame, seen: DataFrame, kind: str) -> Score:
    """A change can be seen in a variant where the case was scored in a version before it and in one after it."""
    version = F.col("implementation_version")
    number = F.element_at(F.split(version, r"\."), 2).cast("int")
    place = ["implementation", "variant", "c"]
    turn = "since" if kind == "regression" else "until"
    versions = seen.select(*place, number.alias("v")).join(
        planted.where(f"{turn} is not null"), on=["implementation", "c"]
    )
    lost = (F.col("v") >= F.col("since")) & (F.col("until").isNull() | (F.col("v") < F.col("until")))
    in_order = Window.partitionBy(*place).orderBy("v")
    chained = versions.withColumn("lost", lost).withColumn("before", F.lag("lost").over(in_order))
    now_lost = F.col("lost") if kind == "regression" else ~F.col("lost")
    visible = chained.where(now_lost & (F.col("before") != F.col("lost"))).select(*place, "v").distinct()
    chosen = (
        changes.where(F.col("kind") == kind)
        .withColumn("c", F.regexp_extract("case", r"(\d+)$", 1).cast("int"))
        .withColumn("v", F.element_at(F.split("to_version", r"\."), 2).cast("int"))
        .select(*place, "v")
        .distinct()
    )
    matched = chosen.join(visible, on=[*place, "v"], how="left_semi").cache()
    right = matched.count()
    pairs = planted.where(f"{turn} is not null").select("implementation", "c").distinct().count()
    return Score(
        what=f"{kind}es" if kind == "fix" else f"{kind}s",
        planted=pairs,
        met=matched.select("implementation", "c").distinct().count(),
        could_be_seen=visible.count(),
        found=chosen.count(),
        right=right,
        right_and_visible=right,
    )
