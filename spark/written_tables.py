"""The tables of a matrix: written as Parquet and handed on as rows, so that nothing is computed twice."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from wireproof.spark.matrix import Rows

EVIDENCE_PER_CELL = 20


class Tables:
    """Writes frames as the tables of a folder; leaving the block waits for all of them.

    A few rows are kept, and written while others are computed; many are read again from what was written.
    """

    def __init__(self, folder: Path, *, few: bool) -> None:
        self._folder, self._few = folder, few
        self._pool = ThreadPoolExecutor(2)
        self._writing: list[Future[None]] = []

    def __enter__(self) -> Tables:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._pool.shutdown(cancel_futures=kind is not None)
        for one in self._writing if kind is None else ():
            one.result()

    def also(self, frame: DataFrame, name: str) -> DataFrame:
        """Return a frame of kept rows, and write it meanwhile."""
        path = local_uri(self._folder / name)
        self._writing.append(self._pool.submit(frame.write.mode("overwrite").parquet, path))
        return frame

    def written(self, frame: DataFrame, name: str, *but: str) -> DataFrame:
        """Write a frame, but for some columns, and return its rows, so that nothing is computed twice."""
        from wireproof.spark.session import kept

        path = local_uri(self._folder / name)
        if self._few:
            frame = kept(frame.coalesce(1))
            self.also(frame.drop(*but), name)
            return frame
        frame.write.mode("overwrite").parquet(path)
        return frame.sparkSession.read.schema(frame.schema).parquet(path)


def cells_and_evidence(
    latest: DataFrame,
    evidence: DataFrame,
    tables: Tables,
    judged: DataFrame | None = None,
    *,
    paired: bool = True,
) -> dict[str, Rows]:
    """Write the cells of the latest records as Parquet; return these and the evidence as rows, as `Collected` names.

    `judged`: the kept rows of `transforms.judged` of the latest records, if there are any yet. Without `paired` no
    record has a peer, and nothing is asked about pairs.
    """
    from wireproof.spark import transforms as t
    from wireproof.spark.lake.tables import no_rows
    from wireproof.spark.pairs import pairs
    from wireproof.spark.session import kept

    plays = kept(t.judged(latest)) if judged is None else judged
    frames = {
        "clause_cells": (t.clause_cells(plays), "cells_by_clause"),
        "group_cells": (t.group_cells(plays), "cells_by_group"),
        "may_answers": (t.may_answers(latest), "may_answers"),
        "pairs": (pairs(latest), "pairs"),
    }
    if not paired:
        columns = frames.pop("pairs")[0].schema
        tables.also(no_rows(latest.sparkSession, columns).coalesce(1), "pairs")
    with ThreadPoolExecutor(2) as both:  # what takes longest begins first
        found = {"evidence": both.submit(rows_of, evidence)}
        found |= {
            name: both.submit(lambda frame, table: rows_of(tables.written(frame, table)), frame.coalesce(1), table)
            for name, (frame, table) in frames.items()
        }
        return {"pairs": []} | {name: rows.result() for name, rows in found.items()}


def rows_of(frame: DataFrame) -> Rows:
    """Collect a frame as dicts."""
    return [row.asDict(recursive=True) for row in frame.collect()]


def local_uri(path: Path) -> str:
    """Return a path for Spark: absolute, on the local file system, unescaped."""
    return f"file:{path.resolve()}"
