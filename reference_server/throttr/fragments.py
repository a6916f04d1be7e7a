"""How long answers are cut into fragments (T22 and 4.4): numbered from 1, none when there are no rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

__all__ = ["FRAGMENT_BYTES", "cut"]

FRAGMENT_BYTES = 2048
"""What the rows of one fragment may weigh together; its header is not weighed."""

RowT = TypeVar("RowT")


def cut(rows: Iterable[tuple[int, RowT]]) -> Iterator[tuple[int, tuple[RowT, ...]]]:
    """Yield (number, rows) for rows given with their weights; a row heavier than a fragment stands alone in one."""
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
