"""How long an answer is waited for, once a kind of request has turned out to get none.

A target that never answers one kind of request costs each case that sends it the whole deadline, and there are
hundreds of them. So after some full waits in vain, while the target served others, answers to that kind are waited for
a second only. What is found then is no news: its cause was found with the full deadline. A target that was only slow
for a while answers that kind again with the full deadline, in a play that is made once more alone: then it counts anew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from wireproof.conformance.model.outcome import ANYWHERE, Outcome
from wireproof.conformance.model.verdict import Verdict

__all__ = ["AnswerDeadlines"]

FULL_WAITS = 6
"""Waits in vain, each for the whole deadline, before answers to that kind of request are waited for less."""
IMPATIENT = 1.0
"""Seconds from then on, and some round trips."""
BELIEVED = 3
"""Cases in a row that were played again alone and got no answer: each costs a whole deadline, and nothing else runs."""


class AnswerDeadlines:
    """The waits of one run."""

    def __init__(self, round_trip: float = 0.0) -> None:
        self.shorter: dict[str, float] = {}
        """Name of a request -> seconds in which its answer must come, where that is less than the deadline."""
        self._seconds = IMPATIENT + 4 * round_trip
        self._in_vain = Counter[str]()
        self._again = 0

    def count(self, outcome: Outcome) -> None:
        """Count a case that waited in vain for an answer while the target served others."""
        request = _request_of(outcome)
        if request and request != ANYWHERE:
            self._in_vain[request] += 1
            if self._in_vain[request] >= FULL_WAITS:
                self.shorter[request] = self._seconds

    @contextmanager
    def in_full(self, outcome: Outcome) -> Iterator[None]:
        """Wait in full for the answer that a case waited for, while it is played again."""
        request = _request_of(outcome)
        shorter = self.shorter.pop(request, None)
        try:
            yield
        finally:
            if shorter is not None:
                self.shorter[request] = shorter

    @property
    def is_believed(self) -> bool:
        """Whether enough cases in a row got no answer again, alone: then the next ones are believed."""
        return self._again >= BELIEVED

    def count_again(self, outcome: Outcome, again: Outcome) -> None:
        """Count a case that got no answer and was played again alone; one that passes has the count begin anew."""
        if again.verdict is not Verdict.PASS:
            self._again += 1
            return
        self._again, request = 0, _request_of(outcome)
        for counted in (self._in_vain, self.shorter):
            counted.pop(request, None)


def _request_of(outcome: Outcome) -> str:
    """Return the name of the request that got no answer."""
    return outcome.place.reply_to if outcome.place else ""
