"""Who may have ended a server that died while many cases played, and in what state each of them was."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.trace import Kind
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.player.player import Player
from wireproof.conformance.suite.cases import Case


@dataclass(frozen=True, slots=True)
class Suspect:
    """A case that was under way when the server died, or had ended just before."""

    case: Case
    began: float
    sent: float
    """When it sent last; both are `time.monotonic`."""
    asleep: bool
    """It let time pass when the server died."""
    outcome: Outcome | None
    """None: it was not finished."""
    ended: float

    @property
    def passed(self) -> bool:
        """Whether it had passed before."""
        return self.outcome is not None and self.outcome.verdict is Verdict.PASS

    @classmethod
    def of(cls, case: Case, player: Player, began: float, outcome: Outcome | None) -> Suspect:
        """Return what is known of a case that was played from `began` until now."""
        sent = max((one.at_us for one in player.talk.trace if one.kind is Kind.SENT), default=0) / 1e6
        asleep = outcome is None and player.talk.asleep
        return cls(case, began, began + sent, asleep, outcome, time.monotonic())


@dataclass
class Batch:
    """Cases that play until all are done or the server dies."""

    death: asyncio.Future[None]
    ended: deque[Suspect] = field(default_factory=deque)
    """Not reported yet: a death may still come from them."""
    cut: list[Suspect] = field(default_factory=list)
    left: list[Case] = field(default_factory=list)
    """Not begun."""
    held: bool = False
    """Nothing is reported before all have ended."""

    def add(self, one: Suspect) -> None:
        """Take a case that ended, or was cut short by the death."""
        if one.outcome is None:
            self.cut.append(one)
        else:
            self.ended.append(one)

    def settled(self, seconds: float) -> Iterator[tuple[Case, Outcome, float]]:
        """Yield, once, what ended so many seconds ago: the case, its outcome and when it began."""
        until = time.monotonic() - seconds
        while self.ended and self.ended[0].ended <= until:
            one = self.ended.popleft()
            if one.outcome is not None:
                yield one.case, one.outcome, one.began

    def suspects(self, suspicion: Callable[[Case], float] = lambda _: 0.0) -> tuple[list[Suspect], list[Suspect]]:
        """Return those to be looked at one by one, likely ones first, and those that only waited, several or none.

        Whom the death cut short is likelier than who had passed, then who sends what ended the server before
        (`suspicion`, from 0 to 1), and then who sent last.
        """

        def order(one: Suspect) -> tuple[bool, bool, float, float]:
            return one.asleep, one.passed, -suspicion(one.case), -one.sent

        found = sorted((*self.ended, *self.cut), key=order)
        waiting = [one for one in found if one.asleep]
        return (found, []) if len(waiting) < 2 else ([one for one in found if not one.asleep], waiting)
