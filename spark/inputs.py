"""Finds the record files below some folders, before Spark starts."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote

CHUNK = 1 << 20


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
        found.update(path.resolve() for path in candidates if path == root or _holds_records(path))
    return sorted(found)


def _holds_records(path: Path) -> bool:
    return path.name == "records.jsonl" or (path.name.endswith(".jsonl.gz") and path.name[0] not in "._")


def is_incomplete(path: Path) -> bool:
    """Return whether a file holds the records of a run that was cut short: its journal is still beside it."""
    return path.name == "records.jsonl" and path.with_name("pending.jsonl").exists()


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
