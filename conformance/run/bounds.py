"""When a run ends before its cases do: its time is over, or it is clear that nothing can be judged.

A target that is wrong throughout (silent, slower than any deadline, sending without end) costs each case its deadline.
So a run in which next to nothing passes ends after `PATIENCE` seconds; whoever wants all of it gives it a time of its
own. A target that fails fast is played to the end.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.player.byte_allowance import FLOOD

PATIENCE = 20.0
"""Seconds of play in which more than one play in `ONE_IN` must have passed."""
ONE_IN = 10
DECIDING = 0.25
"""The last part of a time that was given, in which what is still in doubt is decided and no other case begins."""
FEWEST = 3
"""Plays that must have ended before they are compared."""
MANY = 32
"""Cases of a run below which it is played to the end: somebody chose them."""
FLOODS = 8
"""Plays in which the target sent without end, after which it will go on doing so."""


def time_is_over(seconds: float) -> str:
    """Return why a run ended, where the time that was given to it is over."""
    return f"the time for it is over (--max-time {seconds:g})"


@dataclass
class Bounds:
    """What a run may take, and what it took."""

    cases: int = 0
    """How many are to be played."""
    until: float | None = None
    """The instant (`time.monotonic`) at which it is over whatever happens; None: see `PATIENCE`."""
    max_time: float = 0.0
    """The seconds that were given up to that instant."""
    began: float = field(default_factory=time.monotonic)
    ended: int = 0
    passed: int = 0
    floods: int = 0
    last: str = ""
    """The case that was answered last."""

    def begin(self, cases: int) -> None:
        """Note that play begins, and with how many cases."""
        self.cases, self.began = cases, time.monotonic()

    def count(self, case: str, outcome: Outcome) -> None:
        """Count a play that was carried out."""
        self.ended += 1
        self.floods += FLOOD in outcome.extra
        if outcome.verdict is Verdict.PASS:
            self.passed += 1
            self.last = case

    @property
    def most_pass(self) -> bool:
        """Whether most plays so far passed: then one that failed may be an accident."""
        return self.passed * 2 > self.ended

    @property
    def is_closing(self) -> bool:
        """Whether what is in doubt must be decided now, before the time that was given is over."""
        return self.until is not None and time.monotonic() > self.until - DECIDING * (self.until - self.began)

    def over(self) -> str:
        """Return why the run ends now, as in "the run ended: ..."; "" while it goes on."""
        now = time.monotonic()
        if self.until is not None and now >= self.until:
            return time_is_over(self.max_time)
        if self.cases < MANY:
            return ""
        if self.floods >= FLOODS and self.passed * ONE_IN < self.ended:
            return f"the target sends without end: {self.floods} of {self.ended} plays, and {self.passed} passed"
        hopeless = self.ended >= FEWEST and self.passed * ONE_IN < self.ended
        if self.until is None and hopeless and now - self.began >= PATIENCE:
            return (
                f"{self.passed} of {self.ended} plays passed in {PATIENCE:g} s, so nothing can be judged "
                "(--max-time SECONDS plays on)"
            )
        return ""
