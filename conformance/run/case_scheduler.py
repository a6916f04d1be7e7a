"""The scheduler of one run over sockets: what is played alone, what concurrently, and what once more.

A run must be short, and no case may fail because of another. The order of a run follows from that:

1. Cases that need the target for themselves (`exclusive`) are played alone, first, while the target holds nothing of
   others; those that require a fresh server before all. Between the two come the cases on which others rest, so that
   where a target is wrong throughout the smallest case shows it; of these first, one by one, those that ask for whole
   tables, while the tables are short: a defect of one row then shows apart from one of several fragments.
   Last of these come the plainest cases that would allow others beside them, as long as they pass: what only the next
   request of somebody else makes good shows nowhere else (`alone.py`).
2. All others are played concurrently, as many as the limiter admits. The longest start first. A case that waits leaves
   its place, so waiting costs the longest wait, not the sum.
3. A case that passed whole is played under other segmentations at once, beside cases that are still played whole;
   one on which others rest, once the latter begin. Plays of a case that names keys which are not its own follow one
   another.
4. What may have failed because of others is retried (`report_or_retry`): a case that did not pass beside plays under
   other segmentations, or came too late to decide, is played again concurrently with its like; what is still doubtful,
   alone; where one fault fails many that wait, the first of them (`seen_again.py`). A failure under another
   segmentation is seen again, and the case whole after it (`verdict/confirmation.py`).
5. Cases with resource limits come last, each on a target of its own where that can be had.

A target that goes away is a crash of the case that was alone with it. Where several were under way nobody knows which
of them did it: they are untestable, and the case that stands for the whole run (`stays_up` of the protocol's probe) is
the crash. `crashes/supervision.py` starts the server again and finds the one that did it.

The scheduler decides what is played; what an outcome is worth is decided in `verdict/pipeline.py`, from the evidence
that retries bring. An exception in one case becomes its record and ends nothing else.
"""

# Strategy
#
# Concurrency makes a run short and a verdict doubtful: a case beside 31 others may be late, find no free connection, or
# lose the target to a crash of another case. Playing everything alone would take minutes, so cases are played together
# first, and only doubtful outcomes again. A pass is never doubtful.
#
# Three kinds of doubt are kept apart. An outcome that is the harness's own fault, a crash, or a connection that was
# refused (`_is_doubtful`) may come from the load: it is played again alone. A failure beside plays under other
# segmentations (`_is_disturbed`) may come from them, if such plays were under way or ended after the case began: a
# target that cannot read cut frames may break for everybody. A case may come too late to judge, or fail in a step that
# prepares (`_is_late`). The last two kinds are played again concurrently first, as there may be many.
#
# Outcomes are doubted at most once each way, so the rounds end: concurrent, concurrent with its like, alone. The
# outcome of a play alone is final. A replay has other keys (`attempt`), since the first play may have left records.
#
# Order within a round: waits must not add up, so the longest lanes start first. A lane is what must not overlap: plays
# of one case that names keys which are not its own. Behind what waits come the cases that ask for whole tables: what
# other cases leave makes these tables grow, and is read as often as they are asked for.
#
# Plays under other segmentations start once their case has passed whole, and share the limiter with whole plays. So
# they are free while whole cases wait; the time budget of the sample begins when no whole case is left.
#
# Every play that did not pass goes to the journal at once (`Plan.note`): a run that is killed loses no failure that
# waits for its replay here, or for its cause in `verdict/consequences.py`. In the end each case has its record.

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from math import inf

