"""Plays one case after another, or several concurrently, against a target over sockets that may go away meanwhile.

What goes wrong within wireproof is the outcome of that play and ends nothing else. A play that is not answered, or
loses a connection, asks whether the target serves anybody: it may be gone, hung, or away for some seconds. Which cases
are played, and when once more, is the scheduler's (`case_scheduler.py`).
"""

from __future__ import annotations

import time
from math import inf

from wireproof.conformance.drivers.limiter import Room
from wireproof.conformance.drivers.sockets import SocketDriver
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.player.player import Player
from wireproof.conformance.run.availability import Availability
from wireproof.conformance.run.doubts import is_unanswered, lost_a_connection
from wireproof.conformance.run.plan import Plan
from wireproof.conformance.run.probe import Spoken
from wireproof.conformance.run.route import SETTLE
from wireproof.conformance.run.serving import ServingCheck
from wireproof.conformance.suite.cases import Case
from wireproof.conformance.suite.segmentation import WHOLE
from wireproof.conformance.verdict.confirmation import Confirmation
from wireproof.conformance.verdict.crashes import ANSWERS_NOBODY, not_played
from wireproof.conformance.verdict.pipeline import Evidence, decide


class TargetPlays:
    """How a case is played against the target of one run, and what is known of whether it is there."""

    holds_passes = False
    """Whether a case that passed is not reported at once, either."""

    def __init__(self, plan: Plan, driver: SocketDriver) -> None:
        self.plan = plan
        self.driver = driver
        self.confirmation = Confirmation(plan.settings.segmentations.budget)
        self.gone = ""
        """Why no case can be played any more, as in "it ..."."""
        self.calm_until = inf
        """While cases are played alone that need not be: the instant at which no more of them are."""
        self.spared: list[Case] = []
        """Those of them that are left."""
        self._announced = False
        """Whether it was reported that the target is gone."""
        self._others_under_way, self._others_ended = 0, 0.0
        """How many plays under other segmentations are under way, and when the last one ended."""
        self._serving = ServingCheck(plan.suite, Spoken(plan.run.profile, plan.run.variant))
        self.available = Availability(self.serves, plan.notify)
        route = plan.settings.route
        self._room = Room(route.at_once and max(1, route.at_once - 1), SETTLE + route.round_trip)
        """For the connections of plays; one is left for questions."""

    async def play(self, case: Case, attempt: int = 0, player: Player | None = None) -> Outcome:
        """Play one case; what goes wrong here is its outcome. Raises what the journal raises."""
        if not attempt and case.segmentation != WHOLE.name and self.confirmation.over:
            return not_played("was not asked: the time for a sample of deliveries is over")
        if (undeclared := self.plan.undeclared(case)) is not None:
            return undeclared
        player = player or self.plan.player(case, attempt)
        player.in_real_time = True
        narrow = self.plan.settings.route.at_once is not None
        async with self._room.of(self.plan.needs(case).connections if narrow else 0):
            await self.available.wait()
            if self.gone:
                return not_played(self.gone)
            began = time.monotonic()
            first = await self._played(case, player)
            outcome = await self.plan.together.asked(case, player, first, self.driver.play)
        self.plan.bounds.count(case.id, outcome)
        if self.holds_passes or outcome.verdict is not Verdict.PASS:
            self.plan.note(case, outcome, began)
        return outcome

    def is_calm_over(self, outcome: Outcome) -> bool:
        """Say whether no further case is played alone that need not be: one did not pass, or it takes too long."""
        return self.calm_until < inf and (outcome.verdict is not Verdict.PASS or time.monotonic() > self.calm_until)

    async def _played(self, case: Case, player: Player) -> Outcome:
        other = case.segmentation != WHOLE.name
        shown = f"{case.id} ({case.segmentation})" if other else case.id
        self._others_under_way += other
        self.plan.under_way[shown] = time.monotonic()
        try:
            outcome = await self.driver.play(player)
        except Exception as error:
            return player.broken(error)
        finally:
            self._others_under_way -= other
            self.plan.under_way.pop(shown, None)
            self._others_ended = time.monotonic() if other else self._others_ended
        if is_unanswered(outcome):
            if not await self.serves():
                return self.serves_nobody(case, outcome)
            self.plan.deadlines.count(outcome)
        if lost_a_connection(outcome) and not self.gone and not await self.is_there(case):
            self.lose(f"takes no connection since {case.id}")
        return outcome

    def was_beside_others(self, began: float) -> bool:
        """Say whether plays under other segmentations are under way, or one ended after the instant `began`."""
        return self._others_under_way > 0 or began <= self._others_ended

    async def is_there(self, case: Case) -> bool:
        """Say whether the target serves anybody, after a case lost it; one that went away may come back."""
        return await self.available.is_there(case.id)

    def lose(self, why: str) -> None:
        """Note that no case can be played any more, and say so at once; `why` as in "it ..."."""
        self.gone = self.gone or why
        if not self._announced:
            self._announced = True
            self.plan.announce(why)

    def serves_nobody(self, case: Case, outcome: Outcome) -> Outcome:
        """Return what to make of a case that is not answered, and nobody else is either."""
        self.lose(f"{ANSWERS_NOBODY} since {case.id}")
        return decide(outcome, Evidence(serves_nobody=True))

    async def serves(self, timeout: float | None = None) -> bool:
        """Say whether a new client gets an answer within `timeout` seconds, those of the run by default."""
        return await self._serving(self.driver.address, timeout or self.plan.settings.timeout)
