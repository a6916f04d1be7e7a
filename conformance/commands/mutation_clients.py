"""`wireproof mutation --role client`: every mutant of a reference client against the cases for SDKs."""

from __future__ import annotations

import fnmatch
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from wireproof.conformance.model.wording import number_of
from wireproof.conformance.mutation.client_kills import ClientKill, client_kills
from wireproof.conformance.mutation.client_pool import client_results
from wireproof.conformance.mutation.clients import ClientMutantResult, ClientMutationRun
from wireproof.conformance.mutation.last_kills import read_last_kills, shipped_kills, write_last_kills
from wireproof.mutants.mutant import ClientMutant

__all__ = ["run_clients"]


def run_clients(
    run: ClientMutationRun,
    console: Console,
    *,
    mutants: Sequence[str],
    groups: Sequence[str],
    sample: int,
    details: bool,
    previous: Path | None,
) -> bool:
    """Say whether each mutant is killed for a clause it breaks, and the reference client fails nothing.

    `mutants` are patterns of names, `groups` those of clauses, `sample` takes every Nth; ValueError when none is left.
    With `previous` each case must kill a mutant, too; this file keeps what each killed, for the next time.
    """
    began = time.monotonic()
    chosen = _chosen(run, mutants, groups, sample)
    results: list[ClientMutantResult] = []
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("mutants of the client", total=len(chosen))

        def report(result: ClientMutantResult) -> None:
            results.append(result)
            bar.advance(task)
            _print_result(console, result, details=details)

        alarms = client_results(run, chosen, report)
    for message in alarms:
        console.print(f"false alarm: the reference client fails {message}", markup=False)
    mutants_ran = [one for one in results if not one.mutant.is_legal]
    legal = [one for one in results if one.mutant.is_legal]
    failed = len(alarms) + sum(not one.is_right for one in legal)
    how = f"sampled 1 in {sample}, " if sample > 1 else ""
    beside = f", {number_of(len(legal), 'conforming variant')}" if legal else ""
    console.print(
        f"{run.profile} {run.variant}: {how}{sum(bool(one.killer) for one in mutants_ran)} of {len(mutants_ran)} "
        f"mutants of the client killed, each by a case that blames a clause it breaks{beside}; "
        f"{failed} false alarms; {time.monotonic() - began:.1f} s"
    )
    is_right = all(one.is_right for one in results) and not alarms
    if previous is None:
        return is_right
    return _print_kills(run, console, results, previous, details=details) and is_right


def _print_kills(
    run: ClientMutationRun, console: Console, results: Sequence[ClientMutantResult], previous: Path, *, details: bool
) -> bool:
    """Print which cases kill no mutant, with `details` also what others kill; say whether there is none."""
    began = time.monotonic()
    combination = f"{run.protocol} client"  # of all profiles: most cases kill the same mutant under each
    last = {**shipped_kills(run.protocol, combination), **read_last_kills(previous, combination)}
    found = [ClientKill(one.killer, one.mutant.name) for one in results if one.killer]
    kills = client_kills(run, found, last)
    write_last_kills(previous, combination, {case: str(kill) for case, kill in kills.killed.items()})
    for case, kill in sorted(kills.killed.items()) if details else ():
        console.print(f"{case} kills {kill.mutant}", markup=False)
    for case in kills.idle:
        console.print(f"kills nothing: {case} kills no mutant and gives no reason (no_fault)", markup=False)
    console.print(
        f"{run.profile} {run.variant}: a mutant of the client is killed by {number_of(len(kills.killed), 'case')}, "
        f"none by {len(kills.idle)}; {number_of(kills.plays, 'play')}, {time.monotonic() - began:.1f} s"
    )
    return not kills.idle


def _chosen(run: ClientMutationRun, mutants: Sequence[str], groups: Sequence[str], sample: int) -> list[ClientMutant]:
    clauses = run.suite.clauses
    found = [
        one
        for one in run.mutants
        if (not mutants or any(fnmatch.fnmatch(one.name, pattern) for pattern in mutants))
        and (not groups or any(clauses[clause].group in groups for clause in one.clauses))
    ][:: sample or 1]
    if not found:
        asked = " ".join((*mutants, *groups)) or "all"
        raise ValueError(f"no mutant of a client of {asked} differs in {run.profile} {run.variant}")
    return found


def _print_result(console: Console, result: ClientMutantResult, *, details: bool) -> None:
    mutant = result.mutant
    if mutant.is_legal:
        for one in result.others:
            console.print(f"false alarm: the conforming variant {mutant.name} fails {one[:300]}", markup=False)
    elif not result.killer:
        console.print(f"survives: {mutant.name} ({mutant.description}) [{', '.join(mutant.clauses)}]", markup=False)
        for one in result.others[:3]:
            console.print(f"    blamed elsewhere: {one[:300]}", markup=False)
    elif details:
        console.print(f"{mutant.name}: {result.killer} {result.blamed}, {result.played} played", markup=False)
