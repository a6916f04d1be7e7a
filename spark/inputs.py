"""Finds the record files below some folders, before Spark starts."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote

CHUNK = 1 << 20
RECORDS_FILE, JOURNAL = "records.jsonl", "pending.jsonl"
FINDING_FILE, KILL_MATRIX_FILE = "finding.json", "kill-matrix.json"
DOCUMENT_FILES = (FINDING_FILE, KILL_MATRIX_FILE)
"""Files that are one document each, which a lake takes beside records."""
SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+:")
"""How a URI begins, as opposed to a path."""


def record_files(roots: Iterable[Path]) -> list[Path]:
    """Return every records.jsonl and *.jsonl.gz at any depth, each once, sorted. A root may be such a file.

    Names of *.jsonl.gz that begin with a dot or an underscore are skipped. Raises `FileNotFoundError` if a root does
    not exist.
    """
    found: set[Path] = set()
    for root in roots:
        if not root.exists():
            raise FileNotFoundError(root)
        candidates = [root] if root.is_file() else [path for path in root.rglob("*") if path.is_file()]
        found.update(path.resolve() for path in candidates if path == root or holds_records(path.name))
    return sorted(found)


def document_files(roots: Iterable[Path]) -> list[Path]:
    """Return every file of DOCUMENT_FILES at any depth, each once, sorted. Roots that do not exist have none."""
    roots = list(roots)
    found = {path.resolve() for root in roots if root.is_dir() for name in DOCUMENT_FILES for path in root.rglob(name)}
    return sorted(found | {root.resolve() for root in roots if root.name in DOCUMENT_FILES and root.is_file()})


def holds_records(name: str) -> bool:
    """Return whether a file of this name has records."""
    return name == RECORDS_FILE or (name.endswith(".jsonl.gz") and name[0] not in "._")


def is_incomplete(path: Path) -> bool:
    """Return whether a file holds the records of a run that was cut short: its journal is still beside it."""
    return path.name == RECORDS_FILE and path.with_name(JOURNAL).exists()


def is_damaged(path: Path) -> bool:
    """Return whether a compressed file is truncated or broken; its readable part is counted nevertheless."""
    if path.suffix != ".gz":
        return False
    try:
        with gzip.open(path) as stream:
            while stream.read(CHUNK):
                pass
    except (EOFError, OSError, zlib.error):
        return True
    return False


def path_of(uri: str) -> Path:
    """Return the path of a file URI as Spark reports it, with some characters escaped."""
    return Path(unquote(re.sub("^file:/+", "/", uri)))
