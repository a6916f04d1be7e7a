"""Runs mutants side by side, in as many processes as there are cores."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator

from wireproof.conformance.mutation.mutant_result import CaseFinding, MutantResult
from wireproof.conformance.mutation.recorded_suite import RecordedSuite
from wireproof.conformance.mutation.workers import LOST, side_by_side
from wireproof.mutants.mutant import Mutant

__all__ = ["run_mutants"]

MUTANTS_A_WORKER = 50
"""Mutants that a worker runs before a new one takes its place: what they leave in memory counts against its bound."""

_suite: RecordedSuite
"""What the workers run mutants against; they are forked, so the recordings are shared."""


def run_mutants(
    suite: RecordedSuite,
    mutants: Iterable[Mutant],
    *,
    jobs: int = 0,
    report: Callable[[MutantResult], None] | None = None,
) -> list[MutantResult]:
    """Return the result of each mutant, in their order; `jobs` 0 is one a core."""
    global _suite
    _suite = suite
    assert suite.recordings is not None
    chosen = list(mutants)
    by_name = {one.name: one for one in chosen}
    gc.collect()
    gc.freeze()
    found: dict[str, MutantResult] = {}
    try:
        for result in _results(by_name, jobs):
            found[result.mutant.name] = result
            if report is not None:
                report(result)
    finally:
        gc.unfreeze()
    return [found[one.name] for one in chosen]


def _results(by_name: dict[str, Mutant], jobs: int) -> Iterator[MutantResult]:
    for name, found in side_by_side(_run, by_name, jobs, tasks_a_worker=MUTANTS_A_WORKER):
        findings, error = found or ([], LOST)
        yield MutantResult(by_name[name], findings, error)


def _run(name: str) -> tuple[list[CaseFinding], str | None]:
    try:
        return _suite.findings(name), None
    except Exception as error:
        return [], f"{type(error).__name__}: {error}"
