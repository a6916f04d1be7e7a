"""Takes findings of fuzzing into a lake: each `finding.json` is a row."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every reader of Spark code knows
from pyspark.sql.types import LongType, StringType, StructField, StructType

from wireproof.spark.lake.batches import Lake
from wireproof.spark.lake.documents import DocumentTable, TakenDocuments, parsed, reason, take_documents
from wireproof.spark.lake.tables import FINDINGS

FINDING_SCHEMA_ID: Final = "wireproof.finding/1"
IDENTITY: Final = ("id", "profile", "variant", "implementation", "found_at")
"""What tells findings apart; `id` alone is the same for the same bug of several implementations."""
REQUIRED: Final = ("id", "engine", "oracle", "shape", "protocol", "profile", "variant", "implementation", "found_at")
TABLE: Final = DocumentTable(name="findings", columns=FINDINGS, row_key=IDENTITY, document_key=IDENTITY)
READ: Final = StructType(
    [
        StructField("schema", StringType()),
        *[field for field in FINDINGS.fields if field.name not in ("seen", "tries")],
        StructField("again", StructType([StructField("seen", LongType()), StructField("of", LongType())])),
    ]
)
"""What is read of `reports/schema/finding.schema.json`; the rest stays in its folder."""


def take_findings(lake: Lake, files: DataFrame) -> TakenDocuments:
    """Take `finding.json` files (`value`: all of one, `source`) into the lake as one batch.

    Raises `LakeError` and what Spark raises.
    """
    return take_documents(lake, classified_findings(files), TABLE)


def classified_findings(files: DataFrame) -> DataFrame:
    """Parse whole files (`value`, `source`) into FINDINGS and QUARANTINE; `reason` is null for a finding."""
    tries = {"seen": F.col("again.seen"), "tries": F.col("again.of")}
    why = reason(FINDING_SCHEMA_ID, REQUIRED, "finding")
    return parsed(files, READ).withColumns({**tries, "reason": why}).drop("again", "schema", "document")
