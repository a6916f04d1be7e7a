"""`wireproof mutation --mutants N`: random edits of the reference server and its codec, and their score."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from rich.console import Console

from wireproof.conformance.mutation.edit_score import EditScore, Explanation, SurvivalReason, explanations, stale
from wireproof.conformance.mutation.fresh_server import all_edits
from wireproof.conformance.mutation.mutation_run import MutationRun
from wireproof.conformance.mutation.random_edits import EditResult, Sample, Status, draw, run_edits
from wireproof.reference_server.registry import server_packages

__all__ = ["ScoredEdits", "score_edits"]


@dataclass(frozen=True)
class ScoredEdits:
    """A sample of edits with what became of them."""

    sample: Sample
    score: EditScore


def score_edits(run: MutationRun, number: int, seed: int, console: Console) -> ScoredEdits:
    """Draw `number` edits and run them; print the survivors, each with its explanation if it has one, and the score."""
    packages, known = server_packages(run.suite.protocol), explanations()
    sample = draw(run.recorded, packages, number, seed, jobs=run.jobs)
    results = run_edits(run.recorded, sample, jobs=run.jobs)
    found = ScoredEdits(sample, EditScore(results, known, run.recorded.plan.run.profile))
    for place in stale(known, all_edits(packages)):
        console.print(f"explained, but there is no such edit: {' | '.join(place)}", markup=False)
    for kind in (*SurvivalReason, None):
        for one in found.score.survivors(kind):
            console.print(_line(one, found.score.explanation(one)), markup=False)
    _sum_up(console, found, seed)
    return found


def _line(one: EditResult, explained: Explanation | None) -> str:
    where = f"{one.edit.file} {one.edit.edit.function or '(module)'}: {one.edit.edit}"
    if explained is None:
        return f"survives, not explained: {where}"
    return f"survives, {explained.kind}: {where} ({explained.reason})"


def _sum_up(console: Console, found: ScoredEdits, seed: int) -> None:
    sample, score = found.sample, found.score
    console.print(
        f"random edits, seed {seed}: {len(sample.edits)} drawn of {sample.reached}; "
        f"{sample.unreached} more are on lines that nothing reaches under this profile and are not drawn"
    )
    counts = Counter(one.status for one in score.results)
    kinds = ", ".join(f"{len(score.survivors(kind))} {kind or 'not explained'}" for kind in (*SurvivalReason, None))
    console.print(f"{', '.join(f'{counts[status]} {status}' for status in Status)}; of the survivors {kinds}")
    console.print(f"score: {score.killed} of {score.counted} edits that are not equivalent, {score.percent:.1f} %")
