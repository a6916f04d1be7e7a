"""`wireproof self-check --role client`: every known fault of a reference client against the cases for SDKs."""

from __future__ import annotations

import fnmatch
import time
from collections.abc import Sequence

from rich.console import Console
from rich.progress import track

from wireproof.conformance.mutation.clients import ClientCheck, ClientTrial
from wireproof.mutants.mutant import ClientMutant

__all__ = ["check_clients"]


def check_clients(
    check: ClientCheck, console: Console, *, mutants: Sequence[str], groups: Sequence[str], sample: int, details: bool
) -> bool:
    """Say whether each fault is killed for a clause it breaks, and the reference client fails nothing.

    `faults` are patterns of names, `groups` those of clauses, `sample` takes every Nth; ValueError when none is left.
    """
    began = time.monotonic()
    chosen = _chosen(check, mutants, groups, sample)
    alarms = check.alarms()
    for told in alarms:
        console.print(f"false alarm: the reference client fails {told}", markup=False)
    trials = [check.run(one) for one in track(chosen, console=console, transient=True, disable=not console.is_terminal)]
    for trial in trials:
        _tell(console, trial, details=details)
    killed = sum(bool(one.killer) for one in trials)
    how = f"sampled 1 in {sample}, " if sample > 1 else ""
    console.print(
        f"{check.profile} {check.variant}: {how}{killed} of {len(trials)} wrong clients found out, each by a case that "
        f"blames a clause it breaks; {len(alarms)} false alarms; {time.monotonic() - began:.1f} s"
    )
    return killed == len(trials) and not alarms


def _chosen(check: ClientCheck, mutants: Sequence[str], groups: Sequence[str], sample: int) -> list[ClientMutant]:
    clauses = check.suite.clauses
    found = [
        one
        for one in check.mutants
        if (not mutants or any(fnmatch.fnmatch(one.name, pattern) for pattern in mutants))
        and (not groups or any(clauses[clause].group in groups for clause in one.clauses))
    ][:: sample or 1]
    if not found:
        asked = " ".join((*mutants, *groups)) or "all"
        raise ValueError(f"no fault of a client of {asked} shows in {check.profile} {check.variant}")
    return found


def _tell(console: Console, trial: ClientTrial, *, details: bool) -> None:
    mutant = trial.mutant
    if not trial.killer:
        console.print(f"survives: {mutant.name} ({mutant.description}) [{', '.join(mutant.clauses)}]", markup=False)
        for one in trial.others[:3]:
            console.print(f"    blamed elsewhere: {one[:300]}", markup=False)
    elif details:
        console.print(f"{mutant.name}: {trial.killer} {trial.blamed}, {trial.played} played", markup=False)
