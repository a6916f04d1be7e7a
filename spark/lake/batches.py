"""Which batches a lake has: each is a set of folders that counts only once its marker is there.

`_batches/00000012.json` is the marker of the twelfth batch. It is written under another name and renamed, so a killed
job leaves folders that nobody reads, and two jobs that end at the same time cannot both take a number.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import reduce
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from wireproof.spark.lake.storage import NotWrittenError, Storage
from wireproof.spark.lake.tables import (
    EVIDENCE,
    FINDINGS,
    FORMAT,
    KILLS,
    OLDER,
    QUARANTINE,
    RECORDS,
    RUNS,
    is_one_of,
    migrated,
    no_rows,
    stored_schema,
)

MARKER_SCHEMA_ID: Final = "wireproof.batch/1"
MARKERS: Final = "_batches"
PARQUET: Final = {"ignoreCorruptFiles": "false", "mergeSchema": "false"}
"""A lake's own file that is broken is an error; only what arrives may be."""


class LakeError(Exception):
    """Raised when a lake cannot be used as asked; the message says what to change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """What a batch holds. `replaces` names batches that count no more."""

    batch: str
    number: int
    committed_at: str
    format: int = FORMAT
    rows: dict[str, int] = field(default_factory=dict)
    partitions: list[list[str]] = field(default_factory=list)
    """[protocol, month] of its records."""
    replaces: list[str] = field(default_factory=list)
    superseded: list[list[str | int]] = field(default_factory=list)
    """[batch, run_key] of each run that this batch holds again, and of which an earlier batch has only a part."""
    touched: list[list[int | str]] | None = None
    """[column_id, protocol, day] of its runs; None: they are many, ask its table `runs`."""
    source: str = "ingest"


class Lake:
    """A lake as it was when this object was made: what is committed later is not seen. Raises `LakeError`."""

    def __init__(self, session: SparkSession, uri: str, *, create: bool = False) -> None:
        self.session = session
        self.storage = Storage(session, uri)
        if not self.storage.exists(MARKERS):
            if not create:
                raise LakeError(f"{self.storage.root} is no lake: it has no {MARKERS}; `wireproof ingest` makes one")
            self.storage.make(MARKERS)
        self.markers = self._read_markers()
        replaced = {batch for marker in self.markers for batch in marker.replaces}
        self.active = [marker for marker in self.markers if marker.batch not in replaced]
        self.whole = self.active

    @classmethod
    def of(cls, lake: Lake, batches: Sequence[Marker]) -> Lake:
        """Return a view of some batches of a lake; runs of which any batch of the whole lake has more are left out."""
        view = cls(lake.session, lake.storage.root)
        view.markers, view.active, view.whole = lake.markers, list(batches), lake.active
        return view

    def _read_markers(self) -> list[Marker]:
        names = [entry.name for entry in self.storage.entries(MARKERS) if entry.name.endswith(".json")]
        markers = [_parsed(name, self.storage.read(f"{MARKERS}/{name}")) for name in names]
        newer = {marker.format for marker in markers if marker.format != FORMAT and marker.format not in OLDER}
        if newer:
            raise LakeError(f"{self.storage.root} has batches of format {max(newer)}; this wireproof reads {FORMAT}")
        return markers

    @property
    def next_number(self) -> int:
        """Return the number that the next batch takes."""
        return max((marker.number for marker in self.markers), default=0) + 1

    def commit(self, marker: Marker) -> None:
        """Make a batch count. Raises `LakeError` if another one was committed since this lake was opened."""
        text = json.dumps({"schema": MARKER_SCHEMA_ID, **asdict(marker)}, indent=1)
        try:
            self.storage.write_once(f"{MARKERS}/{marker.number:08}.json", text + "\n")
        except NotWrittenError as error:
            raise LakeError(
                "another job committed a batch meanwhile; nothing of this one counts: start it again"
            ) from error

    def folder(self, table: str, batch: str, *partition: str) -> str:
        """Return the folder of a batch in a table, or that of a partition (protocol, month), relative to the lake."""
        names = zip(("protocol", "month"), partition, strict=False)
        return "/".join([table, f"batch={batch}", *(f"{name}={escaped(value)}" for name, value in names)])

    def runs(self, batches: Iterable[Marker] | None = None) -> DataFrame:
        """Return RUNS and `batch` of the batches (default: all that count), without superseded runs."""
        chosen = [one for one in (self.active if batches is None else batches) if one.rows.get("runs")]
        paths = [self.storage.uri(self.folder("runs", one.batch)) for one in chosen]
        return self._current(self._parquet(paths, RUNS, "runs"), chosen)

    def quarantine(self) -> DataFrame:
        """Return every line that was refused."""
        return self.documents("quarantine", QUARANTINE)

    def findings(self) -> DataFrame:
        """Return FINDINGS of fuzzing."""
        return self.documents("findings", FINDINGS)

    def kills(self) -> DataFrame:
        """Return KILLS of all kill matrices."""
        return self.documents("kills", KILLS)

    def documents(self, table: str, columns: StructType) -> DataFrame:
        """Return the rows of a table whose folders of batches are read whole."""
        found = [one for one in self.active if one.rows.get(table)]
        paths = [self.storage.uri(self.folder(table, one.batch)) for one in found]
        return self._parquet(paths, columns, table).drop("batch")

    def records(
        self,
        protocols: Collection[str] | None = None,
        months: Collection[str] | None = None,
        batches: Iterable[Marker] | None = None,
    ) -> DataFrame:
        """Return RECORDS; only folders of the protocols, months ("2026-01") and batches that are named are listed."""
        chosen = self.active if batches is None else list(batches)
        frames = []
        for version in sorted({one.format for one in chosen}):
            of_format = [one for one in chosen if one.format == version]
            paths = self._partitions(of_format, protocols, months)
            read = self._parquet(paths, stored_schema(version), "records")
            frames.append(migrated(self._current(read, of_format), version))
        if not frames:
            return no_rows(self.session, RECORDS)
        return reduce(DataFrame.unionByName, frames)

    def evidence(self, *, with_month: bool = False) -> DataFrame:
        """Return EVIDENCE (and `month`); an id may occur in several batches.

        Folders of batches are read, since a protocol that passed everything in a month has no partition there.
        """
        schema = StructType([*EVIDENCE.fields, *([StructField("month", StringType())] if with_month else [])])
        return self.documents("evidence", schema)

    def _partitions(
        self, markers: Sequence[Marker], protocols: Collection[str] | None, months: Collection[str] | None
    ) -> list[str]:
        return [
            self.storage.uri(self.folder("records", marker.batch, protocol, month))
            for marker in markers
            if marker.rows.get("records")
            for protocol, month in marker.partitions
            if (protocols is None or protocol in protocols) and (months is None or month in months)
        ]

    def _parquet(self, paths: Sequence[str], schema: StructType, table: str) -> DataFrame:
        """Return the rows of some folders of a table, with `batch`; without a listing of any other folder."""
        whole = StructType([*schema.fields, StructField("batch", StringType())])
        if not paths:
            return no_rows(self.session, whole)
        read = self.session.read.schema(whole).options(**PARQUET, basePath=self.storage.uri(table)).parquet(*paths)
        return read.to(whole)

    def _current(self, frame: DataFrame, chosen: Sequence[Marker]) -> DataFrame:
        """Leave out runs of which a later batch has more. They are few: their list is part of the plan."""
        names = {one.batch for one in chosen}
        gone = [(batch, run) for marker in self.whole for batch, run in marker.superseded if batch in names]
        if not gone:
            return frame
        return frame.where(~is_one_of(("batch", "run_key"), gone))


def new_batch() -> str:
    """Return a name for a batch that no other job takes."""
    return uuid.uuid4().hex[:16]


def now() -> str:
    """Return the time as markers have it: RFC 3339, UTC."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def escaped(value: str) -> str:
    """Return a value of a partition as Spark names its folder."""
    unsafe = set("\"#%'*/:=?\\\x7f{[]^")
    return "".join(f"%{ord(one):02X}" if one in unsafe or ord(one) < 0x20 else one for one in value)


def _parsed(name: str, text: str) -> Marker:
    try:
        found = json.loads(text)
        if found.pop("schema") != MARKER_SCHEMA_ID:
            raise ValueError("another schema")
        return Marker(**found)
    except (ValueError, TypeError, KeyError) as error:
        raise LakeError(f"{MARKERS}/{name} is no marker of a batch: {error}") from error
