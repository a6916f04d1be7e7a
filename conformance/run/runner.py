"""Plays a selection of cases: side by side on sockets (`case_scheduler.py`), or one by one in simulation."""

from __future__ import annotations

import asyncio
import re
import ssl
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from wireproof.conformance.drivers.limiter import Limiter
from wireproof.conformance.drivers.simulation import ServiceFactory, SimulationDriver
from wireproof.conformance.drivers.sockets import SocketDriver
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.targets import Address, Way
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.player.player import Player
from wireproof.conformance.run.answer_deadlines import AnswerDeadlines
from wireproof.conformance.run.bounds import Bounds
from wireproof.conformance.run.case_scheduler import CaseScheduler, Report
from wireproof.conformance.run.probe import Spoken
from wireproof.conformance.run.processes import ServerProcess
from wireproof.conformance.run.route import SPARE, UNMEASURED, Route, served_at_once
from wireproof.conformance.run.segmentation_sample import ONLY_WHOLE, SegmentationChoice, Tally, chosen, duration
from wireproof.conformance.run.shorter_walks import SHORTER, Search, advanced, searches
from wireproof.conformance.run.supervision import SupervisedScheduler
from wireproof.conformance.suite.case_needs import CaseNeeds, needs_of
from wireproof.conformance.suite.case_traits import parameters_in, patience, waits
from wireproof.conformance.suite.cases import Case, Suite
from wireproof.conformance.suite.declared import answer_time
from wireproof.conformance.suite.segmentation import SEGMENTATIONS, WHOLE
from wireproof.conformance.suite.symbols import Symbols
from wireproof.conformance.suite.walks import is_walk
from wireproof.conformance.verdict.crashes import ended_early
from wireproof.conformance.verdict.pipeline import (
    Evidence,
    decide,
    serves_fewer,
    too_far,
    too_narrow,
    unbounded,
    undeclared,
)
from wireproof.conformance.verdict.records import Record, Run, record
from wireproof.protocols import protocol

__all__ = ["Plan", "Settings", "play_all", "simulate"]

DEFAULT_RESTARTS = 100
LOOK = 0.25
"""Seconds between two looks at whether a run is over."""
ENDING = 5.0
"""Seconds that plays may take to end once the run is over."""
LONGEST_TRIPS = 20.0
"""Seconds of round trips beyond which a case is not played."""
NUMBER = re.compile(r"(?:^|= )(\d+)$")
"""A number as what was expected, or came, names it."""


@dataclass(frozen=True)
class Settings:
    """How to play."""

    jobs: int = 32
    timeout: float = 5.0
    segmentations: SegmentationChoice = ONLY_WHOLE
    parameters: Mapping[str, float] | None = None
    """The target's, where they are not the usual ones."""
    features: frozenset[str] | None = None
    """What the target declares that it has; None: everything."""
    tls: ssl.SSLContext | None = None
    """What is spoken where a case begins TLS; None: TLS that verifies no certificate."""
    route: Route = UNMEASURED
    """What lies between here and the target."""
    listeners: Mapping[str, Address] | None = None
    """The addresses of the target's listeners beside the usual one, by name."""
    undeclared: frozenset[str] = frozenset()
    """The protocol's own limits that nobody declared of the target."""
    unknown: frozenset[str] = frozenset()
    """Those of them that no document bounds and that are not found out: cases cannot wait for them."""


