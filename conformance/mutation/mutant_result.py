"""One departure from the reference on trial: which cases notice it, and which clause they blame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from wireproof.conformance.drivers.simulation import ServiceFactory, Simulation
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.verdict import Level, Verdict
from wireproof.conformance.mutation.recording import Tape, play, record
from wireproof.conformance.run import reference_target
from wireproof.conformance.run.runner import Plan
from wireproof.conformance.suite.cases import Case
from wireproof.conformance.suite.segmentation import WHOLE
from wireproof.conformance.verdict.consequences import BY_ITSELF, FailedPlay, explained
from wireproof.conformance.verdict.records import level_of, weigh
from wireproof.reference_server.clock import VirtualClock
from wireproof.reference_server.service import Service

__all__ = ["RED", "FaultlessError", "Finding", "Ground", "factory_of"]

RED = frozenset({Verdict.FAIL, Verdict.LENIENT, Verdict.CRASH, Verdict.HANG})


@dataclass(frozen=True, slots=True)
class Finding:
    """A case whose verdict is not that of the faultless server."""

    case: str
    verdict: Verdict
    blamed: str | None
    got: str | None
    deliveries: tuple[str, ...] = ()
    """Those that it shows under, when it is not seen by whole writes."""

    @property
    def kills(self) -> bool:
        """Whether the case fails the server."""
        return self.verdict in RED


def factory_of(plan: Plan, mutant: str | None) -> ServiceFactory:
    """Return what makes servers that depart in the way `fault` names from the reference of the plan's run."""
    run = plan.run

    def create(clock: VirtualClock) -> Service:
        return reference_target.service(
            run.protocol, profile=run.profile, variant=run.variant, clock=clock, mutant=mutant
        )

    return create


class FaultlessError(ValueError):
    """Raised when the faultless server does not pass a case: nothing can be proved then."""


class Ground:
    """The cases of one plan with their tapes: what every departure is held against, in simulation."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    @cached_property
    def tapes(self) -> Sequence[tuple[Case, Tape]]:
        """Each case and its tape; `FaultlessError` names the first that the faultless server does not pass."""
        found = []
        for case in self.plan.cases:
            outcome, tape = record(self.plan.player(case), factory_of(self.plan, None))
            if outcome.verdict is not Verdict.PASS:
                raise FaultlessError(f"the faultless server does not pass {case.id}: {outcome.verdict}, {outcome.got}")
            found.append((case, tape))
        return found

    @cached_property
    def levels(self) -> Mapping[str, Level]:
        """Case id -> the level it is weighed by."""
        return {case.id: level_of(case, self.plan.suite, self.plan.run.profile) for case in self.plan.cases}

    def try_out(self, mutant: str) -> list[Finding]:
        """Return what the cases say of the server that departs in the way `fault` names."""
        factory = factory_of(self.plan, mutant)
        touched = factory(VirtualClock()).touched
        played = [
            (case, self._outcome(case, factory))
            for case, tape in self.tapes
            if tape.may_show(touched) and not self._agrees(tape, factory)
        ]
        causes = explained(
            self.plan.suite,
            [
                FailedPlay(_key(case), case, outcome.place, outcome.blamed)
                for case, outcome in played
                if outcome.verdict in BY_ITSELF and outcome.place is not None
            ],
        )
        found = []
        for case, outcome in played:
            verdict, got = weigh(outcome, self.levels[case.id]), outcome.got
            if _key(case) in causes:
                verdict, got = Verdict.UNTESTABLE, causes[_key(case)].as_cause(got)
            if verdict is not Verdict.PASS:
                how = () if case.delivery == WHOLE.name else (case.delivery,)
                found.append(Finding(case.id, verdict, outcome.blamed, got, how))
        return found

    def _agrees(self, tape: Tape, factory: ServiceFactory) -> bool:
        try:
            return tape.agrees(factory)
        except Exception:
            return False

    def _outcome(self, case: Case, factory: ServiceFactory) -> Outcome:
        return play(self.plan.player(case), Simulation(factory).perform)


def _key(case: Case) -> str:
    """Name one play: a case is played once under each delivery."""
    return f"{case.id}|{case.delivery}"
