"""`wireproof mutation --gate`: each mutant until its first kill, with the case that killed it last time first."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from wireproof.conformance.model.wording import number_of
from wireproof.conformance.mutation.gate import GateResult, run_gate, stride_of
from wireproof.conformance.mutation.last_kills import read_last_kills, shipped_kills, write_last_kills
from wireproof.conformance.mutation.mutation_run import MutationRun
from wireproof.mutants.mutant import Mutant

__all__ = ["combination", "gate"]


def combination(run: MutationRun) -> str:
    """Name what a run is under: protocol, profile and variant."""
    return f"{run.suite.protocol} {run.profile} {run.variant}"


def gate(run: MutationRun, chosen: Sequence[Mutant], console: Console, previous: Path) -> bool:
    """Run the gate and print what it found; say whether every mutant is killed and no conforming variant failed."""
    began = time.monotonic()
    shipped = shipped_kills(run.suite.protocol, combination(run))
    last = {**shipped, **read_last_kills(previous, combination(run))}
    results = run_gate(run, chosen, last)
    for one in results:
        if one.is_wrong:
            console.print(_message(one), markup=False)
    wrong = [one for one in results if one.is_wrong]
    mutants = [one for one in results if not one.mutant.is_legal]
    write_last_kills(previous, combination(run), {one.mutant.name: one.killer for one in mutants if one.killer})
    _print_samples(console, run, results, sum(one.live for one in chosen))
    again = [one for one in mutants if one.mutant.name in last]
    first = sum(one.killer == last[one.mutant.name] for one in again)
    more = [one for one in mutants if one.played > 1]
    killed = sum(bool(one.killer) for one in mutants)
    console.print(f"the last killing case is known of {len(again)} mutants and kills {first} of them again")
    needed = number_of(sum(one.played for one in more), "case")
    console.print(f"{number_of(len(more), 'mutant')} needed more than one case, {needed} in all")
    console.print(
        f"gate {run.profile} {run.variant}: {killed} of {len(mutants)} mutants killed, "
        f"{number_of(len(wrong), 'complaint')}; {time.monotonic() - began:.1f} s"
    )
    return not wrong


def _message(one: GateResult) -> str:
    if one.error:
        return f"{one.mutant.name} could not be run: {one.error}"
    if one.mutant.is_legal:
        return f"{one.mutant.name} conforms and {one.killer} fails it"
    return f"{one.mutant.name} survives: {one.mutant.description} ({', '.join(one.mutant.clauses)})"


def _print_samples(console: Console, run: MutationRun, results: Sequence[GateResult], live: int) -> None:
    """Print what the gate leaves out."""
    variants = [one for one in results if one.mutant.is_legal]
    cases = len(run.recorded.plan.cases)
    if variants:
        played = sum(one.played for one in variants)
        console.print(
            f"sampled: {played} of {len(variants) * cases} plays on {number_of(len(variants), 'conforming variant')} "
            f"(one of {stride_of(len(variants))} cases on each); "
            "blame and cases that kill no mutant are left to the full matrix"
        )
    if live:
        console.print(f"left out: {number_of(live, 'mutant')} that only a process of their own shows (--live)")