from wireproof.conformance.drivers.limiter import Limiter
from wireproof.conformance.drivers.sockets import SocketDriver
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.run.bounds import time_is_over
from wireproof.conformance.run.doubts import DISTURBED, is_doubtful, is_late, is_unanswered, was_cut
from wireproof.conformance.run.plan import Plan, Report, is_early
from wireproof.conformance.run.quiet import Quiet
from wireproof.conformance.run.seen_again import SeenAgain
from wireproof.conformance.run.target_plays import TargetPlays
from wireproof.conformance.run.timeouts import Timeouts
from wireproof.conformance.suite.case_traits import keeps_to_itself, patience, requests, waits
from wireproof.conformance.suite.cases import Case
from wireproof.conformance.suite.segmentation import WHOLE
from wireproof.conformance.verdict.confirmation import whole
from wireproof.conformance.verdict.crashes import ANSWERS_NOBODY, Death, ended_early, not_played, unexplained
from wireproof.conformance.verdict.pipeline import Evidence, decide, one_at_a_time

BELIEVED = 8
"""Cases in a row that lost a connection or let time pass, and failed again alone: the next ones are believed."""


ENOUGH = 3
"""How many cases that do not pass alone are enough: the others are played beside each other."""
UNDISTURBED = 10.0
"""Seconds, beside those they let pass, after which no more of them are: the target is slow, or the machine busy."""


