"""Whether somebody else used a target while a case had it for itself, and what the case is worth then."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from wireproof.conformance.drivers.sockets import SocketDriver
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.run.doubts import DISTURBED
from wireproof.conformance.run.plan import Plan
from wireproof.conformance.run.probe import PAUSE, Spoken, use_by_others
from wireproof.conformance.suite.cases import Case
from wireproof.conformance.verdict.pipeline import Evidence, decide

__all__ = ["Quiet"]

QUIET_ENOUGH = 5
"""How many cases in a row are believed until nobody asks again: a wrong server fails many."""
AGAIN = 5
"""How often a case is played again because others used the target: what they left there may expire just now."""
SEEN = 3
"""How often a case must fail while nobody else was seen, so that it is believed where old records may be."""
OWN_RECORDS_END = 30.0
"""Seconds after which records that the run's own cases left may end within a later case: they live a minute at most."""
ATTEMPT = 10
"""From here on the plays of a case are numbered here, for none may meet the records of another."""
LONGEST = 3.0
"""Seconds for which a target is watched at most."""
Again = Callable[[Case, int], Awaitable[Outcome]]


class Quiet:
    """What is known of others who use the target of one run.

    A case is disturbed as long as it takes, so the target is watched as long. What others left there and what expires
    in the course of a minute can still be missed: a failure is believed when it was seen several times. A run that
    takes long leaves such records itself.
    """

    def __init__(self, plan: Plan, driver: SocketDriver) -> None:
        self._plan, self._driver = plan, driver
        self._believed = 0
        """How many cases in a row failed and were believed."""
        self._is_used_all_the_time = False

    async def settled(self, case: Case, outcome: Outcome, took: float, again: Again) -> Outcome:
        """Return what a case is worth that did not pass: where others used the target, what came of it in quiet.

        Where it is never quiet the case is not supported. It took some seconds; `again` plays it, by an attempt.
        """
        seen, used = 0, ""
        for number in range(AGAIN + 1):
            used = await self._use_by_others(took)
            seen += not used
            if self._is_used_all_the_time if used else seen >= self._seen_enough:
                break
            if number < AGAIN:
                outcome = await again(case, ATTEMPT + number)
            if outcome.verdict not in DISTURBED:
                used = ""
                break
        self._is_used_all_the_time = bool(used)
        self._believed = self._believed + 1 if outcome.verdict in DISTURBED and not used else 0
        return decide(outcome, Evidence(use_by_others=used))

    @property
    def doubts_own_records(self) -> bool:
        """Whether a failure may come from what earlier cases of this run stored, which ends by now."""
        own = time.monotonic() - self._plan.bounds.began > OWN_RECORDS_END
        return own and self._believed < QUIET_ENOUGH

    @property
    def _seen_enough(self) -> int:
        """How often a case must fail in quiet, or where no request says whether others use the target."""
        unknown = self._plan.holds_records or "quiet" not in self._plan.suite.probe
        return SEEN if (unknown and self._believed < QUIET_ENOUGH) or self.doubts_own_records else 1

    async def _use_by_others(self, took: float) -> str:
        """Return how others use the target, "" if nobody does, or if enough cases in a row were believed."""
        if self._believed >= QUIET_ENOUGH:
            return ""
        run, timeout = self._plan.run, self._plan.settings.timeout
        spoken, seconds = Spoken(run.profile, run.variant), min(max(took, PAUSE), LONGEST)
        return await use_by_others(self._plan.suite, self._driver.address, spoken, timeout, seconds)
