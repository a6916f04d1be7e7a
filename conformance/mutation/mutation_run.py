"""One self-check: a suite under one profile and variant, held against departures from the reference.

First in simulation with whole writes; what no case noticed then, under every other delivery that applies to the cases
of its clauses; what needs a process of its own, over sockets, when asked for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property

from wireproof.conformance.model.verdict import Level
from wireproof.conformance.mutation.applicable import applicable
from wireproof.conformance.mutation.kill_matrix import KillMatrix, Trial
from wireproof.conformance.mutation.live import try_live
from wireproof.conformance.mutation.mutant_pool import run_trials
from wireproof.conformance.mutation.mutant_result import FaultlessError, Finding, Ground
from wireproof.conformance.mutation.random_edits import Tried, sample, try_mutants
from wireproof.conformance.run import reference_target
from wireproof.conformance.run.runner import Plan, Settings
from wireproof.conformance.run.segmentation_sample import OTHERS, Choice
from wireproof.conformance.run.segmentation_sample import chosen as delivered
from wireproof.conformance.run.selection import select
from wireproof.conformance.suite.cases import Case, Suite
from wireproof.conformance.verdict.records import Run, level_of
from wireproof.mutants.mutant import Mutant
from wireproof.reference_server.registry import server_packages

__all__ = ["Check", "FaultlessError"]

Report = Callable[[Trial], None]


class Check:
    """What is checked; the faultless server passes first."""

    def __init__(self, suite: Suite, profile: str, variant: str, jobs: int = 0) -> None:
        self.suite = suite
        self.profile = profile
        self.variant = variant
        self._jobs = jobs

    @cached_property
    def ground(self) -> Ground:
        """The cases and their tapes; `FaultlessError` when the faultless server does not pass them all."""
        mine = reference_target.features(self.suite.protocol)
        return self._ground(select(self.suite, self.profile, self.variant, heavy=False, features=mine))

    def _ground(self, cases: Sequence[Case]) -> Ground:
        run = Run(
            protocol=self.suite.protocol,
            profile=self.profile,
            variant=self.variant,
            target="simulation",
            implementation="impostors",
            namespace="selfcheck",
        )
        return Ground(Plan(run, self.suite, cases, Settings()))

    def applicable(self, server_mutants: Iterable[Mutant]) -> list[Mutant]:
        """Return those that show under this profile and variant."""
        return applicable(server_mutants, self.suite, self.profile, self.variant)

    def run(self, chosen: Sequence[Mutant], report: Report | None = None, *, live: bool = False) -> KillMatrix:
        """Try every one of `chosen`; `report` hears of each trial. Without `live`, those that need it are left out."""
        ground = self.ground
        simulated = [one for one in chosen if not one.live]
        trials = run_trials(ground, simulated, jobs=self._jobs, report=report)
        trials = self._delivered_otherwise(trials)
        for one in chosen if live else ():
            if one.live:
                trials.append(try_live(self.suite, self.profile, self.variant, one))
                if report is not None:
                    report(trials[-1])
        return KillMatrix(self.profile, self.variant, self.suite, self._cases(trials), self._levels(trials), trials)

    def _cases(self, trials: Iterable[Trial]) -> list[Case]:
        """Return the cases of the plan and those, live only, that found something beside."""
        planned = self.ground.plan.cases
        beside = {one.case for trial in trials for one in trial.findings} - {case.id for case in planned}
        return [*planned, *(case for case in self.suite.cases if case.id in beside)]

    def _levels(self, trials: Iterable[Trial]) -> dict[str, Level]:
        return {case.id: level_of(case, self.suite, self.profile) for case in self._cases(trials)}

    def _delivered_otherwise(self, trials: Sequence[Trial]) -> list[Trial]:
        """Try wrong servers that nobody noticed again, under the other deliveries, with the cases of their clauses."""
        missed = [one.mutant for one in trials if not one.kills and one.mutant.clauses and one.error is None]
        broken = {clause for one in missed for clause in one.clauses}
        cases = [case for case in self.ground.plan.cases if not broken.isdisjoint(case.clauses)]
        others = delivered(cases, Choice(OTHERS), self.suite, self.profile)
        if not others:
            return list(trials)
        again = run_trials(self._ground(others), missed, jobs=self._jobs)
        found = {one.mutant.name: one for one in again}
        return [
            replace(one, findings=_by_case(found[one.mutant.name].findings)) if one.mutant in missed else one
            for one in trials
        ]

    def mutants(self, number: int, seed: int) -> list[Tried]:
        """Try `number` automatic mutants of the server's own code and its codec."""
        return try_mutants(self.ground, sample(server_packages(self.suite.protocol), number, seed), jobs=self._jobs)


def _by_case(findings: Iterable[Finding]) -> list[Finding]:
    """Return one finding a case, with the deliveries that show it."""
    found: dict[str, list[Finding]] = defaultdict(list)
    for one in findings:
        if one.kills:
            found[one.case].append(one)
    return [
        replace(some[0], deliveries=tuple(delivery for one in some for delivery in one.deliveries))
        for some in found.values()
    ]
