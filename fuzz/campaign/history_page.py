"""The page of a campaign: coverage and findings over time, as one HTML file that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wireproof.fuzz.campaign.campaign_history import Point
from wireproof.fuzz.findings.finding import FuzzFinding
from wireproof.fuzz.findings.reports import rule_of

__all__ = ["write_page"]

TEMPLATES = Path(__file__).resolve().parents[2] / "reports" / "templates"
WIDTH, HEIGHT = 600, 120
"""The size of the area of a chart, which is stretched to its place on the page."""


@dataclass(frozen=True)
class Chart:
    """One line over time; the page writes the numbers beside it."""

    title: str
    unit: str
    """What is counted."""
    line: str
    """The points of a polyline."""
    most: int
    seconds: int
    width: int = WIDTH
    height: int = HEIGHT


@dataclass(frozen=True)
class EngineTotal:
    """What one engine did in all runs."""

    engine: str
    runs: int
    seconds: int
    executions: int
    reached: int
    unit: str
    corpus: int


def chart(title: str, unit: str, values: Sequence[tuple[float, int]]) -> Chart:
    """Return the chart of the most that was reached at each instant, as steps, from (seconds, value) pairs."""
    most = max((value for _, value in values), default=0)
    seconds = max((at for at, _ in values), default=0.0)

    def place(at: float, value: int) -> str:
        return f"{WIDTH * at / max(seconds, 1e-9):.1f},{HEIGHT * (1 - value / max(most, 1)):.1f}"

    points, reached = [place(0.0, 0)], 0
    for at, value in values:
        if value > reached:
            points += [place(at, reached), place(at, value)]
            reached = value
    return Chart(title, unit, " ".join([*points, place(seconds, reached)]), most, round(seconds))


def in_own_time(points: Sequence[Point]) -> list[tuple[float, int]]:
    """Return (seconds that the engine had run in all campaigns, what it had reached) of the points of one engine."""
    before: dict[int, float] = {}
    """Campaign -> the seconds of those before it."""
    spent = 0.0
    found: list[tuple[float, int]] = []
    for one in points:
        spent = before.setdefault(one.run, spent) + one.seconds
        found.append((spent, one.reached))
    return found


def totals(points: Sequence[Point]) -> list[EngineTotal]:
    """Return what each engine did; executions are those at the end of each run."""
    found: list[EngineTotal] = []
    for engine in dict.fromkeys(one.engine for one in points):
        own = [one for one in points if one.engine == engine]
        ends = {one.run: one.executions for one in own}
        most = max(own, key=lambda one: one.reached)
        spent = round(in_own_time(own)[-1][0])
        found.append(EngineTotal(engine, len(ends), spent, sum(ends.values()), most.reached, most.unit, own[-1].corpus))
    return found


def write_page(path: Path, name: str, points: Sequence[Point], kept: Sequence[FuzzFinding]) -> None:
    """Write the page of the campaigns on one corpus about the protocol `name`. Raises `OSError`."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    engines = totals(points)
    charts = [
        chart(one.engine, one.unit, in_own_time([point for point in points if point.engine == one.engine]))
        for one in engines
    ]
    if most := max((one.findings for one in points), default=0):
        charts.append(
            chart("all engines", "finding" if most == 1 else "findings", [(one.at, one.findings) for one in points])
        )
    environment = Environment(loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, autoescape=True)
    text = environment.get_template("campaign.html.j2").render(
        name=name,
        runs=max((one.run for one in points), default=0),
        seconds=round(max((one.at for one in points), default=0.0)),
        charts=charts,
        totals=engines,
        findings=[(one, rule_of(one)) for one in kept],
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
