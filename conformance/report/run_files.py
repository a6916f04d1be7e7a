"""Reads a run that was written before: its `run.json` and its records, whole again where lines left fields out."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from wireproof.conformance.verdict.records import Record, completed
from wireproof.protocols.json_values import JsonObject

__all__ = ["ReadRun", "RunFileError", "read_run"]

RECORDS = ("records.jsonl", "records.jsonl.gz")
NEEDED = frozenset({"run_id", "record_id", "case", "delivery", "verdict", "level", "clauses", "protocol"})
SHARED = (
    *("run_id", "implementation", "implementation_version", "protocol", "profile", "variant", "role"),
    *("run_started_at", "run_cases", "partial"),
)
"""What the records of a run have in common, for a folder without run.json."""


class RunFileError(ValueError):
    """Raised when there is no run at a path; it names the path and what was expected there."""


@dataclass(frozen=True, slots=True)
class ReadRun:
    """One run, as its folder holds it."""

    path: Path
    """The folder; of a lone file of records the file."""
    summary: JsonObject
    """run.json, or what the records say of their run."""
    records: tuple[Record, ...]
    skipped: int = 0
    """Lines that are no record."""

    @property
    def who(self) -> str:
        """Who was tested, as what."""
        return " ".join(
            str(self.summary[name])
            for name in ("implementation", "implementation_version", "protocol", "profile", "variant")
        )

    @property
    def partial(self) -> tuple[str, ...]:
        """Why the run does not hold all cases."""
        return tuple(self.summary.get("partial") or ())


def read_run(path: Path) -> ReadRun:
    """Return the run in a folder, or in a file of records (.jsonl, .jsonl.gz). Raises `RunFileError`."""
    try:
        file = _records_at(path)
        records, skipped = list[Record](), 0
        with _opened(file) as lines:
            for line in lines:
                record = _record(line)
                if record is None:
                    skipped += 1
                else:
                    records.append(record)
        if not records:
            raise RunFileError(f"no records in {file}: wireproof test PROTOCOL TARGET --out {path} writes some")
        return ReadRun(path, _summary(path, records), tuple(records), skipped)
    except (OSError, EOFError) as error:
        raise RunFileError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None


def _records_at(path: Path) -> Path:
    if not path.is_dir():
        return path
    found = next((path / name for name in RECORDS if (path / name).is_file()), None)
    if found is None:
        raise RunFileError(f"no run in {path}: expected {' or '.join(RECORDS)}, as --out of wireproof test writes")
    return found


def _opened(path: Path) -> TextIO:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8", errors="replace")
    return path.open(encoding="utf-8", errors="replace")


def _record(line: str) -> Record | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return completed(found) if isinstance(found, dict) and found.keys() >= NEEDED else None


def _summary(path: Path, records: list[Record]) -> JsonObject:
    first = records[0]
    known = {name: first.get(name) for name in SHARED}
    known |= {"started_at": first.get("run_started_at"), "partial": list(_partial(first)), "target": ""}
    try:
        written = json.loads((path / "run.json").read_text(encoding="utf-8")) if path.is_dir() else {}
    except (OSError, ValueError):
        written = {}
    return {**known, **written} if isinstance(written, dict) else known


def _partial(record: Record) -> Iterator[str]:
    if record.get("partial"):
        yield str(record["partial"])
