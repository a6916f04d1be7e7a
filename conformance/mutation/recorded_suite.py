"""The cases of one plan with their recordings: what mutants are run against in simulation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from wireproof.conformance.drivers.simulation import ServiceFactory, Simulation
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.trace import Trace
from wireproof.conformance.model.verdict import Guilty, Level, Verdict
from wireproof.conformance.mutation.mutant_result import RED, CaseFinding
from wireproof.conformance.mutation.play_bounds import CPU_SECONDS, HangError, bounded
from wireproof.conformance.mutation.recording import Recording, play, record
from wireproof.conformance.run import reference_target
from wireproof.conformance.run.plan import Plan
from wireproof.conformance.suite.cases import Case
from wireproof.conformance.suite.segmentation import WHOLE
from wireproof.conformance.verdict.consequences import BY_ITSELF, FailedPlay, explained
from wireproof.conformance.verdict.records import level_of, weigh
from wireproof.protocols.errors import LocalProtocolError
from wireproof.reference_server.clock import VirtualClock
from wireproof.reference_server.service import Service

__all__ = ["RecordedSuite", "ReferenceFailsError", "factory_of"]

CPU_SECONDS_AGAIN = 1.0
"""The same bound for the plays of a mutant that has hung once."""


class ReferenceFailsError(ValueError):
    """Raised when the unmodified reference server does not pass a case: then no kill means anything."""


def factory_of(plan: Plan, mutant: str | None) -> ServiceFactory:
    """Return what makes servers for the run of `plan`: the named mutant, or the unmodified reference server."""
    run = plan.run

    def create(clock: VirtualClock) -> Service:
        return reference_target.service(
            run.protocol, profile=run.profile, variant=run.variant, clock=clock, mutant=mutant
        )

    return create


class RecordedSuite:
    """The cases of one plan; each is recorded once, when it is first needed."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    @cached_property
    def recordings(self) -> Sequence[tuple[Case, Recording]]:
        """Each case and its recording.

        Raises `ReferenceFailsError` with the first case that the unmodified reference server does not pass.
        """
        found = []
        for case in self.plan.cases:
            outcome, recording = record(self.plan.player(case), factory_of(self.plan, None))
            if outcome.verdict is not Verdict.PASS:
                raise ReferenceFailsError(
                    f"the reference server does not pass {case.id}: {outcome.verdict}, {outcome.got}"
                )
            found.append((case, recording))
        return found

    @cached_property
    def levels(self) -> Mapping[str, Level]:
        """Case id -> the level that its verdict is weighed by."""
        return {case.id: level_of(case, self.plan.suite, self.plan.run.profile) for case in self.plan.cases}

    def findings(self, mutant: str) -> list[CaseFinding]:
        """Return what the cases find on the named mutant: those that it does not pass."""
        played = self._played_again(factory_of(self.plan, mutant))
        causes = explained(
            self.plan.suite,
            [
                FailedPlay(_key(case), case, outcome.place, outcome.blamed)
                for case, outcome in played
                if weigh(outcome, self.levels[case.id]) in BY_ITSELF and outcome.place is not None
            ],
        )
        found = []
        for case, outcome in played:
            verdict, got = weigh(outcome, self.levels[case.id]), outcome.got
            if _key(case) in causes:
                verdict, got = Verdict.UNTESTABLE, causes[_key(case)].as_cause(got)
            if verdict is not Verdict.PASS:
                how = () if case.segmentation == WHOLE.name else (case.segmentation,)
                found.append(CaseFinding(case.id, verdict, outcome.blamed, got, how))
        return found

    def _played_again(self, factory: ServiceFactory) -> list[tuple[Case, Outcome]]:
        """Play the cases whose recordings servers of `factory` do not agree with.

        What comes to no end hangs, and what cannot encode its answer crashes.
        """
        touched = factory(VirtualClock()).touched
        played = []
        seconds = CPU_SECONDS
        for case, recording in self.recordings:
            if not recording.may_differ(touched):
                continue
            try:
                with bounded(seconds):
                    if recording.agrees(factory):
                        continue
                    outcome = self._outcome(case, factory)
            except (HangError, MemoryError) as error:
                outcome = _hung(case, error, seconds)
                seconds = CPU_SECONDS_AGAIN
            except LocalProtocolError as error:
                outcome = _ended(Verdict.CRASH, case, str(error))
            played.append((case, outcome))
        return played

    def first_kill(self, cases: Iterable[Case], factory: ServiceFactory) -> tuple[str, int]:
        """Play `cases` against servers of `factory` until one kills; a server that raises or hangs is killed.

        Returns the play that kills, `case|segmentation`, "" for none, and how many were played. Nothing is recorded.
        """
        played = 0
        for case in cases:
            played += 1
            try:
                with bounded():
                    outcome = self._outcome(case, factory)
            except (Exception, HangError):
                return _key(case), played
            if weigh(outcome, self.levels[case.id]) in RED:
                return _key(case), played
        return "", played

    def _outcome(self, case: Case, factory: ServiceFactory) -> Outcome:
        return play(self.plan.player(case), Simulation(factory).perform)


def _hung(case: Case, error: BaseException, seconds: float) -> Outcome:
    """Return the outcome of a play that a bound ended: it blames the first clause of the case."""
    got = f"still busy after {seconds:g} s of processor time" if isinstance(error, HangError) else "no end of memory"
    return _ended(Verdict.HANG, case, got)


def _ended(verdict: Verdict, case: Case, got: str) -> Outcome:
    return Outcome(verdict, Trace(), Guilty.TARGET, case.clauses[0], expected="an answer", got=got)


def _key(case: Case) -> str:
    """Name one play: a case is played once under each segmentation."""
    return f"{case.id}|{case.segmentation}"
