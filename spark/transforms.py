"""Pure DataFrame -> DataFrame steps from lines of text to cells; no reading, no writing, no UDF.

No line is lost: `classified` gives each one a kind and, if it is no record, a reason. A verdict other than pass counts
against the one clause that it is blamed on; levels are never added. Cells count cases: one that was played in several
segmentations counts once, with its worst verdict.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - the name every reader of Spark code knows
from pyspark.sql.types import ArrayType, DataType, StructType

from wireproof.spark.schemas import (
    BLAMING,
    CLASSIFIED,
    COLUMN_KEY,
    COUNTED,
    LEVELS,
    NOT_REQUIRED,
    RECORD,
    RECORD_SCHEMA_ID,
    REQUIRED,
    ROLES,
    SCORED,
    SCORED_LEVELS,
    WORST_FIRST,
)

CORRUPT_REASONS = ("not one JSON object", "a field has another type")
FOREIGN_REASONS = (
    "another schema id",
    "a field is missing",
    "unknown verdict",
    "unknown level",
    "unknown role",
    "run_started_at is not RFC 3339 in UTC",
)
EXAMPLE_CHARACTERS = 160
CUT_SHORT = "it was cut short, or is under way"
"""What a run is whose journal is still there."""
PARTIAL_RESULTS = "spark.sql.json.enablePartialResults"
CASES = ("source", "kind", "reason", *COLUMN_KEY, "run_id", "case", "example")
OF_LINES = ("repeats", "paired")
"""What runs say of their lines where these are not counted by case."""
QUICK_KEY = ("implementation", "variant", "implementation_version", "profile", "role", "protocol")
"""COLUMN_KEY, what differs most first: rows are sorted by it, and most comparisons end at its first column."""
BLANKS = " \t\n\r\f\v"
"""What a line that is none consists of."""
UTC = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$"


def classified(lines: DataFrame, example_characters: int = EXAMPLE_CHARACTERS) -> DataFrame:
    """Parse LINES into CLASSIFIED: one row for each line that is not blank.

    Each line is parsed once, as the only element of an array, so that nothing may follow the object. A line with
    anything wrong gives null, and its first field is parsed once more for the reason; this needs the session's setting
    `spark.sql.json.enablePartialResults` to be false (session.py). Raises `ValueError` if it is not.
    """
    if lines.sparkSession.conf.get(PARTIAL_RESULTS) != "false":
        raise ValueError(f"{PARTIAL_RESULTS} must be false: fields of another type would be taken for absent ones")
    array = F.concat(F.lit("["), "value", F.lit("]"))
    parsed = lines.where(F.ltrim("value", F.lit(BLANKS)) != "").select(
        "source", "value", F.from_json(array, as_ddl(ArrayType(RECORD))).alias("parsed")
    )
    good = (F.size("parsed") == 1) & F.col("parsed")[0].isNotNull()
    one = parsed.withColumn("record", F.when(good, F.col("parsed")[0]))
    flat = one.select("source", "value", "record.*", F.col("record").isNull().alias("bad"))
    ids = F.from_json(array, as_ddl(ArrayType(StructType([RECORD["schema"]]))))
    judged = flat.withColumns({"started": _started(), "ids": F.when(F.col("bad"), ids)}).withColumn("reason", _reason())
    example = F.when(F.col("reason").isNotNull(), F.substring("value", 1, example_characters))
    return judged.withColumns({"kind": _kind(), "example": example}).select(*CLASSIFIED.fieldNames())


def as_ddl(kind: DataType) -> Column:
    """Return a type as `from_json` reads it first; JSON, which PySpark sends, makes it load its catalogue of errors."""
    return F.lit(kind.simpleString())


def _started() -> Column:
    stamp = F.col("run_started_at")
    return F.when(stamp.rlike(UTC), F.try_to_timestamp(stamp))


def _reason() -> Column:
    missing = F.lit(False)
    for name in REQUIRED:
        missing = missing | F.col(name).isNull()
    no_clause = (F.size("clauses") < 1) | F.exists("clauses", lambda clause: clause.isNull())
    bad, several = F.col("bad"), ~F.size("ids").eqNullSafe(F.lit(1))
    schema = F.coalesce(F.col("ids")[0]["schema"], F.col("schema"))
    return (
        F.when(bad & several, "not one JSON object")
        .when(~schema.eqNullSafe(F.lit(RECORD_SCHEMA_ID)), "another schema id")
        .when(bad, "a field has another type")
        .when(missing | no_clause, "a field is missing")
        .when(~F.col("verdict").isin(*WORST_FIRST), "unknown verdict")
        .when(~F.col("level").isin(*LEVELS), "unknown level")
        .when(~F.col("role").isin(*ROLES), "unknown role")
        .when(F.col("started").isNull(), "run_started_at is not RFC 3339 in UTC")
    )


def _kind() -> Column:
    reason = F.col("reason")
    kind = F.when(reason.isNull(), "record").when(reason.isin(*CORRUPT_REASONS), "corrupt")
    return kind.when(reason.isin(*FOREIGN_REASONS), "foreign")


def cases_of(lines: DataFrame) -> DataFrame:
    """CLASSIFIED -> its lines counted by file, kind, reason, run, case and what they say of the run.

    `line_counts` and `runs_of` need no more of it. Everything is a key of the grouping, so that no row is sorted.
    """
    return lines.groupBy(*CASES, *_of_run()).agg(F.count("*").alias("lines"))


def lines_as_cases(lines: DataFrame) -> DataFrame:
    """CLASSIFIED -> rows like those of `cases_of`, one for each line: enough for few lines.

    They have the `record_id`, and say whether a record is `paired`: whether it names who was at the other end.
    """
    of_line = ("record_id", F.col("peer").isNotNull().alias("paired"), F.lit(1).cast("long").alias("lines"))
    return lines.select(*CASES, *_of_run(), *of_line)


def _of_run() -> tuple[str | Column, ...]:
    return ("started", "run_started_at", F.col("partial").alias("said"), F.col("run_cases").alias("planned"))


def line_counts(cases: DataFrame) -> DataFrame:
    """Rows of `cases_of` -> source, kind, reason, count, example (of one such line).

    They are counted by hash with their examples first: Spark sorts what it takes the least text of.
    """
    of_file = ("source", "kind", "reason")
    counted = cases.groupBy(*of_file, "example").agg(F.sum("lines").alias("lines"))
    return counted.groupBy(*of_file).agg(F.sum("lines").alias("count"), F.min("example").alias("example"))


def accepted(lines: DataFrame) -> DataFrame:
    """CLASSIFIED -> its records, with `source` and `started`."""
    return lines.where(F.col("kind") == "record").drop("kind", "reason", "example")


def runs_of(cases: DataFrame, cut_short: Sequence[str] = ()) -> DataFrame:
    """Rows of `cases_of` -> every run; `kept` marks one of each COLUMN_KEY: the latest that is complete.

    `partial` says why a run is not: what its records say, that its file is one of `cut_short` (values of `source`), or
    that there are records of fewer cases than they say. Only where no run is complete the latest partial one is kept.
    Ties: highest id. Of rows of `lines_as_cases` it says too whether a record `repeats`, and whether one is `paired`.
    """
    repeats = (F.sum("lines") > F.size(F.collect_set("record_id"))).alias("repeats")
    of_lines = [repeats, F.max("paired").alias("paired")] if "record_id" in cases.columns else []
    runs = (
        cases.where(F.col("kind") == "record")
        .groupBy(*COLUMN_KEY, "run_id")
        .agg(
            F.max("started").alias("started"),
            F.max("run_started_at").alias("run_started_at"),
            F.sum("lines").alias("records"),
            F.max("said").alias("said"),
            F.max(F.col("source").isin(*cut_short)).alias("cut_short"),
            F.size(F.collect_set("case")).alias("cases"),
            F.max("planned").alias("planned"),
            *of_lines,
        )
    )
    counted = F.concat_ws(" ", "cases", F.lit("of"), "planned", F.lit("cases"))
    partial = F.coalesce(
        "said", F.when(F.col("cut_short"), F.lit(CUT_SHORT)), F.when(F.col("cases") < F.col("planned"), counted)
    )
    complete_first = (F.col("partial").isNotNull(), F.desc("started"), F.desc("run_id"))
    latest = Window.partitionBy(*COLUMN_KEY).orderBy(*complete_first)
    marked = runs.withColumn("partial", partial).withColumn("kept", F.row_number().over(latest) == 1)
    return marked.drop("started", "said", "cut_short", "cases", "planned")


def latest_records(records: DataFrame, runs: DataFrame) -> DataFrame:
    """Return the records of kept runs."""
    kept = runs.where("kept").select(*COLUMN_KEY, "run_id")
    return records.join(F.broadcast(kept), on=[*COLUMN_KEY, "run_id"], how="left_semi")


def without_repeats(records: DataFrame) -> DataFrame:
    """Return one row for each record id of a run, the worst verdict first: a run that is given twice counts once."""
    order = Window.partitionBy("record_id", "run_id", *QUICK_KEY).orderBy(_worst_first(), "source", "duration_us")
    numbered = records.withColumn("repeat", F.row_number().over(order))
    return numbered.where(F.col("repeat") == 1).select(*RECORD.fieldNames())


def _worst_first() -> Column:
    return F.array_position(F.array(*[F.lit(verdict) for verdict in COUNTED]), F.col("verdict"))


def required(records: DataFrame) -> DataFrame:
    """Replace the verdict of plays that decide nothing by NOT_REQUIRED: the requirement set does not ask for them."""
    decides = F.col("not_required").isNull()
    return records.withColumn("verdict", F.when(decides, F.col("verdict")).otherwise(NOT_REQUIRED))


def charged(records: DataFrame) -> DataFrame:
    """Add `charged`: the clause that a verdict of BLAMING counts against (`blamed`, else the first clause)."""
    return records.withColumn("charged", F.coalesce("blamed", F.col("clauses")[0]))


def judged(records: DataFrame) -> DataFrame:
    """Records of kept runs -> what `clause_cells` and `group_cells` count: a row a play, without what it sent."""
    rank = _worst_first().cast("int").alias("rank")
    key = ("case", *QUICK_KEY, "group", "level", "clauses", "charged", "verdict", "differing")
    return charged(with_differing(required(records))).select(*key, rank)


def by_clause(records: DataFrame) -> DataFrame:
    """Return the `clause_cells` of records."""
    return clause_cells(judged(records))


def by_group(records: DataFrame) -> DataFrame:
    """Return the `group_cells` of records."""
    return group_cells(judged(records))


def clause_cells(plays: DataFrame) -> DataFrame:
    """Rows of `judged` -> cells for each column, group, clause and level.

    Other clauses of a blamed record count as untestable.
    """
    blaming = F.col("verdict").isin(*BLAMING)
    clauses = F.when(blaming, F.array_union("clauses", F.array("charged"))).when(~blaming, F.array_distinct("clauses"))
    each = plays.withColumn("clause", F.explode(clauses))
    at_fault = F.col("clause") == F.col("charged")
    rank = F.when(blaming & ~at_fault, COUNTED.index("untestable") + 1).otherwise(F.col("rank"))
    return _cells(each.withColumn("rank", rank), "group", "clause", "level")


def group_cells(plays: DataFrame) -> DataFrame:
    """Rows of `judged` -> cells for each column, group and level: every case once, with its worst verdict."""
    return _cells(plays, "group", "level")


def with_differing(records: DataFrame) -> DataFrame:
    """Add `differing`: the segmentations in which a case fails that passes in another; null if there are none.

    The rows of a case are brought together by a hash first: its comparison decides nearly always.
    """
    key = ("case", *QUICK_KEY, "group")
    of_case = Window.partitionBy(F.xxhash64(*key), *key)
    passes = F.max(F.col("verdict") == "pass").over(of_case)
    failing = F.collect_set(F.when(F.col("verdict").isin(*BLAMING), F.col("delivery"))).over(of_case)
    return records.withColumn("differing", F.when(passes & (F.size(failing) > 0), failing))


def _cells(plays: DataFrame, *row: str) -> DataFrame:
    """Count the worst verdicts of cases; k of n is null for MAY, which is never scored.

    A case counts as NOT_REQUIRED only if none of its plays is required.

    `plays` is the number of records of a cell; `differing` holds each segmentation once for each case that differs in
    it.
    """
    cases = plays.groupBy("case", *QUICK_KEY, *row, "differing").agg(
        F.min("rank").alias("rank"), F.count("*").alias("plays")
    )
    counts = [F.count_if(F.col("rank") == rank).alias(verdict) for rank, verdict in enumerate(COUNTED, 1)]
    scored = F.col("level").isin(*SCORED_LEVELS)
    total = F.lit(0)
    for verdict in SCORED:
        total = total + F.col(verdict)
    return (
        cases.groupBy(*COLUMN_KEY, *row)
        .agg(*counts, F.sum("plays").alias("plays"), F.flatten(F.collect_list("differing")).alias("differing"))
        .withColumns({"k": F.when(scored, F.col("pass")), "n": F.when(scored, total)})
    )


def may_answers(records: DataFrame) -> DataFrame:
    """Return what each column answered to each MAY case, with counts; the verdict where nothing was observed."""
    verdict = F.col("verdict")
    judged = verdict.isin("pass", "lenient", "fail")
    answer = F.when(judged, F.coalesce("observed", "verdict")).when(~judged, verdict)
    answers = records.where(F.col("level") == "MAY").withColumn("answer", answer)
    counted = answers.groupBy("case", *QUICK_KEY, "group", "answer").agg(
        F.max("title").alias("title"), F.max("clauses").alias("clauses"), F.count("*").alias("count")
    )
    return counted.select(*COLUMN_KEY, "group", "case", "answer", "title", "clauses", "count")


def evidence(records: DataFrame, limit: int) -> DataFrame:
    """Return the first `limit` records of each cell that are neither pass nor unsupported; `of` is their number."""
    cell = ["charged", *QUICK_KEY, "level", "group"]
    order = Window.partitionBy(*cell).orderBy(
        F.col("not_required").isNotNull(), _worst_first(), "case", "delivery", "record_id"
    )
    kept = charged(records.where(~F.col("verdict").isin("pass", "unsupported")))
    numbered = kept.withColumns(
        {"number": F.row_number().over(order), "of": F.count("*").over(Window.partitionBy(*cell))}
    )
    return numbered.where(F.col("number") <= limit)
