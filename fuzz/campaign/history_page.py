"""The page of a campaign: coverage and findings over time, as one HTML file that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wireproof.fuzz.campaign.history import Point
from wireproof.fuzz.findings.finding import FuzzFinding
from wireproof.fuzz.findings.reports import rule_of

__all__ = ["write_page"]

TEMPLATES = Path(__file__).resolve().parents[2] / "reports" / "templates"
WIDTH, HEIGHT, LEFT, BOTTOM = 640, 160, 56, 20
"""Pixels of a chart, and of the margins that hold its numbers."""


@dataclass(frozen=True)
class Chart:
    """One line over time, in pixels of an SVG."""

    title: str
    line: str
    """The points of a polyline."""
    most: int
    seconds: int
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    bottom: int = BOTTOM


@dataclass(frozen=True)
class EngineTotal:
    """What one engine did in all runs."""

    engine: str
    runs: int
    executions: int
    coverage: int
    corpus: int


def chart(title: str, values: Sequence[tuple[float, int]], seconds: float) -> Chart:
    """Return the chart of (seconds, value) pairs, as steps, up to an instant."""
    most = max((value for _, value in values), default=0)

    def place(at: float, value: int) -> str:
        x = LEFT + (WIDTH - LEFT) * at / max(seconds, 1e-9)
        y = (HEIGHT - BOTTOM) * (1 - value / max(most, 1)) + 1
        return f"{x:.1f},{y:.1f}"

    points, before = list[str](), 0
    for at, value in values:
        points += [place(at, before), place(at, value)]
        before = value
    return Chart(title, " ".join([*points, place(seconds, before)]), most, round(seconds))


def totals(points: Sequence[Point]) -> list[EngineTotal]:
    """Return what each engine did; executions are those at the end of each run."""
    found: list[EngineTotal] = []
    for engine in dict.fromkeys(one.engine for one in points):
        own = [one for one in points if one.engine == engine]
        ends = {one.run: one.executions for one in own}
        most = max(one.coverage for one in own)
        found.append(EngineTotal(engine, len(ends), sum(ends.values()), most, own[-1].corpus))
    return found


def write_page(path: Path, name: str, points: Sequence[Point], kept: Sequence[FuzzFinding]) -> None:
    """Write the page of the campaigns on one corpus about the protocol `name`. Raises `OSError`."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    seconds = max((one.at for one in points), default=0.0)
    engines = dict.fromkeys(one.engine for one in points)
    charts = [chart("different findings", [(one.at, one.findings) for one in points], seconds)]
    charts += [
        chart(f"{engine}: coverage", [(one.at, one.coverage) for one in points if one.engine == engine], seconds)
        for engine in engines
    ]
    environment = Environment(loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, autoescape=True)
    text = environment.get_template("campaign.html.j2").render(
        name=name,
        runs=max((one.run for one in points), default=0),
        seconds=round(seconds),
        charts=charts,
        totals=totals(points),
        findings=[(one, rule_of(one)) for one in kept],
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
