"""Corpora: folders of inputs, one file each, named by its hash; seeded, merged, minimised."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha1
from pathlib import Path

__all__ = ["inputs", "merge", "seed"]


def inputs(folder: Path) -> dict[str, bytes]:
    """Return name -> input of a folder, in the order of their names; raises `OSError`."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


def seed(folder: Path, seeds: Iterable[bytes], most: int) -> int:
    """Add seeds to a folder, evenly chosen when there are more than `most`; return how many are new."""
    everything = list(dict.fromkeys(seeds))
    chosen = everything[:: len(everything) // most + 1] if len(everything) > most else everything
    return merge(folder, chosen)


def merge(folder: Path, data: Iterable[bytes]) -> int:
    """Add inputs that are not there yet; return how many were added."""
    folder.mkdir(parents=True, exist_ok=True)
    added = 0
    for one in data:
        path = folder / sha1(one, usedforsecurity=False).hexdigest()
        if not path.exists():
            path.write_bytes(one)
            added += 1
    return added
