"""What plays under other deliveries are held against: that the case passes whole, before and, in doubt, once more."""

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
"""Failures confirmed under one delivery, after which the next ones are believed."""
FIRST_COMPARISON = 10
DIFFERENT = frozenset({Verdict.FAIL, Verdict.HANG})


class Yardstick:
    """The measure of one run; `budget` is the time for plays that are held against it, in seconds."""

    def __init__(self, budget: float | None) -> None:
        self.passed: set[str] = set()
        """The cases that passed whole."""
        self._left = inf if budget is None else budget
        self._until = inf
        self._confirmed: Counter[str] = Counter()
        self._compared = 0

    def saw(self, case: Case, outcome: Outcome) -> None:
        """Note what is known of a case for good."""
        if outcome.verdict is Verdict.PASS and case.delivery == WHOLE.name:
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

    def doubts(self, case: Case, outcome: Outcome) -> bool:
        """Say whether a failure under another delivery is to be seen again, and the case whole beside it."""
        return (
            case.delivery != WHOLE.name
            and outcome.verdict in DIFFERENT
            and outcome.guilty is not Guilty.HARNESS
            and self._confirmed[case.delivery] < ENOUGH
        )

    def attempt(self) -> int:
        """Return the number of an attempt that no other play of a case has: its keys are its own."""
        self._compared += 1
        return FIRST_COMPARISON + self._compared

    def weighed(self, case: Case, outcome: Outcome, whole: Outcome) -> Outcome:
        """Return what a failure is worth, now that the case was played whole again: nothing, if that failed as well."""
        if whole.verdict is Verdict.PASS:
            self._confirmed[case.delivery] += 1
            return outcome
        got = f"{outcome.got}; whole it does not pass any more either: {whole.got}"
        return replace(outcome, verdict=Verdict.UNTESTABLE, guilty=Guilty.NOBODY, got=got)


def whole(case: Case) -> Case:
    """Return the case as it is played whole."""
    return replace(case, delivery=WHOLE.name, asked_by="")