class CaseScheduler(TargetPlays):
    """One run over sockets; `run` plays everything."""

    def __init__(self, plan: Plan, driver: SocketDriver, report: Report) -> None:
        super().__init__(plan, driver)
        self.limiter = driver.limiter or Limiter(1)
        self._report = report
        self._doubtful: list[tuple[Case, Outcome, float]] = []
        self.guilty: set[str] = set()
        """The cases that end the target."""
        self.deaths: list[Death] = []
        self._begun: set[tuple[str, str]] = set()
        """Case and segmentation of each play that was begun beside plays of whole cases."""
        self.quiet, self._timeouts, self._seen = Quiet(plan, driver), Timeouts(plan), SeenAgain()
        self._lost: list[tuple[Case, Outcome, float]] = []
        """Cases that lost the target while others were under way, and could not be retried."""
        self._reported: set[str] = set()
        """Cases that have the record of their whole play."""
        self._is_cut = False
        """Whether cases were not begun, so that those in doubt were decided."""
        self._failed_again = 0
        """How many cases in a row lost a connection or let time pass, and did not pass again alone."""

    async def run(self) -> None:
        """Play everything."""
        mine = [case for case in self.plan.cases if case is not self.plan.stays_up]
        for part, alone in self.plan.parts([case for case in mine if not case.budget]):
            await self._all(part if alone else [*self._deferred(), *part])
            await self._other_segmentations(alone=alone)
        await self.play_held_back()
        await self._retry_doubtful()
        self._report_losses()
        for case in mine:
            if case.budget:
                await self.restart_target()
                await self.play_alone([case])
                await self._retry_doubtful()
        await self._last()
        await self._retry_doubtful()
        if self._is_cut and not self.gone:
            why = time_is_over(self.plan.bounds.max_time)
            self.plan.stop(why)
            self._report_unplayed(ended_early(why))
        self._report_unplayed(not_played(self.gone or "was put off"))

    async def _all(self, cases: Sequence[Case]) -> None:
        """Play cases to the end, those in doubt again."""
        await self.play_alone([case for case in cases if case.exclusive and case.fresh_server])
        short = self._of_short_tables(cases)
        await self.play_alone(short)
        played = set(map(id, short))
        played.update(map(id, await self._play_undisturbed([case for case in cases if id(case) not in played])))
        await self.play_concurrently([case for case in cases if not case.exclusive and id(case) not in played])
        await self.play_alone([case for case in cases if case.exclusive and not case.fresh_server])
        first, self._doubtful = self._doubtful, []
        failed = [case for case, outcome, _ in first if outcome.verdict in DISTURBED]
        waited = [] if self.gone else await self._timeouts.find(self.driver.address, failed)
        late = [one[0] for one in first if one[0] in waited or self._is_due_beside_others(*one)]
        self._doubtful = [one for one in first if one[0] not in late]
        await self.play_concurrently(late, attempt=1)
        await self._retry_doubtful()

    async def _play_undisturbed(self, cases: Sequence[Case]) -> list[Case]:
        """Play what allows others beside it alone, as long as most pass; return it. Who fails is asked again."""
        left, played = self.plan.alone_of(cases), list[Case]()
        passed = self.confirmation.passed
        waited = sum(patience(case, self.plan.settings.parameters) for case in left)
        self.calm_until = time.monotonic() + UNDISTURBED + waited
        while left and not self.gone and time.monotonic() < self.calm_until:
            self.spared = []
            self.plan.played_alone.update(one.id for one in left)
            await self.play_alone(left)
            self.plan.played_alone.difference_update(one.id for one in self.spared)
            played += left[: len(left) - len(self.spared)]
            await self._retry_doubtful()
            left = self.spared if sum(one.id not in passed for one in played) < ENOUGH else []
        self.calm_until = inf
        return played

    def _of_short_tables(self, cases: Sequence[Case]) -> list[Case]:
        """Return what asks for tables and others rest on, what asks for little before what asks for much."""
        early = [case for case in cases if not case.exclusive and case.segmentation == WHOLE.name and is_early(case)]
        return sorted(filter(self.plan.asks_for_tables, early), key=requests)

    async def _retry_doubtful(self) -> None:
        """Play what is still doubtful again, alone."""
        for _ in range(len(self._doubtful)):
            await self._retry(*self._doubtful[0])
            del self._doubtful[0]

    async def _other_segmentations(self, *, alone: bool) -> None:
        """Play what is left under other segmentations of what passed; begin none once the time for a sample is over."""
        if not self.gone:
            left = [one for one in self.plan.others(self.confirmation.passed) if one.exclusive == alone]
            self.confirmation.begin()
            await self._all([one for one in left if (one.id, one.segmentation) not in self._begun])
            self.confirmation.end()

    def _deferred(self) -> list[Case]:
        """Return, once, the plays under other segmentations of what was played whole before most cases."""
        left = [one for one in self.plan.others(self.confirmation.passed) if not one.exclusive]
        due = [one for one in left if (one.id, one.segmentation) not in self._begun]
        self._begun.update((one.id, one.segmentation) for one in due)
        return due

    async def play_alone(self, cases: Sequence[Case]) -> None:
        """Play cases that need the target for themselves."""
        for number, case in enumerate(cases, 1):
            if self.puts_off(0):
                return
            began = time.monotonic()
            outcome = not_played(self.gone) if self.gone else await self.play(case)
            if case.exclusive and outcome.verdict in DISTURBED and not self.gone:
                outcome = await self.quiet.settled(case, outcome, time.monotonic() - began, self.play_again)
            await self._retry(case, outcome, began, alone=True)
            if self.is_calm_over(outcome):
                self.spared = list(cases[number:])
                return

    async def play_concurrently(self, cases: Sequence[Case], attempt: int = 0) -> None:
        """Play cases that allow others beside them, and under other segmentations what passes.

        The time for a sample begins when all are played: plays under other segmentations that run with them take none.
        """
        async with asyncio.TaskGroup() as others:
            async with asyncio.TaskGroup() as tasks:
                for lane in self.in_turn(cases):
                    tasks.create_task(self._shared(lane, attempt, others))
            self.confirmation.begin()
        self.confirmation.end()

    async def _shared(self, lane: Sequence[Case], attempt: int, others: asyncio.TaskGroup) -> None:
        for case in lane:
            async with self.limiter.place(case.segmentation):
                if self.puts_off(attempt):
                    return
                began = time.monotonic()
                outcome = not_played(self.gone) if self.gone else await self.play(case, attempt)
            self.report_or_retry(case, outcome, began)
            for later in self.due_segmentations(case) if not attempt else ():
                others.create_task(self._shared(later, 0, others))

    def puts_off(self, attempt: int) -> bool:
        """Say whether a play is not begun, since the time that is left is for what is in doubt."""
        late = not attempt and self.plan.bounds.is_closing and bool(self._doubtful)
        self._is_cut |= late
        return late

    def in_turn(self, cases: Sequence[Case]) -> list[list[Case]]:
        """Return the plays that may run concurrently, each with those that must follow it, in order.

        What waits comes first, the longest before others; then what asks for tables, short plays before long ones.
        """
        by_case: dict[str, list[Case]] = {}
        for case in cases:
            by_case.setdefault(case.id, []).append(case)
        lanes: list[list[Case]] = []
        for plays in by_case.values():
            apart = len(plays) > 1 and keeps_to_itself(plays[0])
            lanes += [[one] for one in plays] if apart else [plays]

        def urgency(lane: Sequence[Case]) -> tuple[bool, bool, float]:
            case, seconds = lane[0], sum(map(self.plan.duration, lane))
            asks = self.plan.asks_for_tables(case)
            return waits(case), asks, -seconds if asks and not waits(case) else seconds

        return sorted(lanes, key=urgency, reverse=True)

    def due_segmentations(self, case: Case) -> list[list[Case]]:
        """Return, once, the plays under other segmentations that are due now that a case was played whole.

        Of cases that most others wait for none is due: while the slow ones of a few cases play, little else would.
        """
        if (
            self.gone
            or case.segmentation != WHOLE.name
            or case.id not in self.confirmation.passed
            or self.plan.is_early(case)
        ):
            return []
        due = [one for one in self.plan.others_of(case) if (one.id, one.segmentation) not in self._begun]
        self._begun.update((one.id, one.segmentation) for one in due)
        return self.in_turn(due)

    def report_or_retry(self, case: Case, outcome: Outcome, began: float) -> None:
        """Report a case, or keep it for another try when its outcome is doubtful."""
        self._seen.note(case, outcome)
        disturbed = self._is_disturbed(case, outcome) and self.was_beside_others(began)
        if disturbed or self._is_doubtful(case, outcome, began) or self.confirmation.is_needed(case, outcome):
            self._doubtful.append((case, outcome, began))
        else:
            self.report(case, outcome, began)

    def _is_doubtful(self, case: Case, outcome: Outcome, began: float) -> bool:
        """Say whether an outcome may come from the load, or from a target that went away, was slow or serves few."""
        if is_doubtful(outcome):
            return True
        if outcome.verdict not in DISTURBED:
            return False
        again = self._failed_again < BELIEVED and (was_cut(outcome) or waits(case))
        again |= is_unanswered(outcome) and self.plan.bounds.most_pass and not self.plan.deadlines.is_believed
        again &= was_cut(outcome) or not self._seen.is_believed(case, outcome)
        return again or self.available.was_away_since(began) or self.plan.opens_many(case)

    def _is_due_beside_others(self, case: Case, outcome: Outcome, began: float) -> bool:
        """Say whether a doubtful case is played again beside others first: there may be many like it."""
        if case.exclusive or self.plan.plays_alone(case):
            return False
        return is_late(outcome) or self._is_disturbed(case, outcome) or self.available.was_away_since(began)

    def _is_disturbed(self, case: Case, outcome: Outcome) -> bool:
        """Say whether plays under other segmentations, if any were beside it, may be why a case did not pass whole."""
        return case.segmentation == WHOLE.name and outcome.verdict in DISTURBED and not outcome.unreachable

    def report(self, case: Case, outcome: Outcome, began: float) -> None:
        """Report a case; who is reported as a crash has ended the target."""
        outcome = self.plan.as_far_away(case, outcome)
        if outcome.verdict is Verdict.CRASH:
            self.guilty.add(case.id)
        self.confirmation.note(case, outcome)
        self._reported |= {case.id} if case.segmentation == WHOLE.name else set()
        if self.plan.settle(case, outcome):
            self._report(self.plan.record(case, outcome, began))

    async def _retry(self, case: Case, outcome: Outcome, began: float, *, alone: bool = False) -> None:
        """Report a case that has the target for itself, played again first when its outcome is doubtful.

        `alone`: it had it for itself the first time, too.
        """
        lost = outcome.verdict is Verdict.CRASH
        if (self._is_doubtful(case, outcome, began) or self.confirmation.is_needed(case, outcome)) and not self.gone:
            again_at = time.monotonic()
            with self.plan.deadlines.in_full(outcome):
                again = await self.play_again(case)
            self._seen.note_alone(again)
            if is_unanswered(outcome):
                self.plan.deadlines.count_again(outcome, again)
            if was_cut(outcome) or waits(case):
                self._failed_again = 0 if again.verdict is Verdict.PASS else self._failed_again + 1
            if not (lost and again.unreachable):
                outcome, began, lost = await self._with_confirmation(case, again), again_at, False
            if outcome.verdict is not Verdict.PASS and not self.gone and self.plan.opens_many(case):
                outcome = decide(outcome, Evidence(narrow=await self.plan.too_many(case, self.driver.address)))
        if lost and not alone:
            self._lost.append((case, outcome, began))
        else:
            self.report(case, outcome, began)

    async def _with_confirmation(self, case: Case, outcome: Outcome) -> Outcome:
        """Return what a failure under another segmentation is worth, once the same case was played whole again."""
        if not self.confirmation.is_needed(case, outcome) or self.gone:
            return outcome
        played_whole = await self.play_again(whole(case), self.confirmation.attempt())
        self.confirmation.count(case, played_whole)
        return decide(outcome, Evidence(whole=played_whole))

    async def play_held_back(self) -> None:
        """Play what was put off because it might end the target as others did."""

    async def restart_target(self) -> None:
        """Get a target on which nothing was done yet, where that can be had."""

    async def play_again(self, case: Case, attempt: int = 2) -> Outcome:
        """Play a case that has the target for itself; note it when the target is gone after it."""
        outcome = await self.play(case, attempt)
        lost = outcome.verdict is Verdict.CRASH or outcome.unreachable
        if lost and not self.gone and not await self.serves():
            self.lose(f"{ANSWERS_NOBODY} since {case.id}")
        return outcome

    def stop(self, why: str) -> None:
        """Report what was not played to its end, once the run was ended before its cases were; `why` as `Bounds.over`.

        What was seen and should have been seen again blames nobody, unless it was alone, or nothing at all has passed.
        """
        outcome, deaths = ended_early(why), [one for one in self.deaths if self.guilty.isdisjoint(one.cases)]
        if self.plan.stays_up is not None and deaths:
            self.report(self.plan.stays_up, unexplained(deaths), time.monotonic())
        for case, first, began in (*self._doubtful, *self._lost):
            if case.segmentation == WHOLE.name and case.id not in self._reported:
                alone = case.id in self.plan.played_alone
                stands = (alone or not self.plan.bounds.passed) and first.verdict in DISTURBED
                self.report(case, first if stands else ended_early(why, first), began)
        self._report_unplayed(outcome)

    def _report_unplayed(self, outcome: Outcome) -> None:
        for case in self.plan.cases:
            if case.id not in self._reported:
                self.report(case, outcome, time.monotonic())

    def _report_losses(self) -> None:
        """Report the cases that lost the target while others were under way; a single one did it."""
        lost, others, stands = self._lost, len(self._lost) - 1, self.plan.stays_up
        of_many = Evidence(others=others, rests_on=stands.id) if others > 0 and stands is not None else Evidence()
        for case, outcome, began in lost:
            self.report(case, decide(outcome, of_many), began)
        if of_many.others:
            self.deaths.append(Death.of_target(self.gone, [case.id for case, _, _ in lost]))

    async def _last(self) -> None:
        """Report the case that stands for the whole run: ends of the target that no case is known to cause."""
        case, began = self.plan.stays_up, time.monotonic()
        if self.gone and not self.deaths and not self.guilty:
            self.deaths.append(Death.of_target(self.gone, ()))
        deaths = [one for one in self.deaths if self.guilty.isdisjoint(one.cases)]
        if case is not None and deaths:
            self.report(case, unexplained(deaths), began)
        elif case is not None and self.plan.settings.route.at_once == 1:
            self.report(case, one_at_a_time(), began)
        elif case is not None and case in self.plan.cases:
            await self.play_alone([case])
