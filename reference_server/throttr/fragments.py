"""Cuts long answers into fragments (T22 and 4.4): numbered from 1, none if there are no rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

__all__ = ["FRAGMENT_BYTES", "cut"]

FRAGMENT_BYTES = 2048
"""The most that the rows of a fragment may weigh together, in bytes; its header does not count."""

RowT = TypeVar("RowT")


def cut(rows: Iterable[tuple[int, RowT]]) -> Iterator[tuple[int, tuple[RowT, ...]]]:
    """Yield (number, rows) of each fragment from (weight in bytes, row); a heavier row has a fragment of its own."""
    number, total, part = 0, 0, list[RowT]()
    for weight, row in rows:
        total += weight
        if total > FRAGMENT_BYTES and part:
            number += 1
            yield number, tuple(part)
            part, total = [], weight
        part.append(row)
    if part:
        yield number + 1, tuple(part)
