"""One run against a server that wireproof started: each death is traced to its case, and the run continues.

Cases that were under way when it died, or had ended just before, play again alone on a fresh process, the likely ones
first; who ends it again, as the first on its process, is the crash. Cases that were only waiting come last, by
halves. A death that nobody repeats is the crash of the case that stands for the whole run.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from wireproof.conformance.drivers.sockets import SocketDriver
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.run.case_scheduler import CaseScheduler, Report
from wireproof.conformance.run.crash_attribution import Batch, Suspect
from wireproof.conformance.run.known_causes import KnownCauses, Signature
from wireproof.conformance.run.processes import ServerProcess, StartError
from wireproof.conformance.suite.cases import Case
from wireproof.conformance.suite.segmentation import WHOLE
from wireproof.conformance.verdict.causes import signature
from wireproof.conformance.verdict.crashes import Death, Hang, ProcessEnd, not_played
from wireproof.conformance.verdict.last_words import in_frame, last_words
from wireproof.conformance.verdict.pipeline import Evidence, decide

if TYPE_CHECKING:
    from wireproof.conformance.run.runner import Plan

GRACE = 0.25
"""Seconds after the end of a case in which a death may still come from it."""
SETTLE = 0.05
"""The same for a case that passes alone."""
LATE = 1.0
"""The same for a case that may have ended the server while the next one played."""
PREDECESSORS = 3
"""How many cases before that next one are looked at."""
TICK = 0.02
LOOKS = 4
"""How often it is looked at whether a server that answers nobody wants the processor."""
ALONE = 3
"""Number of the attempt that is made alone, on a fresh process."""
QUOTED = 3
"""Last lines of the server shown with the verdict; the record's `extra` has more."""
FEW = 8
"""How many cases are looked at one by one after a death like one whose case was not found before."""
TRIES = 2
"""How many of the cases that were put off may end the server before the rest is held back."""
REPORT = 400
"""Last lines in which a report of the death is looked for."""

Played = tuple[Case, Outcome, float]
"""A case, what came of it, and when it began."""


