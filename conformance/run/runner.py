"""Plays a selection of cases: side by side on sockets (`case_scheduler.py`), or one by one in simulation."""

from __future__ import annotations

import asyncio
import time

from wireproof.conformance.drivers.limiter import Limiter
from wireproof.conformance.drivers.simulation import ServiceFactory, SimulationDriver
from wireproof.conformance.drivers.sockets import SocketDriver
from wireproof.conformance.model.targets import Address
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.run.case_scheduler import CaseScheduler
from wireproof.conformance.run.crashes.supervision import SupervisedScheduler
from wireproof.conformance.run.plan import Plan, Report
from wireproof.conformance.run.processes import ServerProcess, placed
from wireproof.conformance.run.shorter_walks import SHORTER, advanced
from wireproof.conformance.suite.cases import Case
from wireproof.conformance.verdict.crashes import ended_early

__all__ = ["DEFAULT_RESTARTS", "play_all", "simulate"]

DEFAULT_RESTARTS = 100
LOOK = 0.25
"""Seconds between two looks at whether a run is over."""
ENDING = 5.0
"""Seconds that plays may take to end once the run is over."""


def simulate(plan: Plan, factory: ServiceFactory, report: Report) -> None:
    """Play every case in simulation, each against a fresh service of `factory(clock)`."""
    driver = SimulationDriver(factory)
    passed: set[str] = set()

    def play(case: Case) -> None:
        began, player = time.monotonic(), plan.player(case)
        try:
            outcome = plan.undeclared(case) or driver.play(player)
            outcome = plan.together.settled(case, player, outcome, driver.play)
        except Exception as error:
            outcome = player.broken(error)
        if outcome.verdict is Verdict.PASS:
            passed.add(case.id)
        else:
            plan.note(case, outcome, began)
        if plan.settle(case, outcome):
            report(plan.record(case, outcome, began))

    plan.bounds.begin(len(plan.cases))
    for number, case in enumerate(plan.cases):
        if why := plan.bounds.over():
            plan.stop(why)
            for left in plan.cases[number:]:
                report(plan.record(left, ended_early(why), time.monotonic()))
            return
        play(case)
    for case in plan.others(frozenset(passed)):
        if not plan.bounds.over():
            play(case)
    _shorten(plan, driver)


def _shorten(plan: Plan, driver: SimulationDriver) -> None:
    for search in plan.searches():
        tried: Case | None = next(search)
        while tried is not None:
            tried = advanced(search, driver.play(plan.player(tried, SHORTER)), plan.notify)


async def play_all(
    plan: Plan, target: Address | ServerProcess, report: Report, *, restarts: int = DEFAULT_RESTARTS
) -> None:
    """Play every case against the target; what `report` raises ends the run and is raised here.

    A server that wireproof started is started again when it died, `restarts` times at most.
    """
    settings, server = plan.settings, target if isinstance(target, ServerProcess) else None
    driver = SocketDriver(
        target.address if isinstance(target, ServerProcess) else target,
        timeout=settings.timeout,
        limiter=Limiter(settings.jobs),
        process=server,
        tls=settings.tls,
        listeners=placed(settings.listeners or {}, server),
    )
    scheduler: CaseScheduler
    if server is not None:
        scheduler = SupervisedScheduler(plan, driver, report, server, restarts)
    else:
        scheduler = CaseScheduler(plan, driver, report)
    try:
        await _bounded(plan, scheduler)
        for search in plan.searches() if not scheduler.gone else ():
            tried: Case | None = next(search)
            while tried is not None:
                tried = advanced(search, await driver.play(plan.player(tried, SHORTER)), plan.notify)
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        raise error from None


async def _bounded(plan: Plan, scheduler: CaseScheduler) -> None:
    """Run a scheduler until it is done or the run's bounds are reached. Raises what the scheduler raises."""
    plan.bounds.begin(len(plan.cases))
    playing = asyncio.create_task(scheduler.run())
    try:
        while not playing.done() and not (why := plan.bounds.over()):
            await asyncio.wait({playing}, timeout=LOOK)
        if playing.done():
            await playing
            return
        playing.cancel()
        await asyncio.wait({playing}, timeout=ENDING)
        if playing.done() and not playing.cancelled() and (error := playing.exception()) is not None:
            raise error
        plan.stop(why)
        scheduler.stop(why)
    finally:
        if not playing.done():
            playing.cancel()
            await asyncio.gather(playing, return_exceptions=True)
