"""Takes runs as they arrive, by Structured Streaming: each trigger's files become one batch.

A folder that is followed receives finished runs, moved there whole: Spark reads each file once. Where a job was killed
between batch and checkpoint the files come again, and runs that the lake has are left alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StringType, StructField, StructType

from wireproof.spark.inputs import is_incomplete, path_of
from wireproof.spark.lake.batches import Lake, LakeError
from wireproof.spark.lake.ingest import ingest
from wireproof.spark.lake.ingest_reports import report_ingest, report_refresh
from wireproof.spark.lake.refreshing import refresh
from wireproof.spark.lake.storage import Storage, absolute

FILES_A_TRIGGER = 1_000
LONGEST_BATCH_SECONDS = 600.0
CHECKPOINTS = "_follow"


def follow(
    session: SparkSession,
    uri: str,
    folders: Sequence[str],
    interval: float,
    seconds: float | None,
    say: Callable[[str], None],
) -> None:
    """Take what arrives in one folder until `seconds` have passed (None: until interrupted), each `interval` seconds.

    Raises `LakeError`, and what Spark raises.
    """
    if len(folders) != 1 or not Storage(session, folders[0]).is_folder(""):
        raise LakeError("--follow takes one folder that exists")
    lake = Lake(session, uri, create=True)

    def take_batch(lines: DataFrame, number: int) -> None:
        current = Lake(session, uri)
        done = ingest(current, lines, cut_short_of(lines))
        if done.marker is not None or done.runs:
            report_ingest(done, say)
            report_refresh(refresh(Lake(session, uri)), say)

    session.conf.set("spark.sql.streaming.metricsEnabled", "false")
    text = StructType([StructField("value", StringType())])
    arriving = (
        session.readStream.schema(text)
        .options(recursiveFileLookup="true", pathGlobFilter="*.{jsonl,jsonl.gz}", maxFilesPerTrigger=FILES_A_TRIGGER)
        .text(absolute(folders[0]))
        .select("value", "_metadata.file_path", "_metadata.file_name")
        .withColumnRenamed("file_path", "source")
    )
    records = arriving.where("file_name = 'records.jsonl' or (file_name like '%.jsonl.gz' and file_name not like '.%')")
    query = (
        records.drop("file_name")
        .writeStream.foreachBatch(take_batch)
        .option("checkpointLocation", lake.storage.uri(CHECKPOINTS))
        .trigger(processingTime=f"{interval:g} seconds")
        .start()
    )
    try:
        query.awaitTermination(None if seconds is None else round(seconds))
    except KeyboardInterrupt:
        say("interrupted: the batch under way is finished")
    finally:
        _at_rest(query)
        query.stop()


def _at_rest(query: StreamingQuery) -> None:
    """Wait until no batch is under way; at most LONGEST_BATCH_SECONDS."""
    deadline = time.monotonic() + LONGEST_BATCH_SECONDS
    while query.isActive and query.status["isTriggerActive"] and time.monotonic() < deadline:
        time.sleep(0.1)


def cut_short_of(lines: DataFrame) -> list[str]:
    """Return the paths of local files of LINES whose run was cut short: their journal is beside them."""
    sources = [row["source"] for row in lines.select("source").distinct().collect()]
    local = [path_of(source) for source in sources if source.startswith("file:")]
    return [str(path) for path in local if is_incomplete(path)]
