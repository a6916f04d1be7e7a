"""What is known of the end of a server that wireproof started: how it died or hung, and what it wrote last."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.run.crashes.known_causes import Signature
from wireproof.conformance.run.plan import Plan
from wireproof.conformance.run.processes import ServerProcess
from wireproof.conformance.suite.cases import Case
from wireproof.conformance.verdict.causes import signature
from wireproof.conformance.verdict.crashes import Hang, ProcessEnd
from wireproof.conformance.verdict.last_words import last_words
from wireproof.conformance.verdict.pipeline import Evidence, decide
from wireproof.protocols.json_values import JsonDict

__all__ = ["CrashEvidence"]

LOOK = 0.02
LOOKS = 4
"""How often it is looked at whether a server that answers nobody wants the processor, so many seconds apart."""
QUOTED = 3
"""Last lines of the server shown with the verdict; the record's `extra` has more."""
REPORT = 400
"""Last lines in which a report of the death is looked for."""


class CrashEvidence:
    """Turns the end of a server into what records and verdicts say of it."""

    def __init__(self, plan: Plan, server: ServerProcess) -> None:
        self._plan = plan
        self._server = server
        self.hang: Hang | None = None
        """What the server did while it answered nobody; None while it answers."""

    async def take_hang(self, used: float, seconds: float) -> None:
        """Note that the server answered nobody for so many seconds, in which it used so many seconds of CPU."""
        looks = []
        for _ in range(LOOKS):
            await asyncio.sleep(LOOK)
            looks.append(self._server.runs())
        self.hang = Hang(used, seconds, all(looks))

    def of(self, death: str) -> JsonDict:
        """Return what a record keeps of an end; `death` says how it came, as in "it ..."."""
        found: JsonDict = {"death": death, "start": self._server.starts}
        found["last_words"] = self._server.last_words()
        if self._server.given_up and self.hang is not None:
            found["hang"] = self.hang.extra
        if not self._server.given_up:
            found |= last_words("\n".join(self._server.last_words(REPORT))).extra
        return found

    def signature(self, death: str) -> Signature:
        """Return what tells this end from others."""
        return signature(self.of(death))

    def crash(self, case: Case, outcome: Outcome, death: str) -> Outcome:
        """Return the crash of a case; one that ended at another request than it is about breaks no clause on its own.

        Nor does one that ended after all had come that was expected. Then the clause is blamed that asks to stay up.
        """
        hang = self.hang if self._server.given_up else None
        end = ProcessEnd(death, self._server.last_words(QUOTED), case.clauses[0], self.of(death), hang)
        found = decide(outcome, Evidence(end=end))
        about, stays_up = self._plan.suite.clauses[case.clauses[0]].group, self._plan.stays_up
        passed = outcome.verdict is Verdict.PASS
        if (
            stays_up is None
            or (outcome.place is None and not passed)
            or (outcome.place and outcome.place.reply_to == about)
        ):
            return found
        return replace(found, blamed=stays_up.clauses[0])
