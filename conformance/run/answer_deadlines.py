"""How long an answer is waited for, once a kind of request has turned out to get none.

A target that never answers one kind of request costs each case that sends it the whole deadline, and there are
hundreds of them. So after some full waits in vain, while the target served others, answers to that kind are waited for
a second only. What is found then is no news: its cause was found with the full deadline.
"""

from __future__ import annotations

from collections import Counter

from wireproof.conformance.model.outcome import ANYWHERE, Outcome

__all__ = ["AnswerDeadlines"]

FULL_WAITS = 6
"""Waits in vain, each for the whole deadline, before answers to that kind of request are waited for less."""
IMPATIENT = 1.0
"""Seconds from then on, and some round trips."""


class AnswerDeadlines:
    """The waits of one run."""

    def __init__(self, round_trip: float = 0.0) -> None:
        self.shorter: dict[str, float] = {}
        """Name of a request -> seconds in which its answer must come, where that is less than the deadline."""
        self._seconds = IMPATIENT + 4 * round_trip
        self._in_vain = Counter[str]()

    def count(self, outcome: Outcome) -> None:
        """Count a case that waited in vain for an answer while the target served others."""
        request = outcome.place.reply_to if outcome.place else ""
        if request and request != ANYWHERE:
            self._in_vain[request] += 1
            if self._in_vain[request] >= FULL_WAITS:
                self.shorter[request] = self._seconds
