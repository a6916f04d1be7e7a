"""Finding out which of the cases that were under way ended the server: by groups, and by halves of the group that did.

The suspects come likely ones first. They are played again on a fresh process: the first alone, then four of them
concurrently, then sixteen, and so on. The group that ends the server is halved, each half played on a process of its
own, down to one case. One that is left is guilty if it ends the server as the first on its process; otherwise one
that played shortly before may have done it, late. A group of which no half does it names nobody: several of its cases
together did it, or chance.

A search plays each suspect about twice and takes some log2(n) restarts, where one case after the other took n plays:
seconds rather than a minute for 32 suspects that last 1 s each, or where each death is a hang.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Protocol

from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.suite.cases import Case

__all__ = ["CrashSearch", "Played", "Replays", "groups_of"]

# The problem. Cases play concurrently, so when the server dies many of them were under way and each is a suspect. To
# blame all of them hides the cause, and to blame the last one is a guess. Only a replay shows who did it.
#
# Why groups that grow. Suspects come likely ones first, so the first one alone is often guilty: one play, no restart.
# The further back the guilty case is, the less the order knew, and the larger the next group may be: the cost of the
# search stays in proportion to the guilty case's place.
#
# Why halves, each on a fresh process. What a group did is known only if nothing else was played on its process. Halving
# needs about log2(n) restarts, and restarts are what costs time, above all where the death is a hang.
#
# Why "as the first on its process". A server may fall at a case only because cases before it left something: a leak, a
# damaged heap. A report that names this case names one that passes when it is played again. So a case that is left over
# must end the server alone; else the cases shortly before it are searched, too, with more time for a late death.
#
# When nobody is named. If no half of a guilty group ends the server, several cases did it together, or chance did. The
# search then returns nothing rather than choose one.


GROWTH = 4
"""How much larger each group is than the one before."""
SETTLE = 0.05
"""Seconds after the end of cases in which a death may still come from them, while nothing is known of them."""
GRACE = 0.25
"""The same for those of a group that ended the server."""
LATE = 1.0
"""The same for those that may have ended it while others played."""
PREDECESSORS = 8
"""How many cases before that next one are looked at."""
Played = tuple[Case, Outcome, float]
"""A case, what came of it, and when it began."""


class Replays(Protocol):
    """What plays suspects again."""

    gone: str
    """Why no case can be played any more; "" while it can."""

    async def alone(self, case: Case, patience: float) -> tuple[Outcome, str | None]:
        """Return what came of a case with the server for itself, and how the server ended within `patience` seconds."""

    async def together(self, cases: Sequence[Case], patience: float) -> tuple[list[Played], str | None]:
        """Return what came of cases that play concurrently, and how the server ended within `patience` seconds.

        Exclusive cases play one after the other.
        """

    async def start_again(self, death: str) -> bool:
        """Start the server again; say whether that could be done."""


class CrashSearch:
    """One search; `tried` has what came of the cases that did not end the server, each once."""

    def __init__(self, replays: Replays) -> None:
        self._replays = replays
        self.tried: list[Played] = []
        self._death = ""
        """How the server ended last."""
        self._alone: Played | None = None
        """What came of the case that had the server for itself last."""

    async def find(self, suspects: Sequence[Case]) -> Played | None:
        """Return the case that ends the server, with its crash; None where none does it on its own.

        The server that runs must be a fresh one. Where a case is found, it is not started again.
        """
        before: list[Case] = []
        groups = list(groups_of(suspects))
        for number, group in enumerate(groups, 1):
            if self._replays.gone:
                return None
            if not await self._ends(group, SETTLE if number < len(groups) else LATE):
                before += group
            elif len(group) == 1 and not before:
                return self._alone
            else:
                late = [*before[-PREDECESSORS:], *group]
                return await self._halved(_halves(group), GRACE) or await self._halved([late], LATE)
        return None

    async def _halved(self, groups: Sequence[Sequence[Case]], patience: float) -> Played | None:
        """Return the case of these groups that ends the server as the first on its process, or None."""
        for group in groups:
            if not group or self._replays.gone or not await self._replays.start_again(self._death):
                return None
            if await self._ends(group, patience):
                return self._alone if len(group) == 1 else await self._halved(_halves(group), patience)
        return None

    async def _ends(self, group: Sequence[Case], patience: float) -> bool:
        """Play a group; say whether that ended the server. What did not is tried."""
        if len(group) == 1:
            began = time.monotonic()
            outcome, death = await self._replays.alone(group[0], patience)
            self._alone = group[0], outcome, began
            played = [self._alone]
        else:
            played, death = await self._replays.together(group, patience)
        if death is not None:
            self._death = death
            return True
        known = {id(case) for case, _, _ in self.tried}
        self.tried += [one for one in played if id(one[0]) not in known]
        return False


def _halves(group: Sequence[Case]) -> list[Sequence[Case]]:
    """Return both halves of a group; one case is a group that is played again."""
    half = len(group) // 2
    return [group[:half], group[half:]] if half else [group]


def groups_of(cases: Sequence[Case]) -> Iterator[Sequence[Case]]:
    """Yield all cases in order, in groups of 1, 4, 16 and so on."""
    begin, size = 0, 1
    while begin < len(cases):
        yield cases[begin : begin + size]
        begin, size = begin + size, size * GROWTH