class SupervisedScheduler(CaseScheduler):
    """A round that starts the server again when it died, `restarts` times at most."""

    holds_passes = True

    def __init__(self, plan: Plan, driver: SocketDriver, report: Report, server: ServerProcess, restarts: int) -> None:
        super().__init__(plan, driver, report)
        self._server = server
        self._most = restarts
        self._restarts = 0
        self._hang: Hang | None = None
        self.known = KnownCauses(restarts)
        self._in_vain: set[Signature] = set()
        """Ends whose case was looked for and not found."""
        self._put_off: list[Case] = []
        """Cases that might end the server as others did; they are played last, until some of them did."""

    async def play_concurrently(self, cases: Sequence[Case], attempt: int = 0) -> None:
        """See `CaseScheduler`."""
        await self._play_all(list(cases), attempt, alone=False)

    async def play_alone(self, cases: Sequence[Case]) -> None:
        """See `CaseScheduler`."""
        await self._play_all(list(cases), 0, alone=True)

    async def play_again(self, case: Case, attempt: int = ALONE) -> Outcome:
        """See `CaseScheduler`; a case that needs a server which holds nothing gets one."""
        if case.fresh_server:
            await self.restart_target()
        if self.gone:
            return not_played(self.gone)
        if (held := self._held_back(case)) is not None:
            return held
        outcome, death = await self._alone(case, attempt=attempt)
        if death is not None:
            await self._start_again(death)
        return outcome

    async def restart_target(self) -> None:
        """See `CaseScheduler`."""
        if not self.gone:
            await self._start("for a case that wants a fresh one")

    async def is_there(self, case: Case) -> bool:
        """See `CaseScheduler`; a server that wireproof started is watched instead."""
        return True

    def report(self, case: Case, outcome: Outcome, began: float) -> None:
        """See `CaseScheduler`."""
        if outcome.verdict is Verdict.PASS:
            self.known.passed(case)
        super().report(case, outcome, began)

    def _held_back(self, case: Case) -> Outcome | None:
        """Return the outcome of a case that would end the server as others did; None where it is to be played."""
        held = self.known.would_do_it(case)
        return None if held is None else held.outcome

    async def play_held_back(self) -> None:
        """See `CaseScheduler`; one that passes after all sets free what others were held back for."""
        tries: Counter[str] = Counter()
        free: list[Case] = []
        for case in sorted(self._put_off, key=self.known.suspicion):
            held, began = self.known.would_do_it(case), time.monotonic()
            if held is None:
                free.append(case)
            elif self.gone or tries[held.cause.case] >= TRIES:
                self.report(case, held.outcome, began)
            else:
                outcome, death = await self._alone(case, LATE)
                tries[held.cause.case] += death is not None
                self.report(case, outcome, began)
                if death is not None:
                    self.known.found(self._signature(death), self._last_words(death), case)
                    await self._start_again(death)
        self._put_off = []
        await self._all(free)
        for case in self._put_off:
            self.report(case, self._held_back(case) or not_played(self.gone or "was put off"), time.monotonic())

    async def _serves(self) -> bool:
        """See `CaseScheduler`; measure what a server does that answers nobody."""
        began, before = time.monotonic(), self._server.usage().cpu
        serves = await super()._serves()
        if serves:
            self._hang = None
            return True
        used, seconds, looks = self._server.usage().cpu - before, time.monotonic() - began, []
        for _ in range(LOOKS):
            await asyncio.sleep(TICK)
            looks.append(self._server.runs())
        self._hang = Hang(used, seconds, all(looks))
        return False

    def serves_nobody(self, case: Case, outcome: Outcome) -> Outcome:
        """End a server that runs and answers nobody: as good as dead, and dealt with as such."""
        self._server.give_up("answered nobody any more, and was ended by wireproof")
        return outcome

    async def _play_all(self, cases: list[Case], attempt: int, *, alone: bool) -> None:
        batches = deque([cases])
        while batches:
            cases = batches.popleft()
            if self.gone:
                self._give_up(cases)
                continue
            batch = Batch(asyncio.get_running_loop().create_future())
            watch = asyncio.create_task(self._watch(batch))
            try:
                await self._play_batch(batch, cases, attempt, alone=alone)
            finally:
                watch.cancel()
            if batch.death.done():
                batches.extendleft(reversed(await self._find(batch)))

    async def _watch(self, batch: Batch) -> None:
        while self._server.death() is None:
            await asyncio.sleep(TICK)
        batch.death.set_result(None)

    async def _play_batch(self, batch: Batch, cases: list[Case], attempt: int, *, alone: bool) -> None:
        if alone:
            for case in cases:
                await self._play_one(batch, case, attempt)
        else:
            async with asyncio.TaskGroup() as others:
                async with asyncio.TaskGroup() as tasks:
                    for lane in self.in_turn(cases):
                        tasks.create_task(self._play_each(batch, lane, attempt, others))
                self.confirmation.begin()
            self.confirmation.end()
        if batch.ended:
            await asyncio.wait({batch.death}, timeout=GRACE)
        self._flush(batch, 0.0)

    async def _play_each(self, batch: Batch, lane: Sequence[Case], attempt: int, others: asyncio.TaskGroup) -> None:
        """Play a case; under other deliveries once it has passed and the server has outlived it long enough."""
        for case in lane:
            await self._play_one(batch, case, attempt)
            if not attempt and case.segmentation == WHOLE.name and self.plan.others_of(case):
                await asyncio.wait({batch.death}, timeout=GRACE + TICK)
                self._flush(batch, GRACE)
                for later in self.due_segmentations(case) if not batch.death.done() else ():
                    others.create_task(self._play_each(batch, later, 0, others))

    async def _play_one(self, batch: Batch, case: Case, attempt: int) -> None:
        async with self.limiter.place(case.segmentation):
            if batch.death.done():
                batch.left.append(case)
                return
            if self._held_back(case) is not None:
                self._put_off.append(case)
                return
            began, player = time.monotonic(), self.plan.player(case, attempt)
            playing = asyncio.create_task(self.play(case, attempt, player))
            either: set[asyncio.Future[Any]] = {playing, batch.death}
            try:
                await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            finally:
                playing.cancel()
            (outcome,) = await asyncio.gather(playing, return_exceptions=True)
        if isinstance(outcome, Exception):
            raise outcome
        batch.add(Suspect.of(case, player, began, outcome if isinstance(outcome, Outcome) else None))
        self._flush(batch, GRACE)

    def _flush(self, batch: Batch, seconds: float) -> None:
        """Settle the cases that ended so many seconds ago, while the server lives."""
        if self._server.death() is None:
            for played in batch.settled(seconds):
                self.report_or_retry(*played)

    async def _find(self, batch: Batch) -> list[list[Case]]:
        """Find out which case ended the server; return the batches that are still to be played."""
        death = self._server.death() or "is gone"
        suspects, waiting = batch.suspects(self.known.suspicion)
        under_way = [one.case.id for one in (*suspects, *waiting)]
        self.deaths.append(Death(death, under_way, self._evidence(death)))
        crash_signature = self._signature(death)
        await self._start_again(death)
        tried, guilty = await self._try(suspects[:FEW] if crash_signature in self._in_vain else suspects)
        if guilty is None:
            self._in_vain.add(crash_signature)
        for played in tried:
            if played[0] is not guilty:
                self.report_or_retry(*played)
        done = {id(guilty), *(id(case) for case, _, _ in tried), *map(id, self._put_off)}
        left = [one for one in suspects if id(one.case) not in done]
        if guilty is not None or self.gone:
            return [[*self._cleared([*left, *waiting]), *batch.left]]
        half, again = len(waiting) // 2, self._cleared(left)
        return [again, [one.case for one in waiting[:half]], [one.case for one in waiting[half:]], batch.left]

    async def _try(self, suspects: Sequence[Suspect]) -> tuple[list[Played], Case | None]:
        """Play suspects alone until one ends the server, and report that one; return who was tried and the guilty."""
        tried: list[Played] = []
        for one in suspects:
            if self.gone:
                break
            began = time.monotonic()
            if self._held_back(one.case) is not None:
                self._put_off.append(one.case)
                continue
            outcome, death = await self._alone(one.case)
            played = one.case, outcome, began
            if death is None:
                tried.append(played)
                continue
            crash_signature, detail = self._signature(death), self._last_words(death)
            guilty = await self._confirmed(played, tried, death)
            if guilty is not None:
                self.known.found(crash_signature, detail, guilty[0])
                self.report(*guilty)
                await self._start_again(death)
                return tried, guilty[0]
        return tried, None

    async def _confirmed(self, last: Played, tried: list[Played], death: str) -> Played | None:
        """Return who ends the server as the first on its process: the one that played last, or one before it, late."""
        if not tried:
            return last
        for case, patience in ((last[0], SETTLE), *((case, LATE) for case, _, _ in reversed(tried[-PREDECESSORS:]))):
            if not await self._start_again(death):
                return last
            began = time.monotonic()
            outcome, again = await self._alone(case, patience)
            if again is not None:
                return case, outcome, began
            if case is last[0]:
                tried.append((case, outcome, began))
        return None

    def _cleared(self, suspects: Sequence[Suspect]) -> list[Case]:
        """Settle those that had passed; return the others, whose play was cut short or spoilt by the death."""
        spoilt = []
        for one in suspects:
            if one.passed and one.outcome is not None:
                self.report_or_retry(one.case, one.outcome, one.began)
            else:
                spoilt.append(one.case)
        return spoilt

    async def _alone(self, case: Case, patience: float = SETTLE, *, attempt: int = ALONE) -> tuple[Outcome, str | None]:
        """Play a case alone; return its outcome, a crash with its evidence where the server died."""
        outcome = await self.play(case, attempt)
        deadline = time.monotonic() + (patience if outcome.verdict is Verdict.PASS else max(patience, GRACE))
        while (death := self._server.death()) is None and time.monotonic() < deadline:
            await asyncio.sleep(TICK)
        return (outcome if death is None else self._crash(case, outcome, death)), death

    def _crash(self, case: Case, outcome: Outcome, death: str) -> Outcome:
        """Return the crash of a case; one that ended at another request than it is about breaks no clause on its own.

        Then the clause is blamed that asks the server to stay up.
        """
        hang = self._hang if self._server.given_up else None
        end = ProcessEnd(death, self._server.last_words(QUOTED), case.clauses[0], self._evidence(death), hang)
        found = decide(outcome, Evidence(end=end))
        about, stays_up = self.plan.suite.clauses[case.clauses[0]].group, self.plan.stays_up
        if stays_up is None or outcome.place is None or outcome.place.reply_to == about:
            return found
        return replace(found, blamed=stays_up.clauses[0])

    def _evidence(self, death: str) -> dict[str, Any]:
        found: dict[str, Any] = {"death": death, "start": self._server.starts}
        found["last_words"] = self._server.last_words()
        if not self._server.given_up:
            words = last_words("\n".join(self._server.last_words(REPORT)))
            found |= words.extra
        return found

    def _signature(self, death: str) -> Signature:
        return signature(self._evidence(death))

    def _last_words(self, death: str) -> str:
        """Return how it died, with what it said and where, as in "it ..."."""
        found = self._evidence(death)
        return f"{death}{in_frame(found)}" + (f" ({found['said']})" if found.get("names_a_cause") else "")

    async def _start_again(self, death: str) -> bool:
        """Start the server again after a death, unless that was often enough."""
        if self._restarts >= self._most:
            counted = self.known.restarts()
            self.lose(f"died once more after {self._most} restarts (--restarts {self._most}): {counted}")
        else:
            self.known.died(self._signature(death), self._last_words(death), hung=self._server.given_up)
            self._restarts += 1
            await self._start(f"after it {death}")
        return not self.gone

    async def _start(self, why: str) -> None:
        try:
            await self._server.restart(why)
        except StartError as error:
            self.lose(f"does not start again: {error}")
            return
        self.driver.address = self._server.address
        self.driver.unanswered = 0

    def _give_up(self, cases: Sequence[Case]) -> None:
        for case in cases:
            self.report(case, not_played(self.gone), time.monotonic())
