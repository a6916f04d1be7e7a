"""Plays a selection of cases: side by side on sockets, or one after the other in simulation.

Waiting cases start first and give up their place while they wait, so waiting costs the longest, not the sum; cases that
need a quiet server run alone, last. A case that came too late to tell, or found no room to connect, is played again
alone.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from conformance.cases import Case, Suite
from conformance.delivery import DELIVERIES, Delivery
from conformance.outcome import Outcome
from conformance.player import Player
from conformance.records import Record, Run, record
from conformance.simulation import SimulationDriver
from conformance.sockets import SocketDriver
from conformance.symbols import DEFAULT_PARAMETERS, Symbols
from conformance.targets import Address
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


def simulate(plan: Plan, factory: Any, report: Report) -> None:
    """Play every case in simulation, each against a fresh service of `factory(clock)`."""
    driver = SimulationDriver(factory)
    for case in plan.cases:
        began = time.monotonic()
        report(plan.record(case, driver.play(plan.player(case)), began))


async def play_all(plan: Plan, address: Address, report: Report) -> None:
    """Play every case against the target at `address`."""
    gate = asyncio.Semaphore(plan.settings.jobs)
    driver = SocketDriver(address, timeout=plan.settings.timeout, gate=gate)
    shared = [case for case in plan.cases if not case.exclusive]
    again: list[tuple[Case, Outcome]] = []

    async def one(case: Case) -> None:
        async with gate:
            began = time.monotonic()
            outcome = await driver.play(plan.player(case))
        if _worth_another_try(outcome):
            again.append((case, outcome))
        else:
            report(plan.record(case, outcome, began))

    async with asyncio.TaskGroup() as tasks:
        for case in sorted(shared, key=waits, reverse=True):
            tasks.create_task(one(case))
    quiet = [case for case in plan.cases if case.exclusive]
    for attempt, case in [(1, case) for case, _ in again] + [(0, case) for case in quiet]:
        async with gate:
            began = time.monotonic()
            outcome = await driver.play(plan.player(case, attempt))
            if not attempt and _worth_another_try(outcome):
                outcome = await driver.play(plan.player(case, 1))
        report(plan.record(case, outcome, began))


def _worth_another_try(outcome: Outcome) -> bool:
    """The harness came too late to tell."""
    return outcome.verdict is Verdict.UNTESTABLE and outcome.guilty is Guilty.HARNESS
