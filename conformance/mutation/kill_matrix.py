"""The kill matrix: every mutant and conforming variant against every case, and what that says of the suite."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from wireproof.conformance.model.verdict import Level
from wireproof.conformance.mutation.mutant_result import MutantResult
from wireproof.conformance.suite.cases import Case, Suite

__all__ = ["BLAME_WANTED", "KINDS", "Complaint", "KillMatrix"]

BLAME_WANTED = 0.95
"""The share of all kills in which the blamed clause must be one that the mutant breaks."""
KINDS = ("survivor", "false-alarm", "not-run", "kills-nothing", "blame")
BINDING = frozenset({Level.MUST, Level.SHOULD})


class Complaint(NamedTuple):
    """One thing that keeps the suite from being proved."""

    kind: str
    """One of `KINDS`."""
    message: str


@dataclass(frozen=True)
class KillMatrix:
    """All results under one profile and variant, over the cases that were played."""

    profile: str
    variant: str
    suite: Suite
    cases: Sequence[Case]
    levels: Mapping[str, Level]
    """Case id -> its level."""
    results: Sequence[MutantResult]

    @property
    def mutants(self) -> list[MutantResult]:
        """The results of servers that break a clause."""
        return [one for one in self.results if not one.mutant.is_legal]

    @property
    def survivors(self) -> list[MutantResult]:
        """The mutants that no case kills."""
        return [one for one in self.mutants if not one.kills and one.error is None]

    @property
    def false_alarms(self) -> list[MutantResult]:
        """The conforming variants that a case fails."""
        return [one for one in self.results if one.mutant.is_legal and one.kills]

    @property
    def not_run(self) -> list[MutantResult]:
        """Those that could not be run."""
        return [one for one in self.results if one.error is not None]

    @cached_property
    def killers(self) -> Mapping[str, list[str]]:
        """Case id -> the mutants it kills; cases that kill none are there too."""
        found: dict[str, list[str]] = {case.id: [] for case in self.cases}
        for result in self.mutants:
            for one in result.kills:
                found[one.case].append(result.mutant.name)
        return found

    @property
    def kills_no_mutant(self) -> list[Case]:
        """The MUST and SHOULD cases that kill no mutant, whatever their `foreach` values, and give no reason.

        Cases of combinations are none of these: only all of them together hold every pair.
        """
        killing = {written_id(case) for case in self.cases if self.killers[case.id]}
        return [
            case
            for case in self.cases
            if written_id(case) not in killing
            and not (case.no_fault or case.modelled)
            and self.levels[case.id] in BINDING
        ]

    @property
    def blame(self) -> tuple[int, int]:
        """Kills that blame a broken clause, and all kills, of the cases that people wrote.

        What the model judges combines several rules; it names the clause by which something is missing or too much.
        """
        modelled = {case.id for case in self.cases if case.modelled}
        kills = sum(one.case not in modelled for result in self.mutants for one in result.kills)
        return kills - sum(one.case not in modelled for result in self.mutants for one in result.misblamed), kills

    def complaints(self, groups: Collection[str] = ()) -> Iterable[Complaint]:
        """Yield what keeps the suite from being proved; of cases, only those of `groups` when given."""
        for result in self.survivors:
            mutant = result.mutant
            message = f"{mutant.name} survives: {mutant.description} ({', '.join(mutant.clauses)})"
            yield Complaint("survivor", message)
        for result in self.false_alarms:
            first = result.kills[0]
            yield Complaint("false-alarm", f"{result.mutant.name} conforms and {first.case} fails it: {first.got}")
        for result in self.not_run:
            yield Complaint("not-run", f"{result.mutant.name} could not be run: {result.error}")
        for case in self.kills_no_mutant:
            if not groups or self.suite.clauses[case.clauses[0]].group in groups:
                yield Complaint("kills-nothing", f"{case.id} kills no mutant and gives no reason (no_fault)")
        right, kills = self.blame
        if kills and right < BLAME_WANTED * kills:
            message = f"only {right} of {kills} kills blame a broken clause; wanted {BLAME_WANTED:.0%}"
            yield Complaint("blame", message)

    def differs_from(self, other: KillMatrix) -> str:
        """Return the name of the first mutant whose findings are not the same in `other`; empty when all are."""
        pairs = zip(self.results, other.results, strict=False)
        return next((one.mutant.name for one, two in pairs if list(one.findings) != list(two.findings)), "")


def written_id(case: Case) -> str:
    """Return the id that stands in the case's file: without the values of `foreach`."""
    return case.id.partition(".")[0] if case.variables else case.id
