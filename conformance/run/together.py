"""Requests that stood in one segment: whether a failure is about them, or about their standing together.

A server that cannot read several requests in one segment fails wherever a case sends several, and each of these cases
is about something else. So a case that failed is played once more with each request in a segment of its own. What
passes so broke the clause about many requests in a segment, and none about any of these requests. What the model of the
document judges is left out, and rows of a table, which change with what others store: these may pass for other reasons.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace

from wireproof.conformance.model.intended import IntendedByConnection
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.verdict import Guilty, Level, Verdict
from wireproof.conformance.player.player import Player
from wireproof.conformance.suite.cases import Case, Suite
from wireproof.conformance.suite.segmentation import APART, SEGMENTATIONS, WHOLE, Segmentation

__all__ = ["PASSES_AGAIN", "TOGETHER", "Together"]

ATTEMPTS = 100
"""From here on these plays of a case are numbered: one that fails twice is played so twice, never on the same keys."""
TOGETHER = "together"
"""What the record of a failure says whose requests are answered rightly one by one."""
PASSES_AGAIN = "passes_again"
"""What the record of a failure says that was seen once, and in no play after it: it explains no other failure."""
ROWS = "rows"
AT_ONCE = replace(APART, gap=0.0)
ENOUGH = 4
"""Cases in a row that failed so, too, after which no more are played so that stop at the same request: it is wrong."""
AGAIN = 4
"""How often a case may be played once more as it says until it fails: threads answer in a wrong order by chance."""
FAILED = (Verdict.FAIL, Verdict.HANG)


class Together:
    """What is known in one run; `make` gives the player of an attempt of a case, sent as it says or otherwise."""

    def __init__(self, suite: Suite, profile: str, make: Callable[[Case, int, Segmentation | None], Player]) -> None:
        self._suite, self._profile, self._make = suite, profile, make
        joined = (one.id for one in suite.clauses.values() if SEGMENTATIONS["joined"].name in one.segmentations)
        self._clause = next((one for one in joined if profile in suite.clauses[one].levels), "")
        self._failed_too: Counter[str] = Counter()
        """Request at whose answer plays stopped -> how many in a row stopped with each request by itself, too."""
        self._played: Counter[str] = Counter()
        """Case -> how many such plays there were."""

    def _another(self, case: Case, sent: Segmentation | None) -> Player:
        self._played[case.id] += 1
        return self._make(case, ATTEMPTS + self._played[case.id], sent)

    def _is_needed(self, case: Case, player: Player, outcome: Outcome) -> bool:
        about = self._suite.clauses.get(outcome.blamed or "")
        if not self._clause or about is None or about.levels.get(self._profile) is not Level.MUST:
            return False
        if case.modelled or case.segmentation != WHOLE.name or (outcome.place and outcome.place.field == ROWS):
            return False
        failed = outcome.verdict in FAILED and outcome.guilty is Guilty.TARGET
        return failed and self._failed_too[_request(outcome)] < ENOUGH and _stood_together(player.talk.intended)

    def _counted(self, outcome: Outcome, apart: Outcome) -> bool:
        """Count a play with each request in a segment of its own; say whether it passed."""
        passes = apart.verdict is Verdict.PASS
        self._failed_too[_request(outcome)] = 0 if passes else self._failed_too[_request(outcome)] + 1
        return passes

    def _of_all(self, outcome: Outcome) -> Outcome:
        return replace(outcome, blamed=self._clause, extra={**outcome.extra, TOGETHER: True})

    def settled(self, case: Case, player: Player, outcome: Outcome, play: Callable[[Player], Outcome]) -> Outcome:
        """Return the outcome of a play, after one more where that is needed, on a target of its own: no time passes."""
        if not self._is_needed(case, player, outcome):
            return outcome
        with suppress(Exception):  # an accident says nothing; the outcome is known
            if self._counted(outcome, play(self._another(case, AT_ONCE))):
                return self._of_all(outcome)
        return outcome

    async def asked(
        self, case: Case, player: Player, outcome: Outcome, play: Callable[[Player], Awaitable[Outcome]]
    ) -> Outcome:
        """The same on a target that others use: only what fails once more with its requests together is about that."""
        if not self._is_needed(case, player, outcome):
            return outcome
        with suppress(Exception):
            passes = self._counted(outcome, await play(self._another(case, APART)))
            for _ in range(AGAIN if passes else 0):
                if (await play(self._another(case, None))).verdict in FAILED:
                    return self._of_all(outcome)
            if passes:
                return replace(outcome, extra={**outcome.extra, PASSES_AGAIN: True})
        return outcome


def _request(outcome: Outcome) -> str:
    return outcome.place.reply_to if outcome.place else ""


def _stood_together(intended: IntendedByConnection) -> bool:
    """Say whether a write had several requests."""
    return any(max(Counter(one.event for one in line.frames).values(), default=0) > 1 for line in intended.values())
