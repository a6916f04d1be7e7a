"""Reads the aggregates of a lake: parts, and patches over them.

`_aggregates/00000007.json` names the folders of the seventh generation. A part is one file: a bucket of columns.
A patch holds all rows of the few keys that new runs touched (a column, for CASE_DAYS a column on
a day); readers take these instead of the rows that the parts have. `refreshing.py` writes both.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import asdict, dataclass, field
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every reader of Spark code knows
from pyspark.sql.types import IntegerType, StringType, StructField, StructType

from wireproof.spark.lake.batches import PARQUET, Lake, LakeError
from wireproof.spark.lake.folding import SCHEMAS, bucketed
from wireproof.spark.lake.storage import NotWrittenError
from wireproof.spark.lake.tables import is_one_of, no_rows

# The problem. A lake has 10^8 lines and gets one run at a time. To fold everything again for each run takes minutes;
# to write into the tables in place shows readers a mixture of old and new rows.
#
# Generations. Files are never changed. A refresh writes new ones, and then a manifest that lists all files of its
# generation. The manifest is written once and under a number that nobody else can take (`write_once`): it is the
# commit. A reader that began with generation 7 keeps reading the files of 7. Of two refreshes at the same time the
# second fails, and is started again.
#
# Parts and patches. A part has all columns of one bucket, so that a page of few columns opens few files. A new run
# touches one column on one day; to rewrite its bucket would cost as much as the bucket has rows. So a refresh writes a
# patch: all rows of the keys that it touched, nothing else. Readers leave out these keys of the parts and take the
# patch's rows; a key is therefore never added up from two places, and a patch may also remove rows.
#
# The price. Each patch is one more file to open. `refreshing.py` folds patches into the parts when there are many. The
# parts then have the bytes that a rebuild from nothing would write, which is how tests check all of this.


MANIFEST_SCHEMA_ID: Final = "wireproof.aggregates/1"
MANIFESTS: Final = "_aggregates"
KEYED_BY: Final = {"case_days": ("column_id", "day"), "case_stats": ("column_id",), "latest": ("column_id",)}

Key = tuple[int] | tuple[int, str]
"""What a patch replaces: (column_id,), of CASE_DAYS (column_id, day)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """A generation of the aggregates. `parts`: table -> bucket -> the generation that wrote it."""

    generation: int
    buckets: int
    folded: list[str]
    parts: dict[str, dict[str, str]]
    patches: dict[str, dict[str, str]] = field(default_factory=dict)
    """Table -> key ("-12" or "-12/2026-01-31") -> the patch that has its rows."""


class Aggregates:
    """The newest generation of a lake's aggregates. Raises `LakeError` when there is none."""

    def __init__(self, lake: Lake) -> None:
        self.lake = lake
        found = newest_manifest(lake)
        if found is None:
            raise LakeError(f"{lake.storage.root} has no aggregates: `wireproof ingest --rebuild` makes them")
        self.manifest = found

    def table(self, name: str) -> DataFrame:
        """Return case_days, case_stats or latest, with `bucket`."""
        return read_table(self.lake, self.manifest, name)


def newest_manifest(lake: Lake) -> Manifest | None:
    """Return the newest generation, None if there is none. Raises `LakeError` for one of another wireproof."""
    names = [one.name for one in lake.storage.entries(MANIFESTS) if one.name.endswith(".json")]
    if not names:
        return None
    found = json.loads(lake.storage.read(f"{MANIFESTS}/{names[-1]}"))
    if found.pop("schema", None) != MANIFEST_SCHEMA_ID:
        raise LakeError(f"{MANIFESTS}/{names[-1]} is of another wireproof, which must be used to read it")
    return Manifest(**found)


def publish(lake: Lake, manifest: Manifest) -> None:
    """Make a generation count. Raises `LakeError` if another job made one meanwhile."""
    text = json.dumps({"schema": MANIFEST_SCHEMA_ID, **asdict(manifest)}, sort_keys=True)
    try:
        lake.storage.write_once(f"{MANIFESTS}/{manifest.generation:08}.json", text + "\n")
    except NotWrittenError as error:
        raise LakeError("another job refreshed the aggregates meanwhile; start it again") from error


def read_table(
    lake: Lake,
    manifest: Manifest,
    table: str,
    *,
    columns: Collection[int] | None = None,
    parts: Collection[str] | None = None,
) -> DataFrame:
    """Return a table of a generation: its parts, and its patches in place of the keys that they have.

    Only rows of `columns`, or of the buckets `parts`, where these are given; other parts are not opened.
    """
    keys = {
        key: patch
        for key, patch in keys_of(manifest, table).items()
        if (columns is None or key[0] in columns) and (parts is None or part_of(manifest, key) in parts)
    }
    frame = _read_parts(lake, manifest, table, columns, parts)
    if columns is not None:
        frame = frame.where(F.col("column_id").isin(*columns))
    if not keys:
        return frame
    names = KEYED_BY[table]
    patches = _read_patches(lake, manifest, table, set(keys.values()))
    mine = patches.where(is_one_of((*names, "patch"), [(*key, patch) for key, patch in keys.items()]))
    return frame.where(~is_one_of(names, list(keys))).unionByName(mine.select(*frame.columns))


def keys_of(manifest: Manifest, table: str) -> dict[Key, str]:
    """Return the keys that patches of a table have, each with the patch that counts."""
    found: dict[Key, str] = {}
    for text, patch in manifest.patches.get(table, {}).items():
        column, _, day = text.partition("/")
        found[(int(column), day) if day else (int(column),)] = patch
    return found


def part_of(manifest: Manifest, key: Key) -> str:
    """Return the part that a key is in."""
    return str(key[0] % manifest.buckets)


def _read_parts(
    lake: Lake, manifest: Manifest, table: str, columns: Collection[int] | None, parts: Collection[str] | None
) -> DataFrame:
    schema = part_schema(table)
    buckets = None if columns is None else {str(column % manifest.buckets) for column in columns}
    paths = [
        lake.storage.uri(part_folder(table, generation, part))
        for part, generation in sorted(manifest.parts.get(table, {}).items())
        if (buckets is None or part in buckets) and (parts is None or part in parts)
    ]
    if not paths:
        return no_rows(lake.session, schema)
    base = lake.storage.uri(f"aggregates/{table}")
    read = lake.session.read.schema(schema).options(**PARQUET, basePath=base)
    return read.parquet(*paths).to(schema)


def _read_patches(lake: Lake, manifest: Manifest, table: str, patches: Collection[str]) -> DataFrame:
    """Return the rows of some patches with `bucket` and `patch`."""
    schema = StructType([*SCHEMAS[table].fields, StructField("patch", StringType())])
    base = lake.storage.uri(f"aggregates/{table}")
    paths = [lake.storage.uri(patch_folder(table, patch)) for patch in sorted(patches)]
    read = lake.session.read.schema(schema).options(**PARQUET, basePath=base).parquet(*paths)
    return bucketed(read, manifest.buckets)


def part_schema(table: str) -> StructType:
    """Return the schema of a table with its bucket."""
    return StructType([*SCHEMAS[table].fields, StructField("bucket", IntegerType())])


def part_folder(table: str, generation: str, part: str) -> str:
    """Return the folder of a part, relative to the lake."""
    return f"aggregates/{table}/generation={generation}/bucket={part}"


def patch_folder(table: str, patch: str) -> str:
    """Return the folder of a patch, relative to the lake."""
    return f"aggregates/{table}/patch={patch}"
