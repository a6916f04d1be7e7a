"""Corpora: folders of inputs, one input a file, each file named by the SHA-1 of its content."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha1
from pathlib import Path
from random import Random

__all__ = ["inputs", "keep_only", "merge", "seed"]


def inputs(folder: Path) -> dict[str, bytes]:
    """Return file name -> content of the files in `folder`, sorted by name. Raises `OSError`."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


def seed(folder: Path, seeds: Iterable[bytes], most: int, number: int = 1) -> int:
    """Add at most `most` of `seeds` to a folder, drawn by the seed `number`; return how many were new.

    Raises `OSError`.
    """
    everything = list(dict.fromkeys(seeds))
    chosen = Random(f"seeds {number}").sample(everything, most) if len(everything) > most else everything
    return merge(folder, chosen)


def keep_only(folder: Path, kept: Iterable[bytes]) -> int:
    """Remove the inputs that are none of `kept`; return how many were removed. Raises `OSError`."""
    names = {_name(one) for one in kept}
    others = [path for path in folder.iterdir() if path.is_file() and path.name not in names]
    for path in others:
        path.unlink()
    return len(others)


def _name(data: bytes) -> str:
    return sha1(data, usedforsecurity=False).hexdigest()


def merge(folder: Path, data: Iterable[bytes]) -> int:
    """Write the inputs that `folder` does not hold yet; return how many were written. Raises `OSError`."""
    folder.mkdir(parents=True, exist_ok=True)
    added = 0
    for one in data:
        path = folder / _name(one)
        if not path.exists():
            path.write_bytes(one)
            added += 1
    return added
