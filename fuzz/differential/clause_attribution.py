"""Finds the clause of a difference: that of the cases that expect the same field of the same reply."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property

from wireproof.conformance.model.verdict import Level
from wireproof.conformance.suite.case_traits import asked_by, expected
from wireproof.conformance.suite.cases import Case, Suite
from wireproof.conformance.suite.steps import Step
from wireproof.fuzz.differential.comparison import AnswerDifference

__all__ = ["ClauseAttribution"]

ORIGIN = 0.25
"""Weight of a clause that the script's original conversation is about."""


class ClauseAttribution:
    """The clauses of one profile, indexed by what their cases expect."""

    def __init__(self, suite: Suite, profile: str) -> None:
        self._suite = suite
        self._profile = profile
        self._rungs = {group: rung for rung, group in enumerate(suite.ladder)}

    def clause(
        self, found: AnswerDifference, asked: Sequence[str], origin: Collection[str], right: str = ""
    ) -> str | None:
        """Return the clause of a difference; None if no case looks there.

        `asked` are the requests of the smallest script that shows it, in order; `origin` are the clauses of the
        conversation that the script was made from; `right` is the kind of the reference's answer. The requests after
        the first one, which creates a record, are needed to show the difference: of their clause groups the one that
        depends on most others is chosen. Of its clauses the best is the one whose cases expect this field most, other
        fields least, and send the most similar requests.
        """
        if found.clause is not None:
            return found.clause
        if not found.valid and found.request not in self._rungs:
            return next(iter(origin), None)
        needed = [name for name in asked if name != asked[0]]
        group = max((found.request, *needed), key=lambda name: self._rungs.get(name, -1))
        for location in ((group, *_expected_at(found, right)), (group, "", "")):
            if looked := self._looked_at.get(location):
                return max(looked, key=lambda one: self._weight(one, looked, asked, origin)).clause
        return None

    def _weight(
        self, one: _Expectation, looked: Sequence[_Expectation], asked: Sequence[str], origin: Collection[str]
    ) -> float:
        here = sum(other.clause == one.clause for other in looked)
        return one.likeness(asked) + here / max(here, self._looks_of[one.clause]) + ORIGIN * (one.clause in origin)

    @cached_property
    def _looks_of(self) -> Counter[str]:
        """Clause -> number of fields that its cases expect."""
        return Counter(
            expectation.clause for (_, _, field), some in self._looked_at.items() if field for expectation in some
        )

    @cached_property
    def _looked_at(self) -> Mapping[tuple[str, str, str], list[_Expectation]]:
        """(group, reply, field) -> the expectations of cases there."""
        found: dict[tuple[str, str, str], list[_Expectation]] = {}
        for case in self._suite.cases:
            if self._profile in case.profiles:
                for location, expectation in self._expectations(case):
                    found.setdefault(location, []).append(expectation)
        return found

    def _expectations(self, case: Case) -> Iterator[tuple[tuple[str, str, str], _Expectation]]:
        asked: list[str] = []
        for step in case.steps:
            asked += asked_by(step)
            if not isinstance(step, Step):
                continue
            name = step.clause or case.clauses[0]
            clause = self._suite.clauses[name]
            if step.given or clause.levels.get(self._profile) in (None, Level.MAY):
                continue
            expectation = _Expectation(name, tuple(asked))
            yield (clause.group, "", ""), expectation
            for pattern in expected(step):
                reply = pattern.name
                yield (clause.group, reply, ""), expectation
                for field, value in pattern.fields.items():
                    shown = f"{field}={value}" if isinstance(value, bool) else field
                    yield (clause.group, reply, shown), expectation


@dataclass(frozen=True, slots=True)
class _Expectation:
    """One step of a case that expects an answer."""

    clause: str
    asked: tuple[str, ...]
    """The requests sent up to that step."""

    def likeness(self, asked: Sequence[str]) -> float:
        """Return how similar two sequences of requests are, 0 to 1."""
        return SequenceMatcher(None, self.asked, asked, autojunk=False).ratio()


def _expected_at(found: AnswerDifference, right: str) -> tuple[str, str]:
    """Return the reply and the field that a case would expect to see the difference."""
    reply, _, field = found.field.partition(".")
    if not reply:
        reply, _, field = right.partition(" ")
        return reply, field
    return reply, f"{field}={right}" if right in ("True", "False") else field
