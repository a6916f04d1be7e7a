"""Confirmation: a failure under another segmentation counts only if the same case still passes whole.

A target that changed meanwhile fails both ways, and then the segmentation is not to blame. Confirming costs two plays,
so after a few failures that were confirmed under one segmentation the next ones are believed.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from math import inf

from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.verdict import Guilty, Verdict
from wireproof.conformance.suite.cases import Case
from wireproof.conformance.suite.segmentation import WHOLE

ENOUGH = 3
"""Failures confirmed under one segmentation, after which the next ones are believed."""
FIRST_ATTEMPT = 10
"""Below the number of any attempt that confirms; the others of a case are few."""
CONFIRMED = frozenset({Verdict.FAIL, Verdict.HANG})
"""Verdicts that are to be confirmed."""


class Confirmation:
    """What is known in one run; `budget` is the time for plays under other segmentations, in seconds."""

    def __init__(self, budget: float | None) -> None:
        self.passed: set[str] = set()
        """The cases that passed whole."""
        self._left = inf if budget is None else budget
        self._until = inf
        self._confirmed: Counter[str] = Counter()
        self._attempts = 0

    def note(self, case: Case, outcome: Outcome) -> None:
        """Note the final outcome of a case."""
        if outcome.verdict is Verdict.PASS and case.segmentation == WHOLE.name:
            self.passed.add(case.id)

    def begin(self) -> None:
        """Let the time run, if it does not."""
        if self._until == inf:
            self._until = time.monotonic() + self._left

    def end(self) -> None:
        """Stop it, if it runs; what is left is for later."""
        if self._until < inf:
            self._left, self._until = self._until - time.monotonic(), inf

    @property
    def over(self) -> bool:
        """Whether no further play may begin."""
        return time.monotonic() > self._until

    def is_needed(self, case: Case, outcome: Outcome) -> bool:
        """Say whether a failure under another segmentation is to be seen again, and the case whole after it."""
        return (
            case.segmentation != WHOLE.name
            and outcome.verdict in CONFIRMED
            and outcome.guilty is not Guilty.HARNESS
            and self._confirmed[case.segmentation] < ENOUGH
        )

    def attempt(self) -> int:
        """Return the number of an attempt that no other play of a case has: its keys are its own."""
        self._attempts += 1
        return FIRST_ATTEMPT + self._attempts

    def count(self, case: Case, whole: Outcome) -> None:
        """Count a failure as confirmed if the case, played whole again, passes."""
        self._confirmed[case.segmentation] += whole.verdict is Verdict.PASS


def confirmed(outcome: Outcome, whole: Outcome) -> Outcome:
    """Return what a failure is worth, now that the case was played whole again: nothing, if that failed as well."""
    if whole.verdict is Verdict.PASS:
        return outcome
    got = f"{outcome.got}; whole it does not pass any more either: {whole.got}"
    return replace(outcome, verdict=Verdict.UNTESTABLE, guilty=Guilty.NOBODY, got=got)


def whole(case: Case) -> Case:
    """Return the case as it is played whole."""
    return replace(case, segmentation=WHOLE.name, asked_by="")
