"""The table of seeded bugs: engine and executions to find each; as JSON and as Markdown."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from wireproof.fuzz.seeded_bugs.bug_engines import ENGINES, EngineResult, Task
from wireproof.fuzz.seeded_bugs.seeded_bug import BugEntry

__all__ = ["SCHEMA", "BugRow", "as_json", "as_markdown", "rows"]

SCHEMA = "wireproof.planted-faults/1"


@dataclass(frozen=True)
class BugRow:
    """One bug, or the control run of an engine."""

    bug: BugEntry | None
    engine: str
    budget: int
    outcome: EngineResult
    seconds: float
    seed: int

    @property
    def is_right(self) -> bool:
        """Whether a bug was found within its budget, or a control run found nothing."""
        found = self.outcome.executions is not None
        return found == (self.bug is not None)

    @property
    def mutant(self) -> str:
        """The name of the bug; "nothing" for a control run."""
        return self.bug.mutant if self.bug else "nothing"

    @property
    def result(self) -> str:
        """The number of executions, or that nothing was found."""
        done = self.outcome.executions
        if done is not None:
            return f"{done:,}"
        return f"not within {self.budget:,}" if self.bug else f"nothing in {self.budget:,}"


def rows(name: str, mutants: Sequence[BugEntry], *, factor: float, seed: int, guided: bool) -> Iterator[BugRow]:
    """Seed each bug and yield its row, then each engine's control run.

    `factor` scales budgets; a control run gets the largest budget of its engine.
    """
    most: dict[str, int] = {}
    for one in mutants:
        budget = max(1, round(one.budget * factor))
        most[one.engine] = max(budget, most.get(one.engine, 0))
        yield _row(Task(name, one, budget, seed, guided), one.engine)
    for engine, budget in most.items():
        yield _row(Task(name, None, budget, seed, guided), engine)


def _row(task: Task, engine: str) -> BugRow:
    began = time.monotonic()
    outcome = ENGINES[engine](task)
    if outcome.executions is not None and outcome.executions > task.runs:
        outcome = EngineResult(None, by=outcome.by)
    return BugRow(task.bug, engine, task.runs, outcome, time.monotonic() - began, task.seed)


def as_json(found: Iterable[BugRow], about: Mapping[str, object]) -> dict[str, object]:
    """Return the table as JSON values; `about` describes the run."""
    return {
        "schema": SCHEMA,
        **about,
        "rows": [
            {
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
            }
            for one in found
        ],
    }


def as_markdown(found: Sequence[BugRow], about: Mapping[str, object]) -> str:
    """Return the table as a Markdown page, the counts of several seeds in one row; `about` describes the run."""
    right = sum(one.is_right for one in found if one.bug)
    mutants = sum(one.bug is not None for one in found)
    seeds = list(dict.fromkeys(one.seed for one in found))
    counted = f"{right} of {mutants} bugs{_each(seeds)}"
    together: dict[tuple[str, str], list[BugRow]] = {}
    for one in found:
        together.setdefault((one.engine, one.mutant), []).append(one)
    lines = [
        "# Seeded bugs",
        "",
        f"Produced by `{about['command']}`, wireproof {about['version']}, {_named(seeds)}; not edited.",
        "",
        f"{counted} are found within their budgets of executions, from the default seeds.",
        "Rows of part *control* have no bug: there nothing may be found.",
        "",
        "| bug | part | engine | executions to find | budget | what is wrong | what was found |",
        "|---|---|---|---:|---:|---|---|",
    ]
    for some in together.values():
        one = next((row for row in some if row.outcome.executions is not None), some[0])
        description, part = (one.bug.description, one.bug.part) if one.bug else ("", "control")
        by = f"{one.engine} ({one.outcome.by})" if one.outcome.by not in ("", "mutators") else one.engine
        what = _cell(one.outcome.detail.partition(": ")[0][:60])
        results = " / ".join(row.result for row in some)
        lines.append(f"| {one.mutant} | {part} | {by} | {results} | {one.budget:,} | {_cell(description)} | {what} |")
    return "\n".join(lines) + "\n"


def _named(seeds: Sequence[int]) -> str:
    return f"{'seed' if len(seeds) == 1 else 'seeds'} {', '.join(map(str, seeds))}"


def _each(seeds: Sequence[int]) -> str:
    return f", counted once a seed ({len(seeds)})," if len(seeds) > 1 else ""


def _cell(text: str) -> str:
    return "".join(one if one.isprintable() else "?" for one in text).replace("|", "\\|")
