"""Takes kill matrices into a lake: which case fails which mutant, a row each."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every reader of Spark code knows
from pyspark.sql.types import ArrayType, BooleanType, StringType, StructField, StructType

from wireproof.spark.lake.batches import Lake, now
from wireproof.spark.lake.documents import DocumentTable, TakenDocuments, parsed, reason, take_documents
from wireproof.spark.lake.tables import KILLS

KILL_MATRIX_SCHEMA_ID: Final = "wireproof.kill-matrix/1"
REQUIRED: Final = ("protocol", "profile", "variant", "faults")
TABLE: Final = DocumentTable(
    name="kills", columns=KILLS, row_key=("matrix", "mutant", "case"), document_key=("matrix",)
)
KILL: Final = StructType(
    [*[StructField(name, StringType()) for name in ("case", "verdict", "blamed")], StructField("right", BooleanType())]
)
FAULT: Final = StructType(
    [
        *[StructField(name, StringType()) for name in ("name", "told", "group")],
        StructField("legal", BooleanType()),
        StructField("kills", ArrayType(KILL)),
    ]
)
READ: Final = StructType(
    [
        *[
            StructField(name, StringType())
            for name in ("schema", "wireproof_version", "protocol", "profile", "variant")
        ],
        StructField("faults", ArrayType(FAULT)),
    ]
)
"""What is read of `reports/schema/kill-matrix.schema.json`."""


def take_kill_matrices(lake: Lake, files: DataFrame) -> TakenDocuments:
    """Take `kill-matrix.json` files (`value`: all of one, `source`) into the lake as one batch.

    Raises `LakeError` and what Spark raises.
    """
    return take_documents(lake, classified_kills(files, now()), TABLE)


def classified_kills(files: DataFrame, taken_at: str) -> DataFrame:
    """Parse whole files (`value`, `source`) into KILLS and QUARANTINE; `reason` is null for rows of a kill matrix.

    Conforming variants are left out: they are not there to be killed.
    """
    read = parsed(files, READ).withColumnRenamed("document", "matrix")
    judged = read.withColumns(
        {"taken_at": F.lit(taken_at), "reason": reason(KILL_MATRIX_SCHEMA_ID, REQUIRED, "kill matrix")}
    )
    mutants = F.when(F.col("reason").isNull(), F.filter("faults", lambda one: ~F.coalesce(one["legal"], F.lit(False))))
    each = judged.select("*", F.explode_outer(mutants).alias("fault")).drop("faults", "schema")
    wide = each.select("*", F.explode_outer("fault.kills").alias("kill"))
    return wide.select(
        *[name for name in wide.columns if name not in ("fault", "kill")],
        F.col("fault.name").alias("mutant"),
        F.col("fault.told").alias("told"),
        F.col("fault.group").alias("group"),
        "kill.*",
    )
