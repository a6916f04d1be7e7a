"""The kill matrix: every departure on trial against every case, and what it says of the suite."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from wireproof.conformance.model.verdict import Level
from wireproof.conformance.mutation.mutant_result import Finding
from wireproof.conformance.suite.cases import Case, Suite
from wireproof.mutants.mutant import Mutant

__all__ = ["BLAME_WANTED", "KINDS", "Complaint", "KillMatrix", "Trial"]

BLAME_WANTED = 0.95
"""The part of all kills in which the blamed clause is one that the server breaks."""
KINDS = ("survivor", "false-alarm", "untried", "toothless", "blame")
NOTICED = frozenset({Level.MUST, Level.SHOULD})


class Complaint(NamedTuple):
    """One thing that keeps the suite from being proved."""

    kind: str
    """One of `KINDS`."""
    told: str


@dataclass(frozen=True)
class Trial:
    """One departure and what the cases found; a case not named passed."""

    mutant: Mutant
    findings: Sequence[Finding]
    error: str | None = None
    """Why it could not be tried."""

    @cached_property
    def kills(self) -> list[Finding]:
        """The findings that fail the server."""
        return [one for one in self.findings if one.kills]

    @cached_property
    def misblamed(self) -> list[Finding]:
        """The kills that blame a clause the server keeps."""
        return [one for one in self.kills if one.blamed not in self.mutant.clauses]


@dataclass(frozen=True)
class KillMatrix:
    """All trials under one profile and variant, over the cases that were played."""

    profile: str
    variant: str
    suite: Suite
    cases: Sequence[Case]
    levels: Mapping[str, Level]
    """Case id -> its level."""
    trials: Sequence[Trial]

    @property
    def mutants(self) -> list[Trial]:
        """The trials of servers that are wrong."""
        return [one for one in self.trials if not one.mutant.is_legal]

    @property
    def survivors(self) -> list[Trial]:
        """The wrong servers that no case noticed."""
        return [one for one in self.mutants if not one.kills and one.error is None]

    @property
    def false_alarms(self) -> list[Trial]:
        """The legal servers that a case failed."""
        return [one for one in self.trials if one.mutant.is_legal and one.kills]

    @property
    def untried(self) -> list[Trial]:
        """The departures that could not be tried."""
        return [one for one in self.trials if one.error is not None]

    @cached_property
    def killers(self) -> Mapping[str, list[str]]:
        """Case id -> the faults it killed; cases that killed none are there too."""
        found: dict[str, list[str]] = {case.id: [] for case in self.cases}
        for trial in self.mutants:
            for one in trial.kills:
                found[one.case].append(trial.mutant.name)
        return found

    @property
    def toothless(self) -> list[Case]:
        """The MUST and SHOULD cases that kill nothing, whatever their `foreach` values, and do not say why."""
        killing = {_written_id(case) for case in self.cases if self.killers[case.id]}
        return [
            case
            for case in self.cases
            if _written_id(case) not in killing and not case.no_fault and self.levels[case.id] in NOTICED
        ]

    @property
    def blame(self) -> tuple[int, int]:
        """Kills that blame a broken clause, and all kills."""
        kills = sum(len(one.kills) for one in self.mutants)
        return kills - sum(len(one.misblamed) for one in self.mutants), kills

    def complaints(self, groups: Collection[str] = ()) -> Iterable[Complaint]:
        """Yield what keeps the suite from being proved; of cases, only those of `groups` when given."""
        for trial in self.survivors:
            told = f"{trial.mutant.name} survives: {trial.mutant.description} ({', '.join(trial.mutant.clauses)})"
            yield Complaint("survivor", told)
        for trial in self.false_alarms:
            first = trial.kills[0]
            yield Complaint("false-alarm", f"{trial.mutant.name} is legal and failed by {first.case}: {first.got}")
        for trial in self.untried:
            yield Complaint("untried", f"{trial.mutant.name} could not be tried: {trial.error}")
        for case in self.toothless:
            if not groups or self.suite.clauses[case.clauses[0]].group in groups:
                yield Complaint("toothless", f"{case.id} kills nothing and does not say why (no_fault)")
        right, kills = self.blame
        if kills and right < BLAME_WANTED * kills:
            told = f"only {right} of {kills} kills blame a broken clause; wanted {BLAME_WANTED:.0%}"
            yield Complaint("blame", told)

    def differs_from(self, other: KillMatrix) -> str:
        """Return the name of the first departure whose findings are not the same in `other`; empty when all are."""
        pairs = zip(self.trials, other.trials, strict=False)
        return next((one.mutant.name for one, two in pairs if list(one.findings) != list(two.findings)), "")


def _written_id(case: Case) -> str:
    """Return the id that stands in the case's file: without the values of `foreach`."""
    return case.id.partition(".")[0] if case.variables else case.id
