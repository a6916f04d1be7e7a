"""Plays of a made-up suite on a driver that answers by a script and counts who played when."""

import asyncio
from collections.abc import Callable
from typing import Any

from tests.conformance.scripted import make_case
from wireproof.conformance.drivers.limiter import Limiter
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.targets import Address
from wireproof.conformance.model.trace import Trace
from wireproof.conformance.model.verdict import Guilty, Verdict
from wireproof.conformance.player.player import Player
from wireproof.conformance.run.case_scheduler import CaseScheduler
from wireproof.conformance.run.plan import Plan, Settings
from wireproof.conformance.suite.cases import Case, Suite, load_suite
from wireproof.conformance.verdict.records import Record, Run

SUITE = load_suite("throttr")


PASS = Outcome(Verdict.PASS, Trace())


CRASH = Outcome(Verdict.CRASH, Trace(), Guilty.TARGET, got="refused")


STAYS_UP = make_case({"alive": True}, id="robustness/stays-up")


Script = Callable[[str, int], Outcome]


class CountingDriver:
    """A driver that plays nothing: it follows a script, and notes who plays beside whom."""

    def __init__(self, jobs: int, script: Script = lambda case, attempt: PASS) -> None:
        self.limiter = Limiter(jobs)
        self.address = Address("tcp", "127.0.0.1", 9)
        self.playing: list[str] = []
        self.beside: dict[str, set[str]] = {}
        self.order: list[str] = []
        self.most = 0
        self._script = script
        self._attempts: dict[str, int] = {}

    async def play(self, player: Player) -> Outcome:
        case = player.case.id
        attempt = self._attempts[case] = self._attempts.get(case, -1) + 1
        self.order.append(case)
        self.playing.append(case)
        self.most = max(self.most, len(self.playing))
        for _ in range(3):
            for one in self.playing:
                self.beside.setdefault(one, set()).update(self.playing)
            await asyncio.sleep(0)
        self.playing.remove(case)
        return self._script(case, attempt)


def plan_of(cases: list[Case], **settings: Any) -> Plan:
    suite = Suite("throttr", SUITE.clauses, (*cases, STAYS_UP), (), SUITE.probe)
    return Plan(Run("throttr", "7.1.0", "uint16", "t", "x"), suite, cases, Settings(**settings))


def run(cases: list[Case], driver: CountingDriver) -> list[Record]:
    records: list[Record] = []
    asyncio.run(CaseScheduler(plan_of(cases), driver, records.append).run())  # type: ignore[arg-type]
    return records


def some(count: int, **changes: Any) -> list[Case]:
    return [make_case(id=f"made/{number}", **changes) for number in range(count)]


def verdicts(records: list[Record]) -> dict[str, str]:
    return {one["case"]: one["verdict"] for one in records}
