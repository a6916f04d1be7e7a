"""Plays a selection of cases: side by side on sockets, or one after the other in simulation.

Cases that need a quiet server run alone, first, when the server holds nothing of the others yet. Waiting cases start
next and give up their place while they wait, so waiting costs the longest, not the sum. Cases that came too late to
tell are played again among themselves; what is still doubtful, alone. What goes wrong in one case becomes its record.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from conformance.cases import Case, Suite
from conformance.delivery import DELIVERIES, Delivery
from conformance.gate import Gate
from conformance.outcome import Outcome, harness_error
from conformance.player import Player
from conformance.probe import Spoken, reply_to
from conformance.records import Record, Run, record
from conformance.simulation import ServiceFactory, SimulationDriver
from conformance.sockets import SocketDriver
from conformance.symbols import DEFAULT_PARAMETERS, Symbols
from conformance.targets import Address
from conformance.trace import Trace
from conformance.verdicts import Guilty, Verdict
from protocols import protocol

Report = Callable[[Record], None]


@dataclass(frozen=True)
class Settings:
    """How to play."""

    jobs: int = 32
    timeout: float = 5.0
    delivery: Delivery = DELIVERIES["whole"]
    parameters: Mapping[str, float] = field(default_factory=lambda: DEFAULT_PARAMETERS)


class Plan:
    """A selection of cases for one run, and how to make a player for each."""

    def __init__(self, run: Run, suite: Suite, cases: Sequence[Case], settings: Settings) -> None:
        self.run = run
        self.suite = suite
        self.cases = cases
        self.settings = settings
        self._protocol = protocol(run.protocol)

    def player(self, case: Case, attempt: int = 0) -> Player:
        """Return a fresh player of `case`; each attempt has keys of its own."""
        symbols = Symbols(
            self._protocol,
            self.run.profile,
            self.run.variant,
            case=case.id,
            namespace=self.run.namespace + (f"r{attempt}" if attempt else ""),
            variables=case.variables,
            parameters=self.settings.parameters,
        )
        return Player(case, symbols, delivery=self.settings.delivery, timeout=self.settings.timeout)

    def record(self, case: Case, outcome: Outcome, began: float) -> Record:
        """Return the record of a play that began at `began` (`time.monotonic`)."""
        took = int((time.monotonic() - began) * 1e6)
        return record(self.run, self.suite, case, outcome, delivery=self.settings.delivery.name, duration_us=took)


def waits(case: Case) -> bool:
    """Say whether a case lets time pass."""

    def inside(spec: Any) -> bool:
        if isinstance(spec, Mapping):
            return "wait" in spec or "wait_until" in spec or any(inside(one) for one in spec.values())
        return isinstance(spec, list | tuple) and any(inside(one) for one in spec)

    return inside(case.steps)


def simulate(plan: Plan, factory: ServiceFactory, report: Report) -> None:
    """Play every case in simulation, each against a fresh service of `factory(clock)`."""
    driver = SimulationDriver(factory)
    for case in plan.cases:
        began, player = time.monotonic(), plan.player(case)
        try:
            outcome = driver.play(player)
        except Exception as error:
            outcome = _broken(player, error)
        report(plan.record(case, outcome, began))


async def play_all(plan: Plan, address: Address, report: Report) -> None:
    """Play every case against the target at `address`; what `report` raises ends the run and is raised here."""
    try:
        await _Run(
            plan, SocketDriver(address, timeout=plan.settings.timeout, gate=Gate(plan.settings.jobs)), report
        ).go()
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from None


class _Run:
    """One run over sockets: alone, then side by side, the late ones once more so, then alone what is doubtful."""

    def __init__(self, plan: Plan, driver: SocketDriver, report: Report) -> None:
        self._plan = plan
        self._driver = driver
        self._gate = driver.gate or Gate(1)
        self._report = report
        self._again: list[tuple[Case, Outcome, float]] = []
        self._gone = ""
        """The case since which the target serves nobody, not even a case that is alone."""

    async def go(self) -> None:
        """Play everything."""
        for case in sorted(self._plan.cases, key=lambda case: not case.pristine):
            if case.exclusive:
                began = time.monotonic()
                outcome = await self._play(case) if not self._gone else _nobody_there(self._gone)
                await self._once_more(case, outcome, began)
        async with asyncio.TaskGroup() as tasks:
            for case in sorted(self._plan.cases, key=waits, reverse=True):
                if not case.exclusive:
                    tasks.create_task(self._shared(case))
        first, self._again = self._again, []
        async with asyncio.TaskGroup() as tasks:
            for case, outcome, began in first:
                if outcome.verdict is Verdict.UNTESTABLE:
                    tasks.create_task(self._shared(case, attempt=1))
                else:
                    self._again.append((case, outcome, began))
        for case, outcome, began in self._again:
            await self._once_more(case, outcome, began)

    async def _shared(self, case: Case, attempt: int = 0) -> None:
        async with self._gate:
            began = time.monotonic()
            outcome = await self._play(case, attempt) if not self._gone else _nobody_there(self._gone)
        if _doubtful(outcome):
            self._again.append((case, outcome, began))
        else:
            self._report(self._plan.record(case, outcome, began))

    async def _once_more(self, case: Case, outcome: Outcome, began: float) -> None:
        """Report a case that had the target for itself, played again first when its outcome is doubtful."""
        if _doubtful(outcome) and not (self._gone and outcome.verdict is Verdict.CRASH):
            began = time.monotonic()
            outcome = await self._play(case, attempt=2)
            if outcome.verdict is Verdict.CRASH:
                self._gone = self._gone or case.id
        self._report(self._plan.record(case, outcome, began))

    async def _play(self, case: Case, attempt: int = 0) -> Outcome:
        player = self._plan.player(case, attempt)
        try:
            outcome = await self._driver.play(player)
        except Exception as error:
            return _broken(player, error)
        if outcome.verdict is Verdict.HANG and not await self._serves():
            self._gone = self._gone or case.id
            return replace(outcome, verdict=Verdict.CRASH, got=f"{outcome.got}; the target answers nobody any more")
        return outcome

    async def _serves(self) -> bool:
        """Say whether a new client gets an answer."""
        run, timeout = self._plan.run, self._plan.settings.timeout
        spoken = Spoken(run.profile, run.variant)
        return await reply_to(self._plan.suite, self._driver.address, spoken, None, timeout) is not None


def _nobody_there(since: str) -> Outcome:
    """Return the outcome of a case that was not begun, because the target answered nobody since another case."""
    got = f"it answers nobody since {since}"
    return Outcome(Verdict.UNTESTABLE, Trace(), Guilty.TARGET, expected="a target that serves", got=got)


def _broken(player: Player, error: Exception) -> Outcome:
    return harness_error(f"{type(error).__name__}: {error}", player.talk.trace)


def _doubtful(outcome: Outcome) -> bool:
    """The harness came too late to tell or broke, or the target took no connection while others had theirs."""
    return outcome.guilty is Guilty.HARNESS or outcome.verdict is Verdict.CRASH
