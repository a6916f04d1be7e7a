"""Whether somebody else used a target while a case had it for itself, and what the case is worth then."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from wireproof.conformance.drivers.sockets import SocketDriver
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.run.doubts import DISTURBED
from wireproof.conformance.run.probe import Spoken, use_by_others
from wireproof.conformance.suite.cases import Case
from wireproof.conformance.verdict.pipeline import Evidence, decide

if TYPE_CHECKING:
    from wireproof.conformance.run.runner import Plan

__all__ = ["Quiet"]

QUIET_ENOUGH = 5
"""How often in a row the target must be quiet so that nobody asks again: a wrong server fails many cases."""
AGAIN = 3
"""How often a case is played again because others used the target: what they left there may expire just now."""


class Quiet:
    """What is known of others who use the target of one run."""

    def __init__(self, plan: Plan, driver: SocketDriver) -> None:
        self._plan, self._driver = plan, driver
        self._quiet = 0
        """How often in a row nobody else used the target after a case did not pass."""
        self._is_used_all_the_time = False

    async def settled(self, case: Case, outcome: Outcome, again: Callable[[Case], Awaitable[Outcome]]) -> Outcome:
        """Return what a case is worth that did not pass: where others used the target, what came of it in quiet.

        Where it is never quiet the case is not supported. `again` plays it.
        """
        used, left = await self._use_by_others(), 0 if self._is_used_all_the_time else AGAIN
        while used and left:
            outcome, left = await again(case), left - 1
            used = await self._use_by_others() if outcome.verdict in DISTURBED else ""
        self._is_used_all_the_time = bool(used)
        return decide(outcome, Evidence(use_by_others=used))

    async def _use_by_others(self) -> str:
        """Return how others use the target, "" if nobody does; asked until it was quiet some times in a row."""
        if self._quiet >= QUIET_ENOUGH:
            return ""
        run, timeout = self._plan.run, self._plan.settings.timeout
        found = await use_by_others(self._plan.suite, self._driver.address, Spoken(run.profile, run.variant), timeout)
        self._quiet = 0 if found else self._quiet + 1
        return found
