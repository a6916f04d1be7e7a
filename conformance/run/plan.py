"""What one run plays: its cases in their order, how to make a player of each, and the record of each play."""

from __future__ import annotations

import re
import ssl
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.targets import Address, Way
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.player.player import Player
from wireproof.conformance.run.alone import played_alone
from wireproof.conformance.run.answer_deadlines import AnswerDeadlines
from wireproof.conformance.run.bounds import Bounds
from wireproof.conformance.run.probe import Spoken
from wireproof.conformance.run.route import SPARE, UNMEASURED, Route, served_at_once
from wireproof.conformance.run.segmentation_sample import ONLY_WHOLE, SegmentationChoice, Tally, chosen, duration
from wireproof.conformance.run.shorter_walks import Search, searches
from wireproof.conformance.run.together import Together
from wireproof.conformance.suite.case_needs import CaseNeeds, needs_of
from wireproof.conformance.suite.case_traits import parameters_in, patience, sent_by, waits
from wireproof.conformance.suite.cases import Case, Suite
from wireproof.conformance.suite.declared import answer_time
from wireproof.conformance.suite.segmentation import SEGMENTATIONS, WHOLE, Segmentation
from wireproof.conformance.suite.symbols import Symbols
from wireproof.conformance.suite.walks import is_walk
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

Report = Callable[[Record], None]

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
    alone: bool = False
    """Whether some of the cases that allow others beside them are played alone (`alone.py`)."""
    listeners: Mapping[str, Address] | None = None
    """The addresses of the target's listeners beside the usual one, by name."""
    undeclared: frozenset[str] = frozenset()
    """The protocol's own limits that nobody declared of the target."""
    unknown: frozenset[str] = frozenset()
    """Those of them that no document bounds and that are not found out: cases cannot wait for them."""
    unlike: frozenset[str] = frozenset()
    """Those of them that the target was found not to have as they are assumed: no case can count on them."""


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
        self.played_alone: set[str] = set()
        """Those cases that were played while nothing else was under way, although they allow others beside them."""
        self.failed_walks: dict[str | None, Case] = {}
        """Broken clause -> the first walk that failed by it: they are shortened once the run is over."""
        self.together = Together(suite, run.profile, self.player)
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
                yield [one for one in cases if (one.id in last) is later and self.is_early(one) is alone], alone

    def is_early(self, case: Case) -> bool:
        """Say whether a case is played before most others: alone, or since others rest on it."""
        return is_early(case) or self.plays_alone(case)

    def player(self, case: Case, attempt: int = 0, sent: Segmentation | None = None) -> Player:
        """Return a fresh player of `case`, `sent` as its delivery says or so; each attempt has keys of its own."""
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
        return Player(case, symbols, segmentation=sent or SEGMENTATIONS[case.segmentation], timeout=timeout, way=way)

    def lacking(self, case: Case) -> tuple[str, ...]:
        """Return what a case needs and the target does not declare."""
        declared = self.settings.features
        return () if declared is None else tuple(name for name in case.needs if name not in declared)

    def undeclared(self, case: Case) -> Outcome | None:
        """Return the outcome of a case that is not asked because of what the target lacks; None for all others."""
        if lacking := self.lacking(case):
            return undeclared(lacking, self.suite.features)
        unknown = self.settings.unknown if waits(case) else frozenset()
        if unbounded_here := parameters_in(case, unknown | self.settings.unlike):
            return unbounded(sorted(unbounded_here), self.suite.parameters)
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

    def plays_alone(self, case: Case) -> bool:
        """Say whether a case is played alone although it allows others beside it (`alone.py`)."""
        return case.segmentation == WHOLE.name and case.id in self.alone

    def alone_of(self, cases: Sequence[Case]) -> list[Case]:
        """Return which of some cases are played so, in the order of the plays."""
        return sorted(filter(self.plays_alone, cases), key=lambda one: self.alone[one.id])

    @cached_property
    def alone(self) -> Mapping[str, int]:
        """The cases that are played so -> their place in the order; none where one plays at a time anyway."""
        if not self.settings.alone or self.settings.jobs == 1:
            return {}
        trip = self.settings.route.round_trip
        cases = [case for case in self.cases if self.undeclared(case) is None]
        chosen = played_alone(
            cases,
            self.suite,
            self.run.profile,
            self.settings.parameters,
            lambda case: trip and self.needs(case).round_trips * trip,
        )
        return {case.id: place for place, case in enumerate(chosen)}

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

    def asks_for_tables(self, case: Case) -> bool:
        """Say whether a case asks for a table of all that the target holds (`tables` of the probe)."""
        return bool(self._tables) and not self._tables.isdisjoint(sent_by(case))

    @cached_property
    def _tables(self) -> frozenset[str]:
        return frozenset(self.suite.probe.get("tables", ()))

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

    def settle(self, case: Case, outcome: Outcome) -> bool:
        """Note the outcome that stands; say whether it has a record: if not sent whole, only if it adds something."""
        if case.segmentation != WHOLE.name:
            return self.tally.keeps(outcome)
        if is_walk(case.id) and outcome.verdict is Verdict.FAIL:
            self.failed_walks.setdefault(outcome.blamed, case)
        return True

    def stop(self, why: str) -> None:
        """Note that the run ends before its cases do: what is recorded from now on says so."""
        self.stopped = why
        self.run.partial.append(why)

    def searches(self) -> list[Search]:
        """Return searches for shorter walks, one for each clause that failed one; none where the run was ended."""
        return [] if self.stopped else searches(list(self.failed_walks.values()), self.suite.context)

    def note(self, case: Case, outcome: Outcome, began: float) -> None:
        """Write a play into the journal. Raises what `journal` raises."""
        self.journal(self.record(case, outcome, began))

    def record(self, case: Case, outcome: Outcome, began: float) -> Record:
        """Return the record of a play that began at `began` (`time.monotonic`)."""
        took = int((time.monotonic() - began) * 1e6)
        made = record(self.run, self.suite, case, outcome, duration_us=took, with_passes=self.keeps_passes)
        if case.segmentation == WHOLE.name and case.id in self.played_alone:
            made["extra"]["alone"] = True
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


def is_early(case: Case) -> bool:
    """Say whether a case is played before most others: it needs the target for itself, or others rest on it."""
    return case.exclusive or case.prerequisite or case.prerequisite_of_all or bool(case.prerequisite_of)


def _unwritten(record: Record) -> None:
    """Keep no journal."""


def _announce_nothing(why: str) -> None:
    """Say nothing."""
