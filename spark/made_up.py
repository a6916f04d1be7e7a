"""The made-up lake as Spark expressions: every number is a hash of the seed and of what it is about."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every reader of Spark code knows

from wireproof.spark.lake.batches import Lake, Marker, new_batch, now
from wireproof.spark.lake.ingest import ROWS_A_FILE
from wireproof.spark.lake.tables import PASS_RANK, RECORDS, RUNS, column_id, rank, run_key
from wireproof.spark.made_up_plan import Plan

PROTOCOLS: Final = ("made-up-a", "made-up-b", "made-up-c")
GROUPS: Final = 12
DELIVERIES: Final = ("whole", "bytes", "fields")
RANGES: Final = 1_000_003


def chance(seed: int, about: str, *of: Column) -> Column:
    """Return a number in 0..1 that depends on the seed and on what it is about only."""
    return F.pmod(F.xxhash64(F.lit(seed), F.lit(about), *of), F.lit(RANGES)) / F.lit(float(RANGES))


def whole(share: Column, below: Column | int) -> Column:
    """Return a whole number from 0 up to `below`, without it."""
    bound = below if isinstance(below, Column) else F.lit(below)
    return F.floor(share * bound).cast("int")


def version_days(plan: Plan) -> Column:
    """Return after how many days an implementation `i` publishes its next version."""
    number = whole(chance(plan.seed, "versions", F.col("i")), plan.versions) + 1
    return F.ceil(F.lit(plan.days) / number).cast("int")


def planted(session: SparkSession, plan: Plan) -> DataFrame:
    """Return what each implementation `i` does in each case `c`: one of broken, regression, flaky; null: it passes.

    A regression begins with version `since` and ends before version `until`. A flaky case passes with `odds`.
    """
    grid = session.range(plan.implementations).select(F.col("id").cast("int").alias("i"))
    every = grid.select("i", F.explode(F.sequence(F.lit(0), F.lit(plan.cases - 1))).alias("c"))
    return every.withColumns(fate(plan)).where(F.col("fate").isNotNull())


def fate(plan: Plan) -> dict[str, Column]:
    """Return the columns of `planted` as functions of `i` and `c`."""
    pair = (F.col("i"), F.col("c"))
    draw = chance(plan.seed, "fate", *pair)
    versions = F.ceil(F.lit(plan.days) / version_days(plan)).cast("int")
    since = 1 + whole(chance(plan.seed, "since", *pair), F.greatest(versions - 1, F.lit(1)))
    mended = chance(plan.seed, "mended", *pair) < 0.5
    lasting = 1 + whole(chance(plan.seed, "lasting", *pair), 3)
    first, second = plan.broken, plan.broken + plan.regressing
    kind = (
        F.when(draw < first, "broken")
        .when((draw < second) & (versions > 1), "regression")
        .when((draw >= second) & (draw < second + plan.flaky), "flaky")
    )
    odds = F.element_at(F.array(*map(F.lit, (0.5, 0.8, 0.95))), whole(chance(plan.seed, "odds", *pair), 3) + 1)
    return {
        "fate": kind,
        "since": F.when(kind == "regression", since),
        "until": F.when((kind == "regression") & mended, since + lasting),
        "odds": F.when(kind == "flaky", odds),
    }


def made_up_runs(session: SparkSession, plan: Plan) -> DataFrame:
    """Return one row a run: few implementations have most runs, a fifth of the runs tests the version before."""
    base = session.range(plan.runs).select(F.col("id").alias("r"))
    skewed = F.pow(chance(plan.seed, "who", F.col("r")), F.lit(1.6))
    day = whole(chance(plan.seed, "day", F.col("r")), plan.days)
    drawn = base.withColumns({"i": whole(skewed, plan.implementations), "day_number": day})
    current = F.floor(F.col("day_number") / version_days(plan)).cast("int")
    older = (chance(plan.seed, "older", F.col("r")) < 0.2) & (current > 0)
    protocol = F.element_at(F.array(*map(F.lit, PROTOCOLS)), F.col("i") % len(PROTOCOLS) + 1)
    second = whole(chance(plan.seed, "second", F.col("r")), 86_400)
    start = F.timestamp_seconds(F.unix_timestamp(F.lit(plan.first_day), "yyyy-MM-dd") + day * 86_400 + second)
    named = drawn.withColumns(
        {
            "v": F.when(older, current - 1).otherwise(current),
            "protocol": protocol,
            "profile": F.lit("1"),
            "variant": F.concat(F.lit("v"), whole(chance(plan.seed, "variant", F.col("r")), plan.variants)),
            "role": F.lit("server"),
            "implementation": F.format_string("maker-%03d", F.col("i")),
            "run_id": F.concat(F.lit("run-"), F.lpad(F.hex(F.xxhash64(F.lit(plan.seed), "r")), 16, "0")),
            "started": start,
        }
    )
    versioned = named.withColumn("implementation_version", F.concat(F.lit("1."), F.col("v"), F.lit(".0")))
    return versioned.withColumns(
        {
            "column_id": column_id(),
            "run_key": run_key(),
            "day": F.to_date("started"),
            "month": F.date_format("started", "yyyy-MM"),
        }
    )


def made_up_records(runs: DataFrame, plan: Plan) -> DataFrame:
    """Runs -> RECORDS and `month`, in the order of the runs."""
    cases = runs.select("*", F.explode(F.sequence(F.lit(0), F.lit(plan.cases - 1))).alias("c")).withColumns(fate(plan))
    lost = (F.col("v") >= F.col("since")) & (F.col("until").isNull() | (F.col("v") < F.col("until")))
    unlucky = chance(plan.seed, "luck", F.col("r"), F.col("c")) >= F.col("odds")
    group = F.col("c") % GROUPS
    lacking = chance(plan.seed, "feature", F.col("i"), group) < plan.unsupported
    accident = chance(plan.seed, "accident", F.col("r"), F.col("c"))
    fails = F.coalesce((F.col("fate") == "broken") | lost | unlucky, F.lit(False))
    one_way = chance(plan.seed, "one way", F.col("i"), F.col("c")) < 0.3
    judged = cases.withColumns(
        {
            "case_verdict": F.when(lacking, "unsupported")
            .when(fails, "fail")
            .when(accident < plan.accidents, "fail")
            .when(accident < 3 * plan.accidents, "harness_error")
            .otherwise("pass"),
            "one_way": one_way,
            "case": F.format_string("C-%d-%03d", group, F.col("c")),
            "title": F.concat(F.lit("what case "), F.col("c"), F.lit(" asks for")),
            "group": F.concat(F.lit("G"), group),
            "level": F.when(F.col("c") % 10 == 9, "MAY").when(F.col("c") % 4 == 3, "SHOULD").otherwise("MUST"),
            "clauses": F.array(F.concat(F.lit("C-"), group, F.lit("-"), F.floor(F.col("c") / 2).cast("string"))),
        }
    )
    plays = judged.withColumn("delivery", F.explode(F.array(*map(F.lit, DELIVERIES))))
    counts = F.col("delivery") == DELIVERIES[1]
    spared = F.col("one_way") & ~counts & (F.col("case_verdict") == "fail")
    identity = F.xxhash64("case", "delivery", "variant")
    drawn = plays.withColumns(
        {
            "verdict": F.when(spared, "pass").otherwise(F.col("case_verdict")),
            "case_rank": rank("case_verdict"),
            "counts": counts,
            "record_id": F.lower(F.substring(F.lpad(F.hex(identity), 16, "0"), 1, 12)),
            "duration_us": (200 + chance(plan.seed, "time", F.col("r"), F.col("c")) * 5_000).cast("long"),
        }
    )
    return with_evidence(drawn).select(*RECORDS.fieldNames(), "month")


def with_evidence(drawn: DataFrame) -> DataFrame:
    """Add what a failed play has besides its verdict, and the columns that are empty here."""
    failing = F.col("verdict") == "fail"
    return drawn.withColumns(
        {
            "blamed": F.when(failing, F.col("clauses")[0]),
            "guilty": F.when(failing, "target"),
            **dict.fromkeys(("not_required", "observed", "peer", "peer_version"), F.lit(None).cast("string")),
            "step": F.when(failing, F.lit(1).cast("long")),
            "byte": F.when(failing, F.lit(2).cast("long")),
            "evidence_id": F.lit(None).cast("string"),
        }
    )


def runs_of_records(records: DataFrame, runs: DataFrame) -> DataFrame:
    """RECORDS and the runs they are of -> RUNS."""
    scored = F.col("counts") & F.col("case_rank").isin(1, 2, 3, 4, PASS_RANK)
    right = F.col("counts") & (F.col("case_rank") == PASS_RANK)
    counted = records.groupBy("run_key").agg(
        F.count("*").alias("records"),
        F.count_if("counts").alias("cases"),
        *[
            F.count_if((F.col("level") == level) & condition).alias(f"{level.lower()}_{name}")
            for level in ("MUST", "SHOULD")
            for name, condition in (("passed", right), ("scored", scored))
        ],
    )
    whole_runs = runs.join(counted, on="run_key").withColumn("planned", F.col("cases"))
    return whole_runs.withColumn("partial", F.lit(None).cast("string")).select(*RUNS.fieldNames())


def make_lake(lake: Lake, plan: Plan) -> dict[str, int]:
    """Write everything as one batch; return the rows of each table."""
    session, batch = lake.session, new_batch()
    session.conf.set("spark.sql.maxConcurrentOutputFileWriters", "64")
    files = max(1, plan.runs * plan.cases * len(DELIVERIES) // ROWS_A_FILE)
    place = ("protocol", "month", "column_id")
    runs = made_up_runs(session, plan)
    laid = runs.repartition(1) if files == 1 else runs.repartitionByRange(files, *place)
    ordered = laid.sortWithinPartitions(*place, "run_key")
    folder = lake.storage.uri(lake.folder("records", batch))
    made_up_records(ordered, plan).write.partitionBy("protocol", "month").parquet(folder)
    written = session.read.schema(RECORDS).parquet(folder)
    described = runs_of_records(written, runs).coalesce(1)
    described.write.parquet(lake.storage.uri(lake.folder("runs", batch)))
    planted(session, plan).coalesce(1).write.mode("overwrite").parquet(lake.storage.uri("planted"))
    rows = {"runs": plan.runs, "records": plan.runs * plan.cases * len(DELIVERIES)}
    pairs = runs.select("protocol", "month").distinct().collect()
    lake.commit(
        Marker(
            batch=batch,
            number=lake.next_number,
            committed_at=now(),
            rows=rows,
            partitions=sorted([row["protocol"], row["month"]] for row in pairs),
            source="generate",
        )
    )
    return rows
