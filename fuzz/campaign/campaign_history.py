"""What campaigns on one corpus reached over time: a file of JSON lines beside the corpus, continued by each run."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from wireproof.fuzz.campaign.board import EngineRow

__all__ = ["FILE", "CampaignHistory", "Point"]

FILE = "history.jsonl"
GAP_S = 1.0
"""Fewest seconds between two points of one engine."""


@dataclass(frozen=True)
class Point:
    """What one engine had reached at one instant."""

    run: int
    """The number of the campaign on this corpus, from 1 on."""
    at: float
    """Seconds of campaigns on this corpus so far."""
    engine: str
    executions: int
    """Of this engine in this run."""
    seconds: float
    """That this engine had run in this campaign."""
    reached: int
    unit: str
    """What `reached` counts: edges, or states where there are none."""
    corpus: int
    findings: int
    """Different findings that are kept, those of earlier runs included."""


class CampaignHistory:
    """The points of earlier runs, and those of this one."""

    def __init__(self, folder: Path, *, findings: int) -> None:
        """Read the file in `folder`, if there is one; lines that hold no point are skipped. Raises `OSError`.

        `findings` are kept already.
        """
        self._path = folder / FILE
        self.points: list[Point] = []
        for line in self._path.read_text(encoding="utf-8").splitlines() if self._path.exists() else ():
            try:
                self.points.append(Point(**json.loads(line)))
            except (ValueError, TypeError):
                continue
        self.run = max((one.run for one in self.points), default=0) + 1
        self.findings = findings
        self._spent = max((one.at for one in self.points), default=0.0)
        self._began = time.monotonic()
        self._latest: dict[str, float] = {}

    def add(self, row: EngineRow, *, is_last: bool = False) -> None:
        """Append what an engine has reached, at most once in `GAP_S` seconds unless it `is_last`. Raises `OSError`."""
        now = time.monotonic()
        if not is_last and now - self._latest.get(row.engine, -GAP_S) < GAP_S:
            return
        self._latest[row.engine] = now
        at = round(self._spent + now - self._began, 1)
        reached, unit = (row.coverage, "edges") if row.coverage else (row.states, "states")
        spent = round(row.seconds, 1)
        point = Point(self.run, at, row.engine, row.executions, spent, reached, unit, row.corpus, self.findings)
        self.points.append(point)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(point)) + "\n")
