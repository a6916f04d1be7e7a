"""One mutation run: a suite under one profile and variant against the mutants and conforming variants there.

First in simulation with unsegmented writes. A mutant that no case kills then is run again under every other
segmentation that applies to the cases of its clauses. Those that only a process of their own shows are run over
sockets, when asked for. Why this takes so little: recording.py.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property

from wireproof.conformance.mutation.applicable import applicable
from wireproof.conformance.mutation.kill_matrix import KillMatrix
from wireproof.conformance.mutation.live import run_live
from wireproof.conformance.mutation.mutant_pool import run_mutants
from wireproof.conformance.mutation.mutant_result import CaseFinding, MutantResult
from wireproof.conformance.mutation.recorded_suite import RecordedSuite, ReferenceFailsError
from wireproof.conformance.run import reference_target
from wireproof.conformance.run.plan import Plan, Settings
from wireproof.conformance.run.segmentation_sample import OTHERS, SegmentationChoice
from wireproof.conformance.run.segmentation_sample import chosen as segmented
from wireproof.conformance.run.selection import select
from wireproof.conformance.suite.cases import Case, Suite
from wireproof.conformance.verdict.records import Run, level_of
from wireproof.mutants.mutant import Mutant

__all__ = ["MutationRun", "ReferenceFailsError", "Report"]

Report = Callable[[MutantResult], None]


class MutationRun:
    """A suite under one profile and variant, and what is run against it."""

    def __init__(self, suite: Suite, profile: str, variant: str, jobs: int = 0) -> None:
        """Mutants are run in `jobs` processes; 0 is one a core."""
        self.suite = suite
        self.profile = profile
        self.variant = variant
        self.jobs = jobs

    @cached_property
    def recorded(self) -> RecordedSuite:
        """The cases that the reference server is played in simulation; none is recorded yet."""
        features = reference_target.features(self.suite.protocol)
        return self.recorded_cases(select(self.suite, self.profile, self.variant, heavy=False, features=features))

    def recorded_cases(self, cases: Sequence[Case]) -> RecordedSuite:
        """Return `cases` as a suite of their own under the same profile and variant; none is recorded yet."""
        run = Run(
            protocol=self.suite.protocol,
            profile=self.profile,
            variant=self.variant,
            target="simulation",
            implementation="mutants",
            namespace="mutation",
        )
        return RecordedSuite(Plan(run, self.suite, cases, Settings()))

    def applicable(self, mutants: Iterable[Mutant]) -> list[Mutant]:
        """Return those that differ from the reference server under this profile and variant."""
        return applicable(mutants, self.suite, self.profile, self.variant)

    def kill_matrix(self, chosen: Sequence[Mutant], report: Report | None = None, *, live: bool = False) -> KillMatrix:
        """Run every one of `chosen`; `report` is called with each result. Without `live`, live ones are left out.

        Raises `ReferenceFailsError` when the unmodified reference server does not pass every case.
        """
        simulated = [one for one in chosen if not one.live]
        results = run_mutants(self.recorded, simulated, jobs=self.jobs, report=report)
        results = self._segmented(results)
        for one in chosen if live else ():
            if one.live:
                results.append(run_live(self.suite, self.profile, self.variant, one))
                if report is not None:
                    report(results[-1])
        cases = self._cases(results)
        levels = {case.id: level_of(case, self.suite, self.profile) for case in cases}
        return KillMatrix(self.profile, self.variant, self.suite, cases, levels, results)

    def _cases(self, results: Iterable[MutantResult]) -> list[Case]:
        """Return the cases of the plan, then those that only live mutants were run against and that found something."""
        planned = self.recorded.plan.cases
        more = {one.case for result in results for one in result.findings} - {case.id for case in planned}
        return [*planned, *(case for case in self.suite.cases if case.id in more)]

    def _segmented(self, results: Sequence[MutantResult]) -> list[MutantResult]:
        """Run survivors again, under the other segmentations, against the cases of their clauses."""
        missed = [one.mutant for one in results if not one.kills and one.mutant.clauses and one.error is None]
        broken = {clause for one in missed for clause in one.clauses}
        cases = [case for case in self.recorded.plan.cases if not broken.isdisjoint(case.clauses)]
        others = self.segmented_cases(cases)
        if not others:
            return list(results)
        again = run_mutants(self.recorded_cases(others), missed, jobs=self.jobs)
        found = {one.mutant.name: one for one in again}
        return [
            replace(one, findings=_by_case(found[one.mutant.name].findings)) if one.mutant in missed else one
            for one in results
        ]

    def segmented_cases(self, cases: Iterable[Case]) -> list[Case]:
        """Return `cases` under every other segmentation that applies to them."""
        return segmented(list(cases), SegmentationChoice(OTHERS), self.suite, self.profile)


def _by_case(findings: Iterable[CaseFinding]) -> list[CaseFinding]:
    """Return one finding a case, with the segmentations that show it."""
    found: dict[str, list[CaseFinding]] = defaultdict(list)
    for one in findings:
        if one.kills:
            found[one.case].append(one)
    return [
        replace(some[0], segmentations=tuple(segmentation for one in some for segmentation in one.segmentations))
        for some in found.values()
    ]
