"""Takes files that are one document each into a lake: as rows of a table, or in quarantine with a reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every reader of Spark code knows
from pyspark.sql.types import StructType

from wireproof.spark.lake.arriving import LINE_CHARACTERS
from wireproof.spark.lake.batches import Lake, Marker, new_batch, now
from wireproof.spark.lake.ingest import write_table
from wireproof.spark.lake.tables import QUARANTINE
from wireproof.spark.session import kept


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentTable:
    """A table whose rows come from documents: its columns, what tells rows apart, and what tells documents apart."""

    name: str
    columns: StructType
    row_key: Sequence[str]
    document_key: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenDocuments:
    """Numbers of documents that are new, that the lake had, and of files that are none, by reason."""

    new: int = 0
    repeated: int = 0
    refused: dict[str, int]


def parsed(files: DataFrame, schema: StructType) -> DataFrame:
    """Parse whole files (`value`, `source`): the fields of `schema`, what quarantine keeps, and `document`, a hash."""
    read = files.withColumn("found", F.from_json("value", schema))
    return read.select(
        "source",
        F.substring("value", 1, LINE_CHARACTERS).alias("line"),
        F.sha2("value", 256).alias("document"),
        "found.*",
        F.when(F.col("found.schema").isNull(), "corrupt").otherwise("foreign").alias("kind"),
    )


def reason(schema_id: str, required: Sequence[str], what: str) -> Column:
    """Return why a parsed file is no document of a kind, null for one that is; `what` names the kind."""
    missing = F.lit(False)
    for name in required:
        missing = missing | F.col(name).isNull()
    return (
        F.when(F.col("schema").isNull(), f"no {what} in JSON")
        .when(F.col("schema") != schema_id, "another schema id")
        .when(missing, "a field is missing")
    )


def take_documents(lake: Lake, classified: DataFrame, table: DocumentTable) -> TakenDocuments:
    """Take documents into the lake as one batch; rows with `reason` go to quarantine, the others have the columns.

    Raises `LakeError` and what Spark raises.
    """
    read = kept(classified)
    try:
        names = table.columns.fieldNames()
        good = read.where(F.col("reason").isNull()).select(*names).dropDuplicates(list(table.row_key))
        known = lake.documents(table.name, table.columns)
        fresh = kept(good.join(known, on=list(table.document_key), how="left_anti").select(*names))
        bad = read.where(F.col("reason").isNotNull()).select(*QUARANTINE.fieldNames())
        unknown = bad.join(lake.quarantine(), on=["source", "reason", "line"], how="left_anti")
        refused = {row["reason"]: row["count"] for row in bad.groupBy("reason").count().collect()}
        rows = {table.name: fresh.count(), "quarantine": unknown.count() if refused else 0}
        if any(rows.values()):
            _commit(lake, {table.name: fresh, "quarantine": unknown}, rows)
        new, given = (frame.select(*table.document_key).distinct().count() for frame in (fresh, good))
        return TakenDocuments(new=new, repeated=given - new, refused=refused)
    finally:
        read.unpersist()


def _commit(lake: Lake, tables: dict[str, DataFrame], rows: dict[str, int]) -> None:
    batch = new_batch()
    source = next(iter(tables))
    for table, number in rows.items():
        if number:
            write_table(lake, tables[table].coalesce(1), table, batch)
    lake.commit(Marker(batch=batch, number=lake.next_number, committed_at=now(), rows=rows, touched=[], source=source))