class Plan:
    """A selection of cases for one run, and how to make a player for each."""

    def __init__(self, run: Run, suite: Suite, cases: Sequence[Case], settings: Settings) -> None:
        self.run = run
        self.suite = suite
        self.cases = cases
        self.settings = settings
        self._protocol = protocol(run.protocol)
        self.tally = Tally()
        self.bounds = Bounds()
        self.deadlines = AnswerDeadlines(settings.route.round_trip)
        self.announce: Callable[[str], None] = _announce_nothing
        """Takes at once why no case can be played any more, as in "it ..."."""
        self.notify: Callable[[str], None] = _announce_nothing
        """Takes at once what else the user should know: a line."""
        self.holds_records = False
        """Whether the target held records of others before the run, as far as it was asked."""
        self.keeps_passes = True
        """Whether the record of a play that passes has its exchange."""
        self._needs: dict[str, CaseNeeds] = {}
        self.under_way: dict[str, float] = {}
        """Case, with its segmentation unless it is sent whole -> when its play began (`time.monotonic`), in order."""
        self.stopped = ""
        """Why the run ended before its cases did."""
        self.failed_walks: dict[str, Case] = {}
        """Walks that failed, by their ids: they are shortened once the run is over."""
        self.journal: Report = _unwritten
        """Takes the record of a play at once, where its verdict may still change before it is reported."""

    @property
    def stays_up(self) -> Case | None:
        """The case that stands for the whole run: it fails when the target ended and no case is known to do it."""
        wanted = self.suite.probe.get("stays_up")
        return next((case for case in self.suite.cases if case.id == wanted), None)

    def parts(self, cases: Sequence[Case]) -> Iterator[tuple[list[Case], bool]]:
        """Yield cases in the order in which they are played, and whether most of them are played alone.

        What others rest on comes with those that are played alone: it is found before anything takes its deadline.
        What a requirement set does not ask for comes last: it must not disturb what decides.
        """
        asked = self.run.asked
        last = {one.id for one in cases if asked is not None and asked.why_not(one.id)}
        for later in (False, True) if last else (False,):
            for alone in (True, False):
                yield [one for one in cases if (one.id in last) is later and _is_early(one) is alone], alone

    def player(self, case: Case, attempt: int = 0) -> Player:
        """Return a fresh player of `case`; each attempt has keys of its own."""
        symbols = Symbols(
            self._protocol,
            self.run.profile,
            self.run.variant,
            case=case.id,
            play=f"|{case.segmentation}|{attempt}" if attempt or case.segmentation != WHOLE.name else "",
            namespace=self.run.namespace,
            variables=case.variables,
            parameters=self.settings.parameters,
        )
        route = self.settings.route
        way = Way(route.round_trip, direct=not route.proxy, shorter=self.deadlines.shorter)
        usual = answer_time(self.settings.timeout, self.suite.parameters, self.settings.parameters)
        timeout = usual + 2 * route.round_trip
        return Player(case, symbols, segmentation=SEGMENTATIONS[case.segmentation], timeout=timeout, way=way)

    def lacking(self, case: Case) -> tuple[str, ...]:
        """Return what a case needs and the target does not declare."""
        declared = self.settings.features
        return () if declared is None else tuple(name for name in case.needs if name not in declared)

    def undeclared(self, case: Case) -> Outcome | None:
        """Return the outcome of a case that is not asked because of what the target lacks; None for all others."""
        if lacking := self.lacking(case):
            return undeclared(lacking, self.suite.features)
        if waits(case) and (unknown := parameters_in(case, self.settings.unknown)):
            return unbounded(sorted(unknown), self.suite.parameters)
        route = self.settings.route
        if route.at_once is not None and (needed := self.needs(case).connections) > route.at_once:
            return too_narrow(needed, route.at_once)
        if route.round_trip and (trips := self.needs(case).round_trips) * route.round_trip > LONGEST_TRIPS:
            return too_far(trips, route.round_trip)
        return None

    def as_far_away(self, case: Case, outcome: Outcome) -> Outcome:
        """Return what the outcome of a case is worth so many round trips away."""
        return decide(outcome, Evidence(round_trip=self.settings.route.round_trip, timed=waits(case)))

    def seconds(self) -> float:
        """Return about how many seconds round trips and waits take, all cases together: for a target that is far."""
        trip, alone, beside = self.settings.route.round_trip, 0.0, 0.0
        for case in self.cases:
            if self.undeclared(case) is None:
                took = self.needs(case).round_trips * trip + trip + patience(case)
                alone, beside = (alone + took, beside) if case.exclusive else (alone, beside + took)
        return alone + beside / self.settings.jobs

    def opens_many(self, case: Case) -> bool:
        """Say whether a case opens more connections than the target was asked to serve before the run."""
        return self.settings.route.at_once is None and self.needs(case).connections > self.settings.jobs + SPARE

    async def too_many(self, case: Case, address: Address) -> str:
        """Return that the target serves fewer connections than a case opens, in words; "" where it serves them."""
        needed, spoken = self.needs(case).connections, Spoken(self.run.profile, self.run.variant)
        served = await served_at_once(self.suite, address, spoken, needed, self.settings.route.round_trip)
        return "" if served >= needed else serves_fewer(needed, served)

    def needs(self, case: Case) -> CaseNeeds:
        """Return how many connections and round trips a case needs."""
        if case.id not in self._needs:
            names = Symbols(
                self._protocol,
                self.run.profile,
                self.run.variant,
                case=case.id,
                namespace=self.run.namespace,
                variables=case.variables,
                parameters=self.settings.parameters,
            )
            self._needs[case.id] = needs_of(case, names)
        return self._needs[case.id]

    @property
    def plays(self) -> int:
        """How many plays there are when every case passes whole."""
        return len(self.cases) + len(self._others)

    def others(self, passed: Collection[str]) -> list[Case]:
        """Return what to play under other deliveries than whole, of the cases that passed so: the measure of them."""
        return [one for one in self._others if one.id in passed]

    def others_of(self, case: Case) -> Sequence[Case]:
        """Return what to play of one case under other deliveries than whole, if it passes so."""
        return self._by_case.get(case.id, ())

    def duration(self, case: Case) -> float:
        """Return about how many seconds a play takes, and the longest that may follow it."""
        later = self.others_of(case) if case.segmentation == WHOLE.name else ()
        longest = max((duration(one, SEGMENTATIONS[one.segmentation]) for one in later), default=0.0)
        return duration(case, SEGMENTATIONS[case.segmentation]) + longest

    @cached_property
    def _by_case(self) -> Mapping[str, Sequence[Case]]:
        found: dict[str, list[Case]] = {}
        for one in self._others:
            found.setdefault(one.id, []).append(one)
        return found

    @cached_property
    def _others(self) -> list[Case]:
        cases = [case for case in self.cases if not self.lacking(case)]
        return chosen(cases, self.settings.segmentations, self.suite, self.run.profile)

    def keeps(self, case: Case, outcome: Outcome) -> bool:
        """Count a play, and say whether it has a record: if not whole, only if it adds something."""
        return case.segmentation == WHOLE.name or self.tally.keeps(outcome)

    def stop(self, why: str) -> None:
        """Note that the run ends before its cases do: what is recorded from now on says so."""
        self.stopped = why
        self.run.partial.append(why)

    def searches(self) -> list[Search]:
        """Return searches for shorter ones of the walks that failed; none where the run was ended."""
        return [] if self.stopped else searches(list(self.failed_walks.values()), self.suite.context)

    def note(self, case: Case, outcome: Outcome, began: float) -> None:
        """Write a play into the journal. Raises what `journal` raises."""
        self.journal(self.record(case, outcome, began))

    def record(self, case: Case, outcome: Outcome, began: float) -> Record:
        """Return the record of a play that began at `began` (`time.monotonic`)."""
        if is_walk(case.id) and case.segmentation == WHOLE.name and outcome.verdict is Verdict.FAIL:
            self.failed_walks[case.id] = case
        took = int((time.monotonic() - began) * 1e6)
        made = record(self.run, self.suite, case, outcome, duration_us=took, with_passes=self.keeps_passes)
        if (clause := self._extremes(outcome)) is not None:
            made["extra"]["extreme"] = clause
        return made

    def _extremes(self, outcome: Outcome) -> str | None:
        """Return the clause about large numbers where one was expected, or came, and the other did not.

        Numbers beyond the width stand in fields of another size (counts of INFO, instants), which it is not about.
        """
        numbers = self.suite.probe.get("numbers")
        if numbers is None or outcome.place is None or not outcome.place.field:
            return None
        found = [NUMBER.search(str(one)) for one in (outcome.expected, outcome.got)]
        values = [int(one[1]) for one in found if one]
        half, most = self._large
        return str(numbers["clause"]) if len(values) == len(found) and half < max(values) <= most else None

    @cached_property
    def _large(self) -> tuple[int, int]:
        """The number after which numbers are large, and the largest that a field of the width holds."""
        run, numbers = self.run, self.suite.probe["numbers"]
        known = Symbols(self._protocol, run.profile, run.variant, case="", namespace=run.namespace)
        return int(known.number(numbers["half"])), int(known.number(numbers["most"]))


def _is_early(case: Case) -> bool:
    """Say whether a case is played before most others: it needs the target for itself, or others rest on it."""
    return case.exclusive or case.prerequisite or case.prerequisite_of_all


def _unwritten(record: Record) -> None:
    """Keep no journal."""


def _announce_nothing(why: str) -> None:
    """Say nothing."""


def simulate(plan: Plan, factory: ServiceFactory, report: Report) -> None:
    """Play every case in simulation, each against a fresh service of `factory(clock)`."""
    driver = SimulationDriver(factory)
    passed: set[str] = set()

    def play(case: Case) -> None:
        began, player = time.monotonic(), plan.player(case)
        try:
            outcome = plan.undeclared(case) or driver.play(player)
        except Exception as error:
            outcome = player.broken(error)
        if outcome.verdict is Verdict.PASS:
            passed.add(case.id)
        else:
            plan.note(case, outcome, began)
        if plan.keeps(case, outcome):
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
        listeners=settings.listeners,
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
