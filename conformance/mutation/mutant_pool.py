"""Tries every departure out, side by side in as many processes as there are cores."""

from __future__ import annotations

import gc
import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator

from wireproof.conformance.mutation.kill_matrix import Trial
from wireproof.conformance.mutation.mutant_result import Ground
from wireproof.mutants.mutant import Mutant

__all__ = ["run_trials"]

_ground: Ground
"""What the workers try departures on; they are forked, so the tapes are shared."""


def run_trials(
    ground: Ground, server_mutants: Iterable[Mutant], *, jobs: int = 0, report: Callable[[Trial], None] | None = None
) -> list[Trial]:
    """Return the trial of each departure, in their order; `jobs` 0 is one a core."""
    global _ground
    _ground = ground
    assert ground.tapes is not None
    chosen = list(server_mutants)
    by_name = {one.name: one for one in chosen}
    gc.collect()
    gc.freeze()
    found: dict[str, Trial] = {}
    try:
        for trial in _tried(by_name, jobs or os.cpu_count() or 1):
            found[trial.mutant.name] = trial
            if report is not None:
                report(trial)
    finally:
        gc.unfreeze()
    return [found[one.name] for one in chosen]


def _tried(by_name: dict[str, Mutant], jobs: int) -> Iterator[Trial]:
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        for name, findings, error in pool.imap_unordered(_try, by_name):
            yield Trial(by_name[name], findings, error)
        pool.close()
        pool.join()


def _try(name: str) -> tuple[str, list, str | None]:  # type: ignore[type-arg]
    try:
        return name, _ground.try_out(name), None
    except Exception as error:
        return name, [], f"{type(error).__name__}: {error}"
