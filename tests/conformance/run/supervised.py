"""Servers and drivers that die as a test says, and runs over them."""

import asyncio
from collections.abc import Callable, Iterable
from math import ceil, log2
from typing import Any

from tests.conformance.scripted import make_case
from wireproof.conformance.drivers.limiter import Limiter
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.targets import Address
from wireproof.conformance.model.trace import Kind, Trace, TraceEvent
from wireproof.conformance.model.verdict import Guilty, Verdict
from wireproof.conformance.player.player import Player
from wireproof.conformance.run.crashes.supervision import SupervisedScheduler
from wireproof.conformance.run.plan import Plan, Settings
from wireproof.conformance.run.processes import StartError, Usage
from wireproof.conformance.suite.cases import Case, Suite, load_suite
from wireproof.conformance.verdict.records import Record, Run

SUITE = load_suite("throttr")


STAYS_UP = make_case({"alive": True}, id="robustness/stays-up")


PASS = Outcome(Verdict.PASS, Trace())


CUT = Outcome(Verdict.FAIL, Trace(), Guilty.TARGET, blamed="THR-QUERY-5", step=1, expected="ok", got="closed")


class FakeServer:
    """A process that lives until it is told to die; each start has another port."""

    def __init__(self, *, starts_at_most: int = 1000) -> None:
        self.starts = 1
        self.address = Address("tcp", "127.0.0.1", 1)
        self.lives = True
        self.whys: list[str] = []
        self._how = "died of SIGSEGV"
        self._most = starts_at_most
        self.given_up = False

    def death(self) -> str | None:
        return None if self.lives else self._how

    def give_up(self, why: str) -> None:
        self.lives, self._how, self.given_up = False, why, True

    def usage(self) -> Usage:
        return Usage(0, 0, 0.0)

    def last_words(self, count: int = 9) -> list[str]:
        return [f"words of start {self.starts}"]

    async def restart(self, why: str) -> None:
        if self.starts >= self._most:
            raise StartError("no room")
        self.whys.append(why)
        self.starts += 1
        self.lives, self._how, self.given_up = True, "died of SIGSEGV", False
        self.address = Address("tcp", "127.0.0.1", self.starts)


class FakeDriver:
    """Plays nothing: each case ends the server or not, as told; who is under way when it ends is cut."""

    def __init__(self, server: FakeServer, jobs: int, ends: Callable[["FakeDriver", str], bool]) -> None:
        self.server = server
        self.limiter = Limiter(jobs)
        self.address = server.address
        self.unanswered = 0
        self.playing: list[str] = []
        self.order: list[str] = []
        self.sleeps: set[str] = set()
        self.ends = ends

    async def play(self, player: Player) -> Outcome:
        case = player.case.id
        start = self.server.starts
        self.order.append(case)
        self.playing.append(case)
        player.talk.trace.append(TraceEvent(len(self.order), "a", Kind.SENT, b"x"))
        try:
            if case in self.sleeps:
                player.talk.asleep = True
                await asyncio.sleep(0.03)
                player.talk.asleep = False
            else:
                await asyncio.sleep(0.002)
            if self.server.lives and self.ends(self, case):
                self.server.lives = False
            await asyncio.sleep(0)
            return PASS if self.server.lives and self.server.starts == start else CUT
        finally:
            self.playing.remove(case)


def some(count: int, **changes: Any) -> list[Case]:
    return [make_case(id=f"made/{number}", **changes) for number in range(count)]


def run(
    cases: list[Case],
    ends: Callable[[FakeDriver, str], bool],
    *,
    jobs: int = 4,
    restarts: int = 50,
    sleeps: set[str] | None = None,
    server: FakeServer | None = None,
    kind: type[FakeDriver] = FakeDriver,
) -> tuple[dict[str, Record], FakeDriver]:
    server = server or FakeServer()
    driver = kind(server, jobs, ends)
    driver.sleeps = sleeps or set()
    suite = Suite("throttr", SUITE.clauses, (*cases, STAYS_UP), (), SUITE.probe)
    plan = Plan(Run("throttr", "7.1.0", "uint16", "t", "x"), suite, [*cases, STAYS_UP], Settings())
    records: list[Record] = []
    asyncio.run(SupervisedScheduler(plan, driver, records.append, server, restarts).run())  # type: ignore[arg-type]
    assert len(records) == len({one["case"] for one in records})
    return {one["case"]: one for one in records}, driver


def crashes(records: dict[str, Record]) -> set[str]:
    return {case for case, one in records.items() if one["verdict"] == "crash"}


def others(records: dict[str, Record]) -> set[str]:
    return {one["verdict"] for one in records.values() if one["verdict"] != "crash"}


def counted(starts: Iterable[str]) -> int:
    """Return how many of these starts, each with its reason, `--restarts` counts."""
    return sum("to find out which case did it" not in one for one in starts)


def most_starts(suspects: int) -> int:
    """Return how many starts one search among so many suspects takes at most.

    Two for each halving of the group that ended the server; where that names nobody, one for all of them and two for
    each halving again; and one after the case that was found.
    """
    return 4 * ceil(log2(suspects)) + 2
