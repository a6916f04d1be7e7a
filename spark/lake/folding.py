"""Pure DataFrame steps from RECORDS to the aggregates.

CASE_DAYS: what a case did in a column on one day. CASE_STATS: what it did in all. Both fold runs in the order of their
start, so the outcome does not depend on the order in which runs arrived. Only verdicts that are scored are counted.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - the name every reader of Spark code knows
from pyspark.sql.types import DateType, IntegerType, LongType, StringType, StructField, StructType

from wireproof.spark.lake.tables import RECORDS, passed

_text, _number, _small, _day = StringType(), LongType(), IntegerType(), DateType()

CASE_DAYS: Final = StructType(
    [
        StructField("column_id", _number),
        StructField("case", _text),
        StructField("day", _day),
        StructField("runs", _number),
        StructField("passes", _number),
        StructField("first_ok", _small),
        StructField("flips", _number),
        StructField("worst", _small),
    ]
)
"""`runs` that scored the case, `passes` among them, `first_ok` 1 if the day's first one passed, `flips` between
neighbouring runs inside the day, `worst` rank of the day. The last one passed if first_ok + flips is odd."""

CASE_STATS: Final = StructType(
    [
        StructField("column_id", _number),
        StructField("case", _text),
        StructField("runs", _number),
        StructField("passes", _number),
        StructField("flips", _number),
        StructField("days", _number),
        StructField("first_day", _day),
        StructField("last_day", _day),
        StructField("last_ok", _small),
        StructField("changed_day", _day),
        StructField("runs_before", _number),
        StructField("passes_before", _number),
        StructField("worst", _small),
    ]
)
"""`changed_day` is the last day with a flip (null: none); `runs_before` and `passes_before` are of the days before."""

LATEST: Final = RECORDS
"""RECORDS of the run that is kept for each column."""

KEYS: Final = {
    "case_days": ("column_id", "case", "day"),
    "case_stats": ("column_id", "case"),
    "latest": ("column_id", "case", "record_id"),
}
SCHEMAS: Final = {"case_days": CASE_DAYS, "case_stats": CASE_STATS, "latest": LATEST}


def bucketed(frame: DataFrame, buckets: int) -> DataFrame:
    """Add `bucket`: which of the parts of the aggregates a column is in."""
    return frame.withColumn("bucket", F.pmod(F.col("column_id"), F.lit(buckets)).cast("int"))


def crowded_runs(runs: DataFrame) -> DataFrame:
    """RUNS -> `run_key` of the runs that share a day with another run of their column."""
    day = Window.partitionBy("column_id", F.to_date("started"))
    return runs.withColumn("of_day", F.count("*").over(day)).where(F.col("of_day") > 1).select("run_key")


def case_days(records: DataFrame, crowded: DataFrame | None = None) -> DataFrame:
    """RECORDS with `bucket` -> CASE_DAYS with `bucket`.

    `crowded`: the rows of `crowded_runs`. The rows of all other runs are days already, and need neither order nor
    shuffle. None: all are taken for crowded; a bucket should then be whole in one partition.
    """
    scored = records.where(F.col("counts")).withColumn("ok", passed()).where(F.col("ok").isNotNull())
    if crowded is None:
        return _crowded_days(scored)
    listed = F.broadcast(crowded)
    alone = scored.join(listed, on="run_key", how="left_anti").select(
        "column_id",
        "case",
        "day",
        F.lit(1).cast("long").alias("runs"),
        F.col("ok").cast("long").alias("passes"),
        F.col("ok").alias("first_ok"),
        F.lit(0).cast("long").alias("flips"),
        F.col("case_rank").alias("worst"),
        "bucket",
    )
    return alone.unionByName(_crowded_days(scored.join(listed, on="run_key", how="left_semi")))


def _crowded_days(scored: DataFrame) -> DataFrame:
    of_day = Window.partitionBy("bucket", "column_id", "case", "day").orderBy("started", "run_key")
    chained = scored.withColumn("before", F.lag("ok").over(of_day))
    days = chained.groupBy("bucket", "column_id", "case", "day").agg(
        F.count("*").alias("runs"),
        F.sum("ok").cast("long").alias("passes"),
        F.max(F.when(F.col("before").isNull(), F.col("ok"))).alias("first_ok"),
        F.count_if(F.col("before") != F.col("ok")).alias("flips"),
        F.min("case_rank").alias("worst"),
    )
    return days.select(*CASE_DAYS.fieldNames(), "bucket")


def case_stats(days: DataFrame) -> DataFrame:
    """CASE_DAYS with `bucket` -> CASE_STATS with `bucket`."""
    in_order = Window.partitionBy("bucket", "column_id", "case").orderBy("day")
    earlier = in_order.rowsBetween(Window.unboundedPreceding, -1)
    with_last = days.withColumn("last_ok", ((F.col("first_ok") + F.col("flips")) % 2).cast("int"))
    chained = with_last.withColumns(
        {
            "before": F.lag("last_ok").over(in_order),
            "runs_earlier": F.coalesce(F.sum("runs").over(earlier), F.lit(0)),
            "passes_earlier": F.coalesce(F.sum("passes").over(earlier), F.lit(0)),
        }
    )
    crossed = F.coalesce(F.col("before") != F.col("first_ok"), F.lit(False))
    flipped = chained.withColumn("all_flips", F.col("flips") + crossed.cast("long")).withColumn(
        "change", F.when(F.col("all_flips") > 0, F.col("day"))
    )
    folded = flipped.groupBy("bucket", "column_id", "case").agg(
        F.sum("runs").alias("runs"),
        F.sum("passes").alias("passes"),
        F.sum("all_flips").alias("flips"),
        F.count("*").alias("days"),
        F.min("day").alias("first_day"),
        F.max("day").alias("last_day"),
        F.max_by("last_ok", "day").alias("last_ok"),
        F.max("change").alias("changed_day"),
        F.max_by("runs_earlier", "change").alias("runs_before"),
        F.max_by("passes_earlier", "change").alias("passes_before"),
        F.min("worst").alias("worst"),
    )
    return folded.select(*CASE_STATS.fieldNames(), "bucket")


def kept_runs(runs: DataFrame) -> DataFrame:
    """Return one of the RUNS of each column: the latest that is complete, else the latest. Ties: highest id."""
    best = F.max(F.struct(F.col("partial").isNull(), "started", "run_id", "run_key")).alias("best")
    month = F.date_format("best.started", "yyyy-MM").alias("month")
    return runs.groupBy("protocol", "column_id").agg(best).select("protocol", "column_id", "best.run_key", month)
