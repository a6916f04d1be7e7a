"""A bucket of the scheduler: records that wait for one stretch of time."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable, Iterator
from heapq import merge
from operator import attrgetter
from typing import Any

__all__ = ["Bucket", "by_instant", "repack"]

Bucket = dict[Any, None]
"""Records by identity, in the order they were filed."""

RUN = 8192
"""Records sorted in one go (about 2 ms); larger buckets are sorted in runs and merged."""

by_due = attrgetter("due")


def by_instant(bucket: Bucket) -> Generator[int, None, Iterable[Any]]:
    """Returns the bucket's records by (due, place in the bucket); yields the records sorted after each run."""
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
    """The run from its end, letting go of each entry: a million freed together would be a step too long."""
    while run:
        yield run.pop()


def repack(table: dict[Any, Any]) -> None:
    """Dicts do not shrink as they empty: rebuild one, in place, that is several times too large for what it holds."""
    if sys.getsizeof(table) > 256 * len(table) + 4096:
        kept = list(table.items())
        table.clear()
        table.update(kept)
