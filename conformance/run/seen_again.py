"""Failures that let time pass, or wait for an answer in vain: each play of one costs its whole wait.

They may come from the load, so they are played again, at last alone. One fault fails many cases, and each would wait
alone for what the one before waited for. So a case that failed twice in the same way is believed once another case that
broke the same clause in that way failed alone, too: what alone could show was seen by then.
"""

from __future__ import annotations

from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.run.doubts import is_unanswered
from wireproof.conformance.suite.cases import Case

__all__ = ["SeenAgain"]

Way = tuple[str, str, bool]
"""Broken clause, what the play stopped at, whether something was waited for in vain."""


class SeenAgain:
    """What failed in the plays of one run, and how."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, str], tuple[Way, int | None]] = {}
        """Case and segmentation -> how, and in which step, it failed when it was played beside others."""
        self._twice: set[tuple[str, str]] = set()
        """Those that failed so twice in a row."""
        self._alone: set[Way] = set()

    def note(self, case: Case, outcome: Outcome) -> None:
        """Note a play beside others."""
        key, way = (case.id, case.segmentation), _way(outcome)
        found = None if way is None else (way, outcome.step)
        if found is not None and self._last.get(key) == found:
            self._twice.add(key)
        else:
            self._twice.discard(key)
        if found is not None:
            self._last[key] = found

    def note_alone(self, outcome: Outcome) -> None:
        """Note a play that was made once more, alone."""
        way = _way(outcome)
        if way is not None:
            self._alone.add(way)

    def is_believed(self, case: Case, outcome: Outcome) -> bool:
        """Say whether an outcome need not be seen once more."""
        return (case.id, case.segmentation) in self._twice and _way(outcome) in self._alone


def _way(outcome: Outcome) -> Way | None:
    """Return how a case failed; None where it passed, or no clause is blamed."""
    if outcome.verdict is Verdict.PASS or outcome.blamed is None or outcome.place is None:
        return None
    return outcome.blamed, outcome.place.reply_to, is_unanswered(outcome)
