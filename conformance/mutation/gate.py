"""The gate: is every mutant still killed? Each is run until its first kill, last time's killing case first.

Nothing is recorded here. A full matrix replays every recording on every mutant; the gate plays one case on most
mutants, which costs less than recording the suite once. Where the kept case does not kill, or none is kept, the cases
follow by their distance: those that cite the first clause the mutant breaks, those that cite any, the same under the
other segmentations; then those of its clause groups, all others, and last these under the other segmentations.

A conforming variant must pass every case, and there is no first kill to stop at. The gate plays every Nth case on
each, starting at another case for each variant; the full matrix plays all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from wireproof.conformance.mutation.mutation_run import MutationRun
from wireproof.conformance.mutation.recorded_suite import factory_of
from wireproof.conformance.mutation.workers import LOST, side_by_side
from wireproof.conformance.suite.cases import Case
from wireproof.conformance.suite.segmentation import WHOLE
from wireproof.mutants.mutant import Mutant
from wireproof.reference_server.clock import VirtualClock

__all__ = ["GateResult", "play_name", "run_gate", "stride_of"]

FEWEST = 16
"""Of as many cases as there are conforming variants, but at least of so many, one is played on each variant."""


@dataclass(frozen=True, slots=True)
class GateResult:
    """One mutant or conforming variant, and what the gate found."""

    mutant: Mutant
    killer: str
    """The play that killed it, `case|segmentation`; empty for none."""
    played: int
    """How many cases were played on it."""
    error: str = ""
    """Why it could not be run."""

    @property
    def is_wrong(self) -> bool:
        """Whether a mutant survives, a conforming variant is failed, or it could not be run."""
        return bool(self.error) or bool(self.killer) == self.mutant.is_legal


def play_name(case: str, segmentations: Sequence[str] = ()) -> str:
    """Name a play as `GateResult.killer` does."""
    return f"{case}|{segmentations[0] if segmentations else WHOLE.name}"


def run_gate(
    run: MutationRun,
    chosen: Sequence[Mutant],
    last: Mapping[str, str],
    report: Callable[[GateResult], None] | None = None,
) -> list[GateResult]:
    """Run each of `chosen` that simulation shows until its first kill; `last` maps a mutant to its last killer."""
    global _shared
    mutants = [one for one in chosen if not one.live]
    variants = [number for number, one in enumerate(mutants) if one.is_legal]
    _shared = run, mutants, last, {number: place for place, number in enumerate(variants)}
    found: dict[int, GateResult] = {}
    for number, result in side_by_side(_run, range(len(mutants)), run.jobs):
        found[number] = GateResult(mutants[number], *(result or ("", 0, LOST)))
        if report is not None:
            report(found[number])
    return [found[number] for number in sorted(found)]


def stride_of(variants: int) -> int:
    """Return of how many cases one is played on each of so many conforming variants: so each case is, on one of them,
    where there are enough variants.
    """
    return max(FEWEST, variants)


_shared: tuple[MutationRun, Sequence[Mutant], Mapping[str, str], Mapping[int, int]]
"""What the workers are forked with."""


def _run(number: int) -> tuple[str, int, str]:
    run, mutants, last, variants = _shared
    mutant, plan = mutants[number], run.recorded.plan
    if mutant.is_legal:
        cases: Iterator[Case] = iter(plan.cases[variants[number] :: stride_of(len(variants))])
    else:
        cases = _by_distance(run, mutant, last.get(mutant.name, ""))
    factory = factory_of(plan, mutant.name)
    try:
        factory(VirtualClock()).close()  # what cannot be made is not killed
        killer, played = run.recorded.first_kill(cases, factory)
    except Exception as error:
        return "", 0, f"{type(error).__name__}: {error}"
    return killer, played, ""


def _by_distance(run: MutationRun, mutant: Mutant, last: str) -> Iterator[Case]:
    """Yield the cases to play on a mutant: the last killer, then the others by how near they are to what it breaks."""
    cases = run.recorded.plan.cases
    clauses, broken = run.suite.clauses, set(mutant.clauses)
    groups = {clauses[one].group for one in broken}

    def distance(case: Case) -> int:
        if mutant.clauses[0] in case.clauses:
            return 0
        if not broken.isdisjoint(case.clauses):
            return 1
        return 2 if any(clauses[one].group in groups for one in case.clauses) else 3

    name, _, segmentation = last.partition("|")
    kept = [case for case in cases if case.id == name]
    known = [case for case in [*kept, *run.segmented_cases(kept)] if case.segmentation == segmentation]
    yield from known
    ordered = sorted(cases, key=distance)
    citing = sum(distance(case) < 2 for case in ordered)
    for some in (ordered[:citing], ordered[citing:]):
        yield from (case for case in some if case not in known)
        yield from (case for case in run.segmented_cases(some) if case not in known)
