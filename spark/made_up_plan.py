"""What a made-up lake holds: how many runs, implementations and faults."""

from __future__ import annotations

from dataclasses import dataclass

PLAYS_A_CASE = 3
CASES = 330
MOST_IMPLEMENTATIONS, FEWEST_IMPLEMENTATIONS, RUNS_AN_IMPLEMENTATION = 400, 5, 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is made: `runs` runs of `cases` cases, each played PLAYS_A_CASE times, over `days` days."""

    seed: int
    runs: int
    implementations: int
    cases: int = CASES
    days: int = 1200
    first_day: str = "2023-01-01"
    versions: int = 12
    variants: int = 2
    broken: float = 0.02
    regressing: float = 0.01
    flaky: float = 0.005
    unsupported: float = 0.03
    accidents: float = 0.00002
    """Share of (implementation, case) that are planted; of `accidents`: share of plays."""


def plan_for(rows: float, seed: int, implementations: int | None = None) -> Plan:
    """Return what makes about so many records."""
    runs = max(1, round(rows / (CASES * PLAYS_A_CASE)))
    fitting = min(MOST_IMPLEMENTATIONS, max(FEWEST_IMPLEMENTATIONS, runs // RUNS_AN_IMPLEMENTATION))
    return Plan(seed=seed, runs=runs, implementations=implementations or fitting)
