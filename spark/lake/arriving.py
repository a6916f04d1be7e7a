"""Pure DataFrame steps from classified lines to the tables of a batch."""

from __future__ import annotations

from collections.abc import Collection

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - the name every reader of Spark code knows

from wireproof.spark.lake.tables import (
    EVIDENCE,
    LAST_BLAMING_RANK,
    PASS_RANK,
    QUARANTINE,
    RECORDS,
    RUNS,
    column_id,
    rank,
    run_key,
)
from wireproof.spark.schemas import COLUMN_KEY
from wireproof.spark.transforms import CUT_SHORT

LINE_CHARACTERS = 65_536
"""What the quarantine keeps of a line."""
NEW, REPEATED, SUPERSEDING = "new", "repeated", "superseding"
"""A run that the lake does not have; has whole, or as much of; has only a smaller part of."""
WITHOUT_EVIDENCE = ("pass", "unsupported")


def staged(classified: DataFrame) -> DataFrame:
    """CLASSIFIED -> what the other steps read: evidence only where it is kept, ids, partition and rank."""
    is_record = F.col("kind") == "record"
    wire = F.struct("expected", "got", "exchange", F.to_json("extra").alias("extra"))
    kept = is_record & ~F.col("verdict").isin(*WITHOUT_EVIDENCE)
    return classified.withColumns(
        {
            "column_id": F.when(is_record, column_id()),
            "run_key": F.when(is_record, run_key()),
            "rank": F.when(F.col("not_required").isNull(), rank()),
            "evidence": F.when(kept, wire),
            "evidence_id": F.when(kept, F.substring(F.sha2(F.to_json(wire), 256), 1, 32)),
        }
    ).drop("schema", "run_started_at", "exchange", "expected", "got", "extra")


def refused(staged_lines: DataFrame) -> DataFrame:
    """Return QUARANTINE: the lines that are no records."""
    bad = staged_lines.where(F.col("kind") != "record")
    return bad.withColumn("line", F.col("example")).select(*QUARANTINE.fieldNames())


def path_shown(source: str = "source") -> Column:
    """Return the path of a file URI as a local path; other URIs stay as they are."""
    decoded = F.url_decode(F.replace(F.col(source), F.lit("+"), F.lit("%2B")))
    return F.regexp_replace(decoded, "^file:/+", "/")


def arriving_runs(staged_lines: DataFrame, cut_short: Collection[str] = ()) -> DataFrame:
    """Return RUNS of what arrives. `cut_short`: paths of files whose run was not finished.

    One shuffle, by run: every step after it finds its rows together.
    """
    records = staged_lines.where(F.col("kind") == "record")
    reason = F.coalesce(
        "partial", F.when(path_shown().isin(*cut_short), F.lit(CUT_SHORT)) if cut_short else F.lit(None)
    )
    described = ("started", "run_cases", *COLUMN_KEY, "run_id", "column_id")
    by_run = records.select(
        "run_key", "case", "level", "record_id", "rank", reason.alias("said"), F.struct(*described).alias("run")
    ).repartition("run_key")
    plays = by_run.groupBy("run_key", "case", "level", "record_id").agg(
        F.min("rank").alias("rank"), F.max("said").alias("said"), F.max("run").alias("run")
    )
    levels = plays.groupBy("run_key", "case", "level").agg(
        F.min("rank").alias("rank"), F.count("*").alias("plays"), F.max("said").alias("said"), F.max("run").alias("run")
    )
    cases = levels.groupBy("run_key", "case").agg(
        *[F.count_if(condition).alias(name) for name, condition in _scores().items()],
        F.sum("plays").alias("plays"),
        F.max("said").alias("said"),
        F.max("run").alias("run"),
    )
    runs = cases.groupBy("run_key").agg(
        *[F.sum(name).alias(name) for name in _scores()],
        F.sum("plays").alias("records"),
        F.count("*").alias("cases"),
        F.max("said").alias("said"),
        F.max("run").alias("run"),
    )
    flat = runs.select("*", "run.*").withColumn("planned", F.col("run_cases"))
    counted = F.concat_ws(" ", "cases", F.lit("of"), "planned", F.lit("cases"))
    partial = F.coalesce("said", F.when(F.col("cases") < F.col("planned"), counted))
    return flat.withColumn("partial", partial).select(*RUNS.fieldNames())


def _scores() -> dict[str, Column]:
    scored = (F.col("rank") == PASS_RANK) | (F.col("rank") <= LAST_BLAMING_RANK)
    return {
        f"{level.lower()}_{name}": (F.col("level") == level) & condition
        for level in ("MUST", "SHOULD")
        for name, condition in (("passed", F.col("rank") == PASS_RANK), ("scored", scored))
    }


def decided(arriving: DataFrame, known: DataFrame) -> DataFrame:
    """Add `action` and `old_batch` to arriving RUNS; `known`: RUNS of the lake with `batch`."""
    have = known.select(
        "run_key",
        F.col("partial").isNotNull().alias("old_is_partial"),
        F.col("records").alias("old_records"),
        F.col("batch").alias("old_batch"),
    )
    more = F.col("partial").isNull() | (F.col("records") > F.col("old_records"))
    action = (
        F.when(F.col("old_batch").isNull(), NEW).when(F.col("old_is_partial") & more, SUPERSEDING).otherwise(REPEATED)
    )
    joined = arriving.join(have, on="run_key", how="left").withColumn("action", action)
    return joined.select(*RUNS.fieldNames(), "old_batch", "action")


def arriving_records(staged_lines: DataFrame, taken: DataFrame, files: int) -> DataFrame:
    """Return RECORDS and `month` of the runs in `taken`, each play once (its worst verdict), in the files' order."""
    records = _of_runs(staged_lines.where(F.col("kind") == "record"), taken)
    place = ["protocol", "month", "column_id"]
    laid = records.repartition(1) if files == 1 else records.repartitionByRange(files, *place)
    of_case = [*place, "run_key", "case"]
    repeat = F.row_number().over(
        Window.partitionBy(*of_case, "record_id").orderBy(
            F.asc_nulls_last("rank"), "source", "duration_us", "evidence_id"
        )
    )
    once = laid.withColumn("repeat", repeat).where(F.col("repeat") == 1)
    plays = Window.partitionBy(*of_case)
    marked = once.withColumns(
        {
            "case_rank": F.min("rank").over(plays),
            "counts": F.col("rank").isNotNull()
            & (F.row_number().over(plays.orderBy(F.col("rank").isNull(), "record_id")) == 1),
        }
    )
    ordered = marked.sortWithinPartitions(*of_case, "record_id")
    return ordered.select(*RECORDS.fieldNames(), "month")


def _of_runs(records: DataFrame, taken: DataFrame) -> DataFrame:
    """Return the records of runs; all records of a run have its start, whatever some of them say."""
    starts = F.broadcast(taken.select("run_key", "started"))
    dated = {"month": F.date_format("started", "yyyy-MM"), "day": F.to_date("started")}
    return records.drop("started").join(starts, on="run_key").withColumns(dated)


def arriving_evidence(staged_lines: DataFrame, taken: DataFrame) -> DataFrame:
    """Return EVIDENCE and `month` of the runs in `taken`, each content once."""
    having = _of_runs(staged_lines.where(F.col("evidence_id").isNotNull()), taken)
    flat = having.select("evidence_id", "protocol", "month", "evidence.*")
    return flat.dropDuplicates(["protocol", "month", "evidence_id"]).select(*EVIDENCE.fieldNames(), "month")
