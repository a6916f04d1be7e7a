"""The table fault x engine x executions to find: made row by row, told as JSON and as Markdown."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wireproof.fuzz.seeded_bugs.bug_engines import ENGINES, Outcome, Task
from wireproof.fuzz.seeded_bugs.seeded_bug import Planting

__all__ = ["SCHEMA", "Row", "as_json", "as_markdown", "rows"]

SCHEMA = "wireproof.planted-faults/1"


@dataclass(frozen=True)
class Row:
    """One fault, or the control of an engine: nothing planted, nothing to be found."""

    planting: Planting | None
    engine: str
    budget: int
    outcome: Outcome
    seconds: float

    @property
    def is_right(self) -> bool:
        """A fault is found within its budget, in a control nothing is."""
        found = self.outcome.executions is not None
        return found == (self.planting is not None)

    @property
    def mutant(self) -> str:
        """How it is called."""
        return self.planting.mutant if self.planting else "nothing"

    @property
    def result(self) -> str:
        """The executions it took, or that there was nothing."""
        done = self.outcome.executions
        if done is not None:
            return f"{done:,}"
        return f"not within {self.budget:,}" if self.planting else f"nothing in {self.budget:,}"


def rows(name: str, mutants: Sequence[Planting], *, factor: float, seed: int, guided: bool) -> Iterator[Row]:
    """Plant each fault and yield what came of it, then each engine's control within the largest budget it had."""
    most: dict[str, int] = {}
    for one in mutants:
        budget = max(1, round(one.budget * factor))
        most[one.engine] = max(budget, most.get(one.engine, 0))
        yield _row(Task(name, one, budget, seed, guided), one.engine)
    for engine, budget in most.items():
        yield _row(Task(name, None, budget, seed, guided), engine)


def _row(task: Task, engine: str) -> Row:
    began = time.monotonic()
    outcome = ENGINES[engine](task)
    if outcome.executions is not None and outcome.executions > task.runs:
        outcome = Outcome(None, by=outcome.by)
    return Row(task.planting, engine, task.runs, outcome, time.monotonic() - began)


def as_json(found: Iterable[Row], about: Mapping[str, Any]) -> dict[str, Any]:
    """Return the table as JSON values; `about` says what made it."""
    return {
        "schema": SCHEMA,
        **about,
        "rows": [
            {
                "fault": one.mutant,
                "told": one.planting.told if one.planting else "nothing is planted: nothing may be found",
                "part": one.planting.part if one.planting else "control",
                "engine": one.engine,
                "by": one.outcome.by,
                "budget": one.budget,
                "executions": one.outcome.executions,
                "found": one.outcome.told[:200],
                "right": one.is_right,
                "seconds": round(one.seconds, 1),
            }
            for one in found
        ],
    }


def as_markdown(found: Sequence[Row], about: Mapping[str, Any]) -> str:
    """Return the table as a page; `about` says what made it."""
    right = sum(one.is_right for one in found if one.planting)
    mutants = sum(one.planting is not None for one in found)
    lines = [
        "# Planted faults",
        "",
        f"Produced by `{about['command']}`, wireproof {about['version']}, seed {about['seed']}; not edited.",
        "",
        f"{right} of {mutants} faults are found within their budgets of executions, from the default seeds. In rows",
        "of part *control* nothing is planted, and nothing may be found.",
        "",
        "| fault | part | engine | executions to find | budget | what is wrong | what was found |",
        "|---|---|---|---:|---:|---|---|",
    ]
    for one in found:
        told, part = (one.planting.told, one.planting.part) if one.planting else ("", "control")
        by = f"{one.engine} ({one.outcome.by})" if one.outcome.by not in ("", "mutators") else one.engine
        what = _cell(one.outcome.told.partition(": ")[0][:60])
        lines.append(f"| {one.mutant} | {part} | {by} | {one.result} | {one.budget:,} | {_cell(told)} | {what} |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return "".join(one if one.isprintable() else "?" for one in text).replace("|", "\\|")
