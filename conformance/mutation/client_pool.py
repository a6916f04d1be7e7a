"""Runs mutants of a client side by side: most of what one takes is waiting, so there are more of them than cores."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Sequence
from multiprocessing.pool import Pool

from wireproof.conformance.mutation.clients import ClientMutantResult, ClientMutationRun
from wireproof.conformance.mutation.play_bounds import end_on_sigterm
from wireproof.mutants.mutant import ClientMutant

__all__ = ["client_pool", "client_results"]

JOBS_A_CORE = 3


def client_pool() -> Pool:
    """Return a pool of workers that are forked now, so they know what the caller has set."""
    jobs = JOBS_A_CORE * (os.cpu_count() or 1)
    return multiprocessing.get_context("fork").Pool(jobs, end_on_sigterm)


_run: ClientMutationRun
_by_name: dict[str, ClientMutant]
"""What the workers run; they are forked, since the class of a mutant is made when it is asked for."""


def client_results(
    run: ClientMutationRun, mutants: Sequence[ClientMutant], report: Callable[[ClientMutantResult], None]
) -> list[str]:
    """Report the result of each of `mutants`, in their order; return what the reference client itself does not pass.

    What is raised in a worker is raised here.
    """
    global _run, _by_name
    _run, _by_name = run, {one.name: one for one in mutants}
    with client_pool() as pool:
        alarms = pool.apply_async(run.false_alarms)
        for mutant, found in zip(mutants, pool.imap(_found, _by_name), strict=True):
            report(ClientMutantResult(mutant, *found))
        return alarms.get()


def _found(name: str) -> tuple[str, str, tuple[str, ...], int]:
    result = _run.result(_by_name[name])
    return result.killer, result.blamed, result.others, result.played
