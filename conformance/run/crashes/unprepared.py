"""Cases whose preparation failed: what earlier cases left on the server may be why, and hides what they are about.

They wait until everything else was played, and are then played once more, each on a fresh server: not many, as each
costs a start. What fails there is believed; else the first play stands, so that what earlier cases left is reported.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator

from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.verdict import Guilty, Verdict
from wireproof.conformance.suite.cases import Case
from wireproof.conformance.suite.segmentation import WHOLE

__all__ = ["Unprepared"]

SECONDS = 20.0
"""How long such cases are played at most."""
ENOUGH = 8
"""How many of them in a row are played that show nothing."""
BELIEVED = (Verdict.FAIL, Verdict.LENIENT, Verdict.HANG, Verdict.CRASH)
Play = tuple[Case, Outcome, float]
"""A case, what came of it, and when it began."""


class Unprepared:
    """The cases of one run that wait so."""

    def __init__(self) -> None:
        self._waiting: list[Play] = []

    def takes(self, case: Case, outcome: Outcome, began: float) -> bool:
        """Take a case if its preparation failed, and it is one that somebody wrote and that is played whole."""
        failed = outcome.verdict is Verdict.UNTESTABLE and outcome.guilty is Guilty.TARGET and outcome.step is not None
        if not failed or case.modelled or case.segmentation != WHOLE.name:
            return False
        self._waiting.append((case, outcome, began))
        return True

    def rest(self) -> Iterator[Play]:
        """Yield what still waits; nothing of it waits any more."""
        while self._waiting:
            yield self._waiting.pop(0)

    async def decided(self, on_a_fresh_server: Callable[[Case], Awaitable[Outcome]]) -> list[Play]:
        """Return the cases with what came of them in the end; of those that differ in a value alone one is asked."""
        until, in_vain, asked = time.monotonic() + SECONDS, 0, set[str]()
        found = []
        for case, outcome, began in self.rest():
            entry = case.id.partition(".")[0]
            if entry not in asked and in_vain < ENOUGH and time.monotonic() < until:
                asked.add(entry)
                again = await on_a_fresh_server(case)
                in_vain = 0 if again.verdict in BELIEVED else in_vain + 1
                outcome = again if again.verdict in BELIEVED else outcome
            found.append((case, outcome, began))
        return found
