"""The table of seeded bugs: engine and executions to find each; as JSON and as Markdown, also while it is measured."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from wireproof.fuzz.seeded_bugs.bug_engines import ENGINES, EngineResult, Task
from wireproof.fuzz.seeded_bugs.seeded_bug import BugEntry

__all__ = ["SCHEMA", "BugRow", "BugTable", "planned", "planned_controls"]

SCHEMA = "wireproof.planted-faults/1"
NOTHING = "nothing"
"""The name of a control run."""


@dataclass(frozen=True)
class BugRow:
    """One bug, or the control run of an engine."""

    bug: BugEntry | None
    engine: str
    budget: int
    outcome: EngineResult
    seconds: float
    seed: int
    day: str
    """The date on which it was measured."""

    @property
    def is_right(self) -> bool:
        """Whether a bug was found within its budget, or a control run found nothing."""
        found = self.outcome.executions is not None
        return found == (self.bug is not None)

    @property
    def mutant(self) -> str:
        """The name of the bug; "nothing" for a control run."""
        return self.bug.mutant if self.bug else NOTHING

    @property
    def result(self) -> str:
        """The number of executions, or that nothing was found."""
        done = self.outcome.executions
        if done is not None:
            return f"{done:,}"
        return f"not within {self.budget:,}" if self.bug else f"nothing in {self.budget:,}"


@dataclass(frozen=True)
class PlannedRun:
    """A run that is to be measured."""

    engine: str
    task: Task

    def __str__(self) -> str:
        return f"{self.engine} {self.task.mutant or NOTHING} (seed {self.task.seed})"

    def measure(self) -> BugRow:
        """Seed the bug, if there is one, and let the engine look for it."""
        task, began = self.task, time.monotonic()
        outcome = ENGINES[self.engine](task)
        if outcome.executions is not None and outcome.executions > task.runs:
            outcome = EngineResult(None, by=outcome.by)
        day = datetime.now(UTC).date().isoformat()
        return BugRow(task.bug, self.engine, task.runs, outcome, time.monotonic() - began, task.seed, day)


def planned(
    name: str, mutants: Sequence[BugEntry], *, factor: float, seeds: Sequence[int], guided: bool
) -> list[PlannedRun]:
    """Return the runs: of each engine those of its bugs, then its control run, under each seed.

    `factor` scales budgets; a control run gets the largest budget of its engine.
    """
    found: list[PlannedRun] = []
    for engine in dict.fromkeys(one.engine for one in mutants):
        mine = [(one, max(1, round(one.budget * factor))) for one in mutants if one.engine == engine]
        most = max(budget for _, budget in mine)
        for seed in seeds:
            found += [PlannedRun(engine, Task(name, one, budget, seed, guided)) for one, budget in mine]
            found.append(PlannedRun(engine, Task(name, None, most, seed, guided)))
    return found


def planned_controls(
    name: str, engines: Sequence[str], mutants: Sequence[BugEntry], *, factor: float, seeds: Sequence[int], guided: bool
) -> list[PlannedRun]:
    """Return the control runs of engines, under each seed: of each the largest of its budgets for `mutants`."""
    most = {one: max((bug.budget for bug in mutants if bug.engine == one), default=0) for one in engines}
    tasks = [
        (one, Task(name, None, max(1, round(most[one] * factor)), seed, guided)) for one in engines for seed in seeds
    ]
    return [PlannedRun(engine, task) for engine, task in tasks]


@dataclass
class BugTable:
    """The rows that are measured so far, of those that are planned; `about` describes the run."""

    runs: Sequence[PlannedRun]
    about: Mapping[str, object]
    rows: list[BugRow] = field(default_factory=list)

    def measure(self) -> Iterator[BugRow]:
        """Measure what is missing; yield each row once the table has it."""
        for run in self.missing:
            self.rows.append(run.measure())
            yield self.rows[-1]

    @property
    def missing(self) -> Sequence[PlannedRun]:
        """The runs that were not measured, or not yet."""
        return self.runs[len(self.rows) :]

    def to_json(self) -> dict[str, object]:
        """Return the table as JSON values."""
        return {
            "schema": SCHEMA,
            **self.about,
            "missing": [str(one) for one in self.missing],
            "rows": [_json_of(one) for one in self.rows],
        }

    def to_markdown(self) -> str:
        """Return the table as a Markdown page, a part for each engine."""
        seeds = list(dict.fromkeys(run.task.seed for run in self.runs))
        lines = [
            "# Seeded bugs",
            "",
            f"Produced by `{self.about['command']}`, wireproof {self.about['version']}, {_named(seeds)}; not edited.",
            "Rows of part *control* have no bug: there nothing may be found.",
        ]
        if self.missing:
            lines += ["", f"**Not complete:** {len(self.missing)} of {len(self.runs)} runs are missing."]
        for engine in dict.fromkeys(run.engine for run in self.runs):
            lines += ["", f"## Engine {engine}", "", *self._part(engine, seeds)]
        return "\n".join(lines) + "\n"

    def _part(self, engine: str, seeds: Sequence[int]) -> Iterator[str]:
        """Yield the lines about one engine, the counts of several seeds in one row."""
        found = [one for one in self.rows if one.engine == engine]
        right, mutants = sum(one.is_right for one in found if one.bug), sum(one.bug is not None for one in found)
        if found:
            days = list(dict.fromkeys(one.day for one in found))
            yield f"Measured on {' and '.join(days)}."
            counted = f"{right} of {mutants} bugs{_each(seeds)}"
            yield f"{counted} are found within their budgets of executions, from the default seeds."
        missing = [str(one).partition(" ")[2] for one in self.missing if one.engine == engine]
        if missing:
            yield f"Not measured: {', '.join(missing)}."
        if not found:
            return
        yield ""
        yield "| bug | part | engine | executions to find | budget | what is wrong | what was found |"
        yield "|---|---|---|---:|---:|---|---|"
        together: dict[str, list[BugRow]] = {}
        for row in found:
            together.setdefault(row.mutant, []).append(row)
        yield from map(_line, together.values())


def _line(some: Sequence[BugRow]) -> str:
    """Return the line of one bug under all seeds."""
    one = next((row for row in some if row.outcome.executions is not None), some[0])
    description, part = (one.bug.description, one.bug.part) if one.bug else ("", "control")
    by = f"{one.engine} ({one.outcome.by})" if one.outcome.by not in ("", "mutators") else one.engine
    what = _cell(one.outcome.detail.partition(": ")[0][:60])
    results = " / ".join(row.result for row in some)
    return f"| {one.mutant} | {part} | {by} | {results} | {one.budget:,} | {_cell(description)} | {what} |"


def _json_of(one: BugRow) -> dict[str, object]:
    return {
        "fault": one.mutant,
        "told": one.bug.description if one.bug else "no bug is seeded: nothing may be found",
        "part": one.bug.part if one.bug else "control",
        "engine": one.engine,
        "by": one.outcome.by,
        "budget": one.budget,
        "seed": one.seed,
        "executions": one.outcome.executions,
        "found": one.outcome.detail[:200],
        "right": one.is_right,
        "seconds": round(one.seconds, 1),
        "day": one.day,
    }


def _named(seeds: Sequence[int]) -> str:
    return f"{'seed' if len(seeds) == 1 else 'seeds'} {', '.join(map(str, seeds))}"


def _each(seeds: Sequence[int]) -> str:
    return f", counted once a seed ({len(seeds)})," if len(seeds) > 1 else ""


def _cell(text: str) -> str:
    return "".join(one if one.isprintable() else "?" for one in text).replace("|", "\\|")
