"""Which clause a difference is about: that of the cases which ask for the same field of the same reply."""

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
from wireproof.fuzz.differential.comparison import Difference

__all__ = ["Blame"]

ORIGIN = 0.25
"""What it weighs that the conversation behind a script is about a clause."""


class Blame:
    """The clauses of one profile by what its cases expect."""

    def __init__(self, suite: Suite, profile: str) -> None:
        self._suite = suite
        self._profile = profile
        self._rungs = {group: rung for rung, group in enumerate(suite.ladder)}

    def clause(self, found: Difference, asked: Sequence[str], origin: Collection[str], right: str = "") -> str | None:
        """Return the clause of a difference; `asked` are the requests of the smallest script that shows it, in order.

        `origin` are the clauses of the conversation that the script was made of, `right` is the kind of the answer
        that the reference gives. What such a script asks beside its first request, which makes a record, and the one
        that is answered otherwise is needed to show it: the group that stands highest on the ladder is blamed, of its
        clauses the one whose cases look most at this field and little elsewhere, and ask most like this script.
        """
        if found.clause is not None:
            return found.clause
        if not found.valid and found.request not in self._rungs:
            return next(iter(origin), None)
        needed = [name for name in asked if name != asked[0]]
        group = max((found.request, *needed), key=lambda name: self._rungs.get(name, -1))
        for place in ((group, *_looks(found, right)), (group, "", "")):
            if looked := self._looked_at.get(place):
                return max(looked, key=lambda one: self._weight(one, looked, asked, origin)).clause
        return None

    def _weight(self, one: _Look, looked: Sequence[_Look], asked: Sequence[str], origin: Collection[str]) -> float:
        here = sum(other.clause == one.clause for other in looked)
        return one.likeness(asked) + here / max(here, self._looks_of[one.clause]) + ORIGIN * (one.clause in origin)

    @cached_property
    def _looks_of(self) -> Counter[str]:
        """Clause -> at how many places it is looked for, fields and all."""
        return Counter(look.clause for (_, _, field), some in self._looked_at.items() if field for look in some)

    @cached_property
    def _looked_at(self) -> Mapping[tuple[str, str, str], list[_Look]]:
        """(group, reply, field) -> the places of cases that look there."""
        found: dict[tuple[str, str, str], list[_Look]] = {}
        for case in self._suite.cases:
            if self._profile in case.profiles:
                for place, look in self._places(case):
                    found.setdefault(place, []).append(look)
        return found

    def _places(self, case: Case) -> Iterator[tuple[tuple[str, str, str], _Look]]:
        asked: list[str] = []
        for step in case.steps:
            asked += asked_by(step)
            if not isinstance(step, Step):
                continue
            name = step.clause or case.clauses[0]
            clause = self._suite.clauses[name]
            if step.given or clause.levels.get(self._profile) in (None, Level.MAY):
                continue
            look = _Look(name, tuple(asked))
            yield (clause.group, "", ""), look
            for pattern in expected(step):
                reply = pattern.name
                yield (clause.group, reply, ""), look
                for field, value in pattern.fields.items():
                    shown = f"{field}={value}" if isinstance(value, bool) else field
                    yield (clause.group, reply, shown), look


@dataclass(frozen=True, slots=True)
class _Look:
    """One step of a case that asks for an answer."""

    clause: str
    asked: tuple[str, ...]
    """What was asked up to there."""

    def likeness(self, asked: Sequence[str]) -> float:
        """Return how much of what was asked is the same in the same order, 0 to 1."""
        return SequenceMatcher(None, self.asked, asked, autojunk=False).ratio()


def _looks(found: Difference, right: str) -> tuple[str, str]:
    """Return the reply and the field of it that a case would look at to see the difference."""
    reply, _, field = found.field.partition(".")
    if not reply:
        reply, _, field = right.partition(" ")
        return reply, field
    return reply, f"{field}={right}" if right in ("True", "False") else field
