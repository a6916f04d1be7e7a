"""The scheduler's bench: every contender has a row of figures; one that does not fit says so instead of ending all."""

from __future__ import annotations

import io
import sys

import pytest
from rich.console import Console

from tests.bench.bench_scheduler import COLUMNS, CONTENDERS, NotHeld, Row, alone, table_of


def shown(found: dict[str, Row | NotHeld]) -> str:
    console = Console(file=io.StringIO(), width=180)
    console.print(table_of(200, 60, found))
    return str(console.file.getvalue())  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", CONTENDERS)
def test_each_contender_has_every_figure(name: str) -> None:
    row = alone(name, 200, 60)

    assert isinstance(row, Row)
    assert len(row.figures) == len(COLUMNS)
    assert all(figure > 0 for figure in row.figures)
    assert row.expired == 100


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a process is not held to its limit")
def test_one_that_needs_more_memory_than_there_is_reports_how_far_it_came() -> None:
    found = alone("heapq, lazy", 1_000_000, 60, room=64 << 20)

    assert isinstance(found, NotHeld)
    assert "needs more than the 67 MB to spare; had " in found.detail


def test_the_table_has_all_that_were_asked() -> None:
    figures = [float(number) for number in range(1, len(COLUMNS) + 1)]
    twice = [2 * figure for figure in figures]
    detail = shown({"ours": Row(figures, 7), "theirs": Row(twice, 5), "third": NotHeld("needs more")})

    assert "2 (2.0)" in detail
    assert "not held" in detail
    assert "expired: ours 7, theirs 5; third needs more" in detail
