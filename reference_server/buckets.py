"""A bucket of the scheduler: the records that are due in one interval of time."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable, Iterator
from heapq import merge
from operator import attrgetter
from typing import Any, TypeVar

__all__ = ["Bucket", "by_instant", "repack"]

Bucket = dict[Any, None]
"""Records by identity, in the order in which they were added."""

RUN = 8192
"""The most records sorted in one call (about 2 ms); larger buckets are sorted in runs and merged."""

K = TypeVar("K")
V = TypeVar("V")

by_due = attrgetter("due")


def by_instant(bucket: Bucket) -> Generator[int, None, Iterable[Any]]:
    """Return the records by (due, position in the bucket); yield the number of records sorted after each run."""
    items = list(bucket)
    if len(items) <= RUN:
        items.sort(key=by_due)
        return items
    runs = []
    for start in range(0, len(items), RUN):
        run = [item for item in items[start : start + RUN] if item.bucket is bucket]
        run.sort(key=by_due)
        runs.append([(item.due, start, item) for item in reversed(run)])
        yield RUN
    return (item for _, _, item in merge(*map(_emptied, runs)))


def _emptied(run: list[tuple[int, int, Any]]) -> Iterator[tuple[int, int, Any]]:
    """Yield the entries from the end and free each one: to free a million at once would block too long."""
    while run:
        yield run.pop()


def repack(table: dict[K, V]) -> None:
    """Rebuild, in place, a dict that is several times too large: dicts do not shrink when entries are deleted."""
    if sys.getsizeof(table) > 256 * len(table) + 4096:
        kept = list(table.items())
        table.clear()
        table.update(kept)
