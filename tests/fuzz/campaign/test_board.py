"""What a campaign shows of its engines: a table while it runs, a chart and a history of all campaigns."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from wireproof.fuzz.campaign.board import Board
from wireproof.fuzz.campaign.campaign_history import CampaignHistory, Point
from wireproof.fuzz.campaign.history_page import chart, in_own_time, totals


def test_a_board_is_drawn_as_a_table() -> None:
    board = Board.of([("parser", 9), ("server", 0)], lambda board, row: None, 1.0)
    board.rows[0].executions, board.rows[0].coverage = 1234, 56
    console = Console(file=io.StringIO(), width=120)

    console.print(board.table())

    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert all(word in text for word in ("exec/s", "coverage", "states", "1234", "56", "0/9"))


def test_an_engine_that_executed_nothing_says_so() -> None:
    rows = Board.of([("parser", 9), ("store", 9)], lambda board, row: None, 1.0).rows
    rows[0].executions = 1
    for row in rows:
        row.end()

    assert rows[0].line().startswith("parser done: 1 execution,")
    assert rows[1].line().startswith("store done: too little time, nothing executed: 0 executions")


def test_a_chart_counts_the_time_of_its_engine_alone() -> None:
    def point(run: int, at: float, engine: str, seconds: float, reached: int) -> Point:
        return Point(run, at, engine, 10, seconds, reached, "edges", 1, 0)

    points = [point(1, 10, "parser", 4, 5), point(1, 20, "store", 9, 7), point(2, 30, "parser", 1, 3)]
    own = in_own_time([one for one in points if one.engine == "parser"])

    assert own == [(4, 5), (5, 3)]
    assert [(one.engine, one.seconds, one.reached) for one in totals(points)] == [("parser", 5, 5), ("store", 9, 7)]
    drawn = chart("parser", "edges", own)
    assert (drawn.line, drawn.most) == ("0.0,120.0 480.0,120.0 480.0,0.0 600.0,0.0", 5)


def test_lines_of_a_history_that_are_no_points_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "history.jsonl").write_text('{"run": 3}\nnonsense\n', encoding="utf-8")

    history = CampaignHistory(tmp_path, findings=0)
    assert (history.points, history.run) == ([], 1)
