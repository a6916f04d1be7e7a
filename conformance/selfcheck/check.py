"""One self-check: a suite under one profile and variant, held against departures from the reference."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

from conformance.cases import Suite
from conformance.records import Run
from conformance.runner import Plan, Settings
from conformance.selection import select
from conformance.selfcheck.departures import applicable
from conformance.selfcheck.matrix import KillMatrix, Trial
from conformance.selfcheck.mutants import Tried, sample, try_mutants
from conformance.selfcheck.trial import FaultlessError, Ground
from conformance.selfcheck.trials import run_trials
from reference_server.deviation import Deviation
from reference_server.registry import server_packages

__all__ = ["Check", "FaultlessError"]


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
        run = Run(
            protocol=self.suite.protocol,
            profile=self.profile,
            variant=self.variant,
            target="simulation",
            implementation="impostors",
            namespace="selfcheck",
        )
        return Ground(Plan(run, self.suite, select(self.suite, self.profile, self.variant, heavy=False), Settings()))

    def applicable(self, deviations: Iterable[Deviation]) -> list[Deviation]:
        """Return those that show under this profile and variant in simulation."""
        return [one for one in applicable(deviations, self.suite, self.profile, self.variant) if not one.live]

    def run(self, chosen: Sequence[Deviation], report: Callable[[Trial], None] | None = None) -> KillMatrix:
        """Try every one of `chosen`; `report` hears of each trial."""
        ground = self.ground
        trials = run_trials(ground, chosen, jobs=self._jobs, report=report)
        return KillMatrix(self.profile, self.variant, self.suite, ground.plan.cases, ground.levels, trials)

    def mutants(self, number: int, seed: int) -> list[Tried]:
        """Try `number` automatic mutants of the server's own code and its codec."""
        return try_mutants(self.ground, sample(server_packages(self.suite.protocol), number, seed), jobs=self._jobs)
