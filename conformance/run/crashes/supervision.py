"""One run against a server that wireproof started: each death is traced to its case, and the run continues.

Cases that were under way when it died, or had ended just before, play again on a fresh process, the likely ones first
(`search.py`); who ends it again, as the first on its process, is the crash. Cases that were only waiting come
last, by halves. A death that nobody repeats is the crash of the case that stands for the whole run. From then on what
is under way at a death like it, or at one whose cause took its part of the restarts, is not looked at, but put off and
played at the end, a few at a time; and fewer cases play concurrently, until enough have passed.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any

from wireproof.conformance.drivers.sockets import SocketDriver
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.run.availability import Availability
from wireproof.conformance.run.case_scheduler import CaseScheduler
from wireproof.conformance.run.crashes.attribution import Batch, Suspect
from wireproof.conformance.run.crashes.evidence import CrashEvidence
from wireproof.conformance.run.crashes.known_causes import KnownCauses, Signature, end_of, in_words
from wireproof.conformance.run.crashes.search import GRACE, LATE, SETTLE, CrashSearch, Played
from wireproof.conformance.run.crashes.unprepared import Unprepared
from wireproof.conformance.run.crashes.watching import TICK, asked, give_up, watched
from wireproof.conformance.run.doubts import DISTURBED
from wireproof.conformance.run.plan import Plan, Report
from wireproof.conformance.run.processes import ServerProcess, StartError
from wireproof.conformance.suite.cases import Case
from wireproof.conformance.suite.segmentation import WHOLE
from wireproof.conformance.verdict.crashes import Death, not_played

HUNG_AGAIN = 1.0
"""Seconds in which a server answers another client, once it was seen that it may answer nobody any more."""
STARVED = 2
"""How often more a server is asked that works, and had less CPU than one deadline: others use the machine, too."""
ALONE, TOGETHER = 3, 4
"""Numbers of the attempts that are made on a fresh process, alone and with other suspects."""
FEW = 8
"""How many cases at a time play of those that were put off because of an end that nobody is known to cause."""
TRIES = 2
"""How many of the cases that were put off may end the server before the rest is held back."""
FEWEST, RECOVERY = 4, 8
"""How many cases play concurrently at least while the server keeps dying, and how many passes allow one more again."""


class SupervisedScheduler(CaseScheduler):
    """A round that starts the server again when it died, `restarts` times at most."""

    holds_passes = True

    def __init__(self, plan: Plan, driver: SocketDriver, report: Report, server: ServerProcess, restarts: int) -> None:
        super().__init__(plan, driver, report)
        self._server = server
        self.available = Availability(self._takes_connections, plan.notify, death=server.death)
        self._most = restarts
        self._restarts = 0
        self._searching = False
        """It is ended to find out who does it: such restarts do not count."""
        self._evidence = CrashEvidence(plan, server)
        self._hung = False
        """It answered nobody once; from then on it is asked all the time while cases play concurrently."""
        self.known = KnownCauses(restarts)
        self._places, self._passes, self._used = self.limiter.places, 0, 0
        """How many cases play concurrently while it lives, how many passed since it died, and which start was used."""
        self._unprepared, self._all_played = Unprepared(), False
        self._in_vain: set[Signature] = set()
        """Ends whose case was looked for and not found."""
        self._later: list[Case] = []
        """Cases that were under way at such an end again; they are played last, a few at a time."""
        self._put_off: list[Case] = []
        """Cases that might end the server as others did; they are played last, until some of them did."""

    async def play_concurrently(self, cases: Sequence[Case], attempt: int = 0) -> None:
        """See `CaseScheduler`."""
        await self._play_all(list(cases), attempt, alone=False)

    async def play_alone(self, cases: Sequence[Case]) -> None:
        """See `CaseScheduler`."""
        await self._play_all(list(cases), 0, alone=True)

    def _is_doubtful(self, case: Case, outcome: Outcome, began: float) -> bool:
        """See `CaseScheduler`. Nobody else uses the server, but what earlier cases stored may end within a late one."""
        return super()._is_doubtful(case, outcome, began) or self._meets_old_records(case, outcome)

    def _meets_old_records(self, case: Case, outcome: Outcome) -> bool:
        return case.exclusive and outcome.verdict in DISTURBED and self.quiet.doubts_own_records

    async def _retry(self, case: Case, outcome: Outcome, began: float, *, alone: bool = False) -> None:
        """See `CaseScheduler`."""
        if self._meets_old_records(case, outcome) and not self.gone:
            took = outcome.trace[-1].at_us / 1e6 if outcome.trace else 0.0
            outcome = await self.quiet.settled(case, outcome, took, self.play_again)
        await super()._retry(case, outcome, began, alone=alone)

    async def play_again(self, case: Case, attempt: int = ALONE) -> Outcome:
        """See `CaseScheduler`; a case that needs a server which holds nothing gets one."""
        if case.fresh_server:
            await self.restart_target()
        if self.gone:
            return not_played(self.gone)
        if (held := self._held_back(case)) is not None:
            return held
        outcome, death = await self._confirmed(case, SETTLE, attempt)
        if death is not None:
            await self.start_again(death)
        return outcome

    async def restart_target(self) -> None:
        """See `CaseScheduler`."""
        if not self.gone:
            await self._start("for a case that wants a fresh one")

    async def is_there(self, case: Case) -> bool:
        """See `CaseScheduler`; one that takes no connection gets some seconds to end or to come back, and is ended."""
        if not await self.available.is_there(case.id) and self._server.death() is None:
            self._server.give_up("took no connection any more, and was ended by wireproof")
        return True

    async def _takes_connections(self) -> bool:
        return self._server.death() is not None or not self._server.refuses()

    def report(self, case: Case, outcome: Outcome, began: float) -> None:
        """See `CaseScheduler`."""
        if not self._all_played and self._unprepared.takes(case, outcome, began):
            return
        if outcome.verdict is Verdict.PASS:
            self.known.passed(case)
            self._passes += 1
            self.limiter.places += self.limiter.places < self._places and self._passes % RECOVERY == 0
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
                outcome, death = await self._confirmed(case, LATE, ALONE)
                tries[held.cause.case] += death is not None
                self.report(case, outcome, began)
                if death is not None:
                    self.known.found(*end_of(outcome), case)
                    await self.start_again(death)
        self._put_off = []
        await self._play_later()
        await self._all(free)
        await self._play_later()
        for case in self._put_off:
            self.report(case, self._held_back(case) or not_played(self.gone or "was put off"), time.monotonic())
        self._all_played = True
        for played in await self._unprepared.decided(self._on_a_fresh_server):
            self.report(*played)

    async def _on_a_fresh_server(self, case: Case) -> Outcome:
        await self.restart_target()
        return await self.play_again(case)

    def stop(self, why: str) -> None:
        """See `CaseScheduler`."""
        self._all_played = True
        for played in self._unprepared.rest():
            self.report(*played)
        super().stop(why)

    async def _play_later(self) -> None:
        while self._later:
            few, self._later = self._later[:FEW], self._later[FEW:]
            await self._play_all(few, ALONE, alone=any(case.exclusive for case in few))

    async def serves(self, timeout: float | None = None) -> bool:
        """See `CaseScheduler`; measure what a server does that answers nobody."""
        if self._hung and timeout is None:
            timeout = min(HUNG_AGAIN, self.plan.settings.timeout)
        ask = partial(super().serves, timeout)
        found = await asked(self._server, ask, 0 if self._hung else STARVED, self.plan.settings.timeout)
        if found is None:
            self._evidence.hang = None
            return True
        await self._evidence.take_hang(*found)
        self._hung = True
        return False

    def serves_nobody(self, case: Case, outcome: Outcome) -> Outcome:
        """End a server that runs and answers nobody: as good as dead, and dealt with as such."""
        give_up(self._server)
        return outcome

    async def _play_all(self, cases: list[Case], attempt: int, *, alone: bool) -> None:
        batches = deque([cases])
        while batches:
            cases = batches.popleft()
            if self.gone:
                self._give_up(cases)
                continue
            batch = Batch(asyncio.get_running_loop().create_future())
            async with self._watched(batch, ask=self._hung and not alone):
                await self._play_batch(batch, cases, attempt, alone=alone)
            if batch.death.done() or batch.ended:  # what ended is not settled: it died, and nobody has noticed yet
                batches.extendleft(reversed(await self._find(batch)))

    def _watched(self, batch: Batch, *, ask: bool) -> AbstractAsyncContextManager[None]:
        """Notice the death of the server while a batch plays; `ask`: also whether it answers, all the time."""
        return watched(self._server, batch.death, partial(self.serves, HUNG_AGAIN) if ask else None)

    async def _play_batch(self, batch: Batch, cases: list[Case], attempt: int, *, alone: bool) -> None:
        if alone:
            for number, case in enumerate(cases, 1):
                await self._play_one(batch, case, attempt)
                if batch.ended and (outcome := batch.ended[-1].outcome) is not None and self.is_calm_over(outcome):
                    self.spared = cases[number:]
                    break
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
            if self.puts_off(attempt):
                return
            if batch.death.done():
                batch.left.append(case)
                return
            if self._held_back(case) is not None:
                self._put_off.append(case)
                return
            began, player = time.monotonic(), self.plan.player(case, attempt)
            self._used = self._server.starts
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
        if self._server.death() is None and not batch.held:
            for played in batch.settled(seconds):
                self.report_or_retry(*played)

    async def _find(self, batch: Batch) -> list[list[Case]]:
        """Find out which case ended the server; return the batches that are still to be played."""
        death = self._server.death() or "is gone"
        suspects, waiting = batch.suspects(self.known.suspicion)
        under_way = [one.case.id for one in (*suspects, *waiting)]
        evidence, crash_signature = self._evidence.of(death), self._evidence.signature(death)
        is_spent = self.known.is_spent(crash_signature)
        self.deaths += [] if is_spent else [Death(death, under_way, evidence)]
        await self.start_again(death)
        if (is_spent or crash_signature in self._in_vain) and len(under_way) > FEW:
            self.limiter.places = max(min(FEWEST, self._places), self.limiter.places // 2)
            self._later += self._cleared([*suspects, *waiting])
            return [batch.left]
        search = CrashSearch(self)
        self._searching = True
        guilty = await search.find(self._to_be_tried(suspects))
        if guilty is not None:
            await self.start_again(self._server.death() or death)
        self._searching = False
        for played in search.tried:
            if guilty is None or played[0] is not guilty[0]:
                self.report_or_retry(*played)
        tried = {id(case) for case, _, _ in search.tried} | set(map(id, self._put_off))
        if guilty is None:
            self._in_vain.add(crash_signature)
        else:
            tried.add(id(guilty[0]))
            self.known.found(*end_of(guilty[1]), guilty[0])
            self.report(*guilty)
        left = [one for one in suspects if id(one.case) not in tried]
        if guilty is not None or self.gone:
            return [[*self._cleared([*left, *waiting]), *batch.left]]
        half, again = len(waiting) // 2, self._cleared(left)
        return [again, [one.case for one in waiting[:half]], [one.case for one in waiting[half:]], batch.left]

    def _to_be_tried(self, suspects: Sequence[Suspect]) -> list[Case]:
        """Return the cases of suspects; put off those that end the server as others are known to do."""
        held = [one.case for one in suspects if self._held_back(one.case) is not None]
        self._put_off += held
        return [one.case for one in suspects if one.case not in held]

    async def together(self, cases: Sequence[Case], patience: float) -> tuple[list[Played], str | None]:
        """See `Replays`."""
        batch = Batch(asyncio.get_running_loop().create_future(), held=True)
        apart = any(case.exclusive for case in cases)
        async with self._watched(batch, ask=self._hung and not apart):
            async with asyncio.TaskGroup() as tasks:
                for case in cases:
                    playing = tasks.create_task(self._play_one(batch, case, TOGETHER))
                    if apart:
                        await playing
            await asyncio.wait({batch.death}, timeout=max(patience, GRACE))
        played = [(one.case, one.outcome, one.began) for one in batch.ended if one.outcome is not None]
        return played, self._server.death()

    def _cleared(self, suspects: Sequence[Suspect]) -> list[Case]:
        """Settle those that had passed; return the others, whose play was cut short or spoilt by the death."""
        spoilt = []
        for one in suspects:
            if one.passed and one.outcome is not None:
                self.report_or_retry(one.case, one.outcome, one.began)
            else:
                spoilt.append(one.case)
        return spoilt

    async def alone(self, case: Case, patience: float = SETTLE, *, attempt: int = ALONE) -> tuple[Outcome, str | None]:
        """Play a case alone; return its outcome, a crash with its evidence where the server died, and how it died."""
        self._used = self._server.starts
        outcome = await self.play(case, attempt)
        deadline = time.monotonic() + (patience if outcome.verdict is Verdict.PASS else max(patience, GRACE))
        while (death := self._server.death()) is None and time.monotonic() < deadline:
            await asyncio.sleep(TICK)
        return (outcome if death is None else self._evidence.crash(case, outcome, death)), death

    async def _confirmed(self, case: Case, patience: float, attempt: int) -> tuple[Outcome, str | None]:
        """Play a case alone as `alone` does; one that ends a server that others used must end a fresh one, too.

        What it does not end again was ended by what came before: nobody is known to do it.
        """
        used = self._used == self._server.starts
        outcome, death = await self.alone(case, patience, attempt=attempt)
        if death is None or not used:
            return outcome, death
        end, crash_signature, self._searching = self._evidence.of(death), self._evidence.signature(death), True
        started = await self.start_again(death)
        self._searching = False
        if not started:
            return outcome, death
        outcome, again = await self.alone(case, patience, attempt=attempt)
        if again is None:
            self.deaths.append(Death(death, [case.id], end))
            self.known.died(crash_signature, in_words(end), hung="hang" in end)
            self._restarts += 1
        return outcome, again

    async def start_again(self, death: str) -> bool:
        """Start the server again after a death, unless that was often enough."""
        if self._searching:
            await self._start(f"after it {death}, to find out which case did it")
        elif self._restarts >= self._most:
            counted = self.known.restarts()
            self.lose(f"died once more after {self._most} restarts (--restarts {self._most}): {counted}")
        else:
            signature, evidence = self._evidence.signature(death), self._evidence.of(death)
            self.known.died(signature, in_words(evidence), hung=self._server.given_up)
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
