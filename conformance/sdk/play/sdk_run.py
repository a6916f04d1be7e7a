"""Plays a selection of cases against one driver, one after the other; a driver that died is started again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum

from wireproof.conformance.model.outcome import Outcome, harness_error
from wireproof.conformance.model.trace import Kind, Trace
from wireproof.conformance.model.verdict import Guilty, Verdict
from wireproof.conformance.run.crashes.known_causes import KnownCauses, Signature
from wireproof.conformance.run.processes.process_tree import POLL
from wireproof.conformance.sdk.driver_process import DriverEndedError, DriverProcess, NoAnswerError
from wireproof.conformance.sdk.driver_protocol import DriverMessageError
from wireproof.conformance.sdk.play.cut_answers import CUT, uncut
from wireproof.conformance.sdk.play.driver_ends import (
    LOST,
    HopelessThings,
    detail_of,
    signature_of,
    with_beside,
    with_driver_end,
    with_what_it_shows,
)
from wireproof.conformance.sdk.play.performer import Performer, play_live
from wireproof.conformance.sdk.play.sdk_player import SdkPlayer
from wireproof.conformance.sdk.play.waits import HELLO, STEP, Waits
from wireproof.conformance.sdk.transports import DriverStartError
from wireproof.conformance.suite.cases import Case, Suite, sdk_cases_in
from wireproof.conformance.suite.sdk_steps import LeaveStep
from wireproof.conformance.suite.symbols import Symbols
from wireproof.conformance.suite.values import Node
from wireproof.conformance.verdict.records import Record, Run, record
from wireproof.conformance.verdict.sdk_causes import MISREAD
from wireproof.protocols import Message, protocol

__all__ = ["RESTARTS", "SdkPlan", "play_cases"]

RESTARTS = 50
LATE = 0.3
"""Seconds in which a driver may still die of a case that has ended."""
AWAKE = 1.0
"""Seconds in which a driver that hangs in one thing answers another."""
PROBING = 2.0
"""Seconds for both of two requests to come that are asked at once."""
TROUBLE = (NoAnswerError, DriverEndedError, DriverMessageError, DriverStartError)


@dataclass(frozen=True)
class SdkPlan:
    """What is played, for one run."""

    run: Run
    suite: Suite
    cases: Sequence[Case]
    timeout: float = 5.0

    def symbols(self, case: Case) -> Symbols:
        """Return the names that a case may use."""
        return Symbols(
            protocol(self.run.protocol),
            self.run.profile,
            self.run.variant,
            case=case.id,
            namespace=self.run.namespace,
            variables=case.variables,
        )


@dataclass(frozen=True, slots=True)
class Played:
    """A case, what came of it, when it began (`time.monotonic`) and how many seconds it took."""

    case: Case
    outcome: Outcome
    began: float
    took: float = 0.0


async def does_one_at_a_time(plan: SdkPlan, driver: DriverProcess) -> bool:
    """Say whether a started driver does one command after the other: it sends one of two requests asked at once.

    One that sends nothing so soon, as on a loaded machine, is asked once more and waited for as in a case.
    """
    spoken = protocol(plan.run.protocol)
    request, reply = (spoken.sdk.probe or spoken.link.noop)(b"wireproof probe")
    if driver.hello is None or request.NAME.lower() not in driver.hello.operations:
        return False
    steps: dict[str, Node] = {"ask": [_written(request)] * 2, "answer": [_written(reply)] * 2}
    about: dict[str, Node] = {"clauses": [next(iter(plan.suite.clauses))], "profiles": [plan.run.profile]}
    entry: dict[str, Node] = {"id": "sdk-probe/several", "title": "several at once", **about, "steps": [steps]}
    (case,) = sdk_cases_in({"cases": [entry]}, plan.suite.context, "probe")
    size = len(plan.symbols(case).codec.encode(request))
    for patience in (min(plan.timeout, PROBING), plan.timeout):
        outcome, stuck = await _played(replace(plan, timeout=patience), driver, case, "probe-", closes=False)
        is_over = outcome.verdict is Verdict.PASS or outcome.byte == size or driver.death is not None
        if stuck or driver.death is not None:
            await driver.restart("after asking for two things at once")
        if is_over:
            return outcome.verdict is Verdict.FAIL
    return False


def _written(message: Message) -> Node:
    """Return a message as cases write it."""
    fields = {name: getattr(message, name) for name in message.__struct_fields__}
    return {message.NAME: {name: _plain(value) for name, value in fields.items()}}


def _plain(value: object) -> Node:
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    found: Node = value.value if isinstance(value, Enum) else value  # type: ignore[assignment]
    return found


async def play_cases(
    plan: SdkPlan, driver: DriverProcess, report: Callable[[Record, Outcome], object], *, restarts: int = RESTARTS
) -> None:
    """Play every case against a started driver; `report` takes each record, and ends the run by returning True.

    A driver that died is started again, `restarts` times at most.
    """
    run = CasesInTurn(plan, driver, report, restarts)
    run.one_at_a_time = await does_one_at_a_time(plan, driver)
    await run.play()


class CasesInTurn:
    """One run. A case that passed is reported when the next one has begun well, for a driver may die of it late."""

    def __init__(
        self, plan: SdkPlan, driver: DriverProcess, report: Callable[[Record, Outcome], object], restarts: int
    ) -> None:
        self.one_at_a_time = False
        self._plan, self._driver, self._report, self._most = plan, driver, report, restarts
        self._known = KnownCauses(restarts)
        self._hopeless = HopelessThings()
        self._restarts = 0
        self._passed: set[str] = set()
        self._failed_before = False
        """Whether the case that was played last on this process failed, and is reported already."""
        self._before: Played | None = None
        """The case that passed last on this process; it is not reported yet."""
        self._closes = True
        self._died_closing: dict[Signature, str] = {}
        """How the driver died when it was asked to close -> the case that is reported for it."""
        self._waits = Waits(driver)
        self._die_late: set[Signature | None] = set()
        """How it died after a case had ended."""

    async def play(self) -> None:
        """Play everything, or until `report` returns True."""
        for number, case in enumerate(self._plan.cases):
            if await self._next(case, f"{number}-"):
                return
        if self._before is not None and await self._dies_late():
            ended = await self._end_of(self._before.outcome)
            self._before = replace(self._before, outcome=self._late(self._before.case, self._before.outcome, ended))
        self._settle()

    async def _next(self, case: Case, tag: str) -> bool:
        """Play and report one case; say whether the run is to end."""
        began = time.monotonic()
        held = self._known.would_do_it(case)
        if (ended := self._hopeless.held_back(case) if held is None else held.outcome) is not None:
            return self._keep(Played(case, ended, began))
        outcome, stuck = await self._play(case, tag)
        if outcome.extra.get("closing"):
            outcome = self._closing(case, outcome)
        elif outcome.verdict is Verdict.CRASH and not self._is_known(signature_of(outcome)):
            outcome, stuck = await self._whose(case, outcome, tag)
        elif outcome.verdict is Verdict.HANG and not await self._began(outcome):
            outcome, stuck = await self._without_the_last(case, outcome, tag)
        elif outcome.verdict is Verdict.PASS and self._driver.death is not None:
            outcome, stuck = await self._died_late(case, outcome, await self._end_of(outcome), tag)
        if outcome.verdict is Verdict.PASS:
            self._known.passed(case)
            self._passed.add(case.id)
        else:
            outcome = self._of_cuts(case, outcome)
        outcome = self._hopeless.with_what_works(with_what_it_shows(case, outcome))
        outcome = with_beside(outcome, outcome.blamed or case.clauses[0], self._plan.suite, self._plan.run.protocol)
        self._hopeless.played(case, outcome)
        crash_signature = signature_of(outcome)
        self._failed_before = outcome.verdict in (Verdict.FAIL, Verdict.LENIENT)
        if crash_signature is not None and not outcome.extra.keys() & {"closing", LOST}:
            self._known.found(crash_signature, detail_of(outcome), case)
        ends = self._keep(Played(case, outcome, began))
        if not ends and (self._driver.death is not None or (stuck and not await self._goes_on(outcome))):
            detail = detail_of(outcome, self._driver.death)
            await self._again(f"after {case.id}", crash_signature or (str(self._driver.death), ""), detail)
        return ends

    async def _play(self, case: Case, tag: str, *, closes: bool = True) -> tuple[Outcome, bool]:
        """Play a case once; return the outcome, and whether the driver owes an answer."""
        closes = closes and self._closes
        return await _played(self._plan, self._driver, case, tag, self.one_at_a_time, closes=closes, waits=self._waits)

    def _of_cuts(self, case: Case, outcome: Outcome) -> Outcome:
        """Return the outcome with the clause about segments blamed, where the same case passed uncut."""
        clause = self._plan.suite.probe.get("segments")
        went_wrong = outcome.verdict in (Verdict.FAIL, Verdict.HANG) and outcome.byte is None
        whole = uncut(case, self._plan.cases) if clause and went_wrong else None
        if whole not in self._passed:
            return outcome
        return replace(outcome, blamed=clause, extra={**outcome.extra, CUT: True})

    async def _began(self, outcome: Outcome) -> bool:
        """Say whether a driver that hangs did anything of a case, or does anything else."""
        return any(one.kind is Kind.RECEIVED for one in outcome.trace) or await self._still_answers()

    async def _without_the_last(self, case: Case, outcome: Outcome, tag: str) -> tuple[Outcome, bool]:
        """Play a case again on a new driver, where the old one hung before it did anything of it."""
        if not await self._again(f"after {case.id}", signature_of(outcome), detail_of(outcome), keep=True):
            return outcome, True
        return await self._play(case, f"{tag}again-")

    def _is_known(self, crash_signature: Signature | None) -> bool:
        """Say whether the driver died in these words before, of the case that was played."""
        return crash_signature is not None and bool(crash_signature[1]) and self._known.is_known(crash_signature)

    def _closing(self, case: Case, outcome: Outcome) -> Outcome:
        """Return the crash of a case whose steps were all right, once for each way to die at the end.

        When a second case dies so, it passes, and from then on the driver is not asked to close at the end of a case.
        """
        crash_signature = signature_of(outcome) or ("", "")
        if crash_signature in self._died_closing:
            self._closes = False
            return Outcome(Verdict.PASS, outcome.trace, extra={"closing": self._died_closing[crash_signature]})
        self._died_closing[crash_signature] = case.id
        return self._of_close(case, outcome, "`close` ended the driver")

    def _of_close(self, case: Case, outcome: Outcome, what: str) -> Outcome:
        """Return the crash of a driver that was asked to close at the end of a case."""
        about = next((one for one in (*self._plan.suite.cases, *self._plan.cases) if _leaves(one)), case)
        got = f"{what}, after every step of the case was right: {outcome.got}"
        return replace(outcome, blamed=about.clauses[0], expected="a driver that outlives `close`", got=got)

    async def _only_closing(self, case: Case, outcome: Outcome, tag: str) -> bool:
        """Say whether a driver that dies late of a case runs on when not asked to close; it never is again then."""
        why = f"to see whether it dies of {case.id} or of `close`"
        if not self._closes or not await self._again(why, signature_of(outcome), detail_of(outcome), keep=True):
            return False
        await self._play(case, f"{tag}open-", closes=False)
        self._closes = await self._dies_late()
        return not self._closes

    async def _whose(self, case: Case, outcome: Outcome, tag: str) -> tuple[Outcome, bool]:
        """Find out which case a driver died of: this one, or the one before it, late. Return what this one is worth."""
        before, detail = self._before, detail_of(outcome)
        if before is None and not self._failed_before:
            return outcome, True
        if not await self._again(f"after {case.id}", signature_of(outcome), detail, keep=True):
            return outcome, True
        again, stuck = await self._play(case, f"{tag}again-")
        if again.verdict is Verdict.CRASH:
            return again, True
        if before is None:  # What died late of a case that failed is that failure's doing.
            return again, stuck
        if signature_of(outcome) in self._die_late:
            self._before = replace(before, outcome=self._late(before.case, before.outcome, outcome))
            return again, stuck
        if await self._again(f"to see whether it dies of {before.case.id}", signature_of(outcome), detail, keep=True):
            await self._play(before.case, f"{tag}before-")
            if await self._dies_late():
                self._die_late.add(signature_of(outcome))
                late, stuck = await self._died_late(before.case, before.outcome, outcome, tag)
                self._before = replace(before, outcome=late)
                return again, stuck
        got = f"{outcome.got}; played again alone it did not end the driver"
        return replace(outcome, got=got), stuck

    async def _goes_on(self, outcome: Outcome) -> bool:
        """Say whether a driver that owes an answer can be asked for more; one that is busy with it is in the way."""
        return not outcome.extra.get("hang", {}).get("busy") and await self._still_answers()

    async def _still_answers(self) -> bool:
        """Say whether a driver that owes an answer takes other commands: then only what it was asked hangs."""
        wait = self._waits.begin(HELLO, "", min(self._plan.timeout, AWAKE))
        with suppress(*TROUBLE):
            call = self._driver.begin("hello")
            while not call.result.done() and not wait.is_over():
                await asyncio.wait([call.result], timeout=STEP)
            if call.result.done():
                wait.came()
                await self._driver.answer(call)
                return True
            wait.in_vain()
        return False

    async def _dies_late(self) -> bool:
        """Say whether the driver dies soon, while nobody asks it anything."""
        until = time.monotonic() + LATE
        while self._driver.death is None and time.monotonic() < until:
            await asyncio.sleep(POLL)
        return self._driver.death is not None

    async def _end_of(self, outcome: Outcome) -> Outcome:
        """Return the outcome of a case that had passed with the end of its driver."""
        return await with_driver_end(self._driver, replace(outcome, verdict=Verdict.CRASH))

    async def _died_late(self, case: Case, outcome: Outcome, ended: Outcome, tag: str) -> tuple[Outcome, bool]:
        """Return the crash of a case that had passed, and whether the driver must be started again."""
        late = self._late(case, outcome, ended)
        if await self._only_closing(case, ended, tag):
            return self._of_close(case, late, "`close` was answered, and then ended the driver"), False
        return late, True

    def _late(self, case: Case, outcome: Outcome, ended: Outcome) -> Outcome:
        """Return the crash of a case that had passed before the driver died of it."""
        end = ended.extra["process"]
        found = Outcome(Verdict.CRASH, outcome.trace, Guilty.TARGET, case.clauses[0])
        got = f"after the case had ended, the driver {end['death']}"
        return replace(found, expected="a driver that runs on", got=got, extra={"process": end})

    def _keep(self, played: Played) -> bool:
        """Report a case, or keep it where it passed; say whether the run is to end."""
        if self._settle():
            return True
        self._before = replace(played, took=time.monotonic() - played.began)
        return False if played.outcome.verdict is Verdict.PASS else self._settle()

    def _settle(self) -> bool:
        """Report the case that was kept; say whether the run is to end."""
        played, self._before = self._before, None
        if played is None:
            return False
        plan = self._plan
        made = record(plan.run, plan.suite, played.case, played.outcome, duration_us=int(played.took * 1e6))
        if played.outcome.extra.get(MISREAD) and (clause := plan.suite.probe.get("numbers", {}).get("reported")):
            made["extra"]["extreme"] = clause
        return bool(self._report(made, played.outcome))

    async def _again(self, why: str, crash_signature: Signature | None, detail: str, *, keep: bool = False) -> bool:
        """Start the driver again, unless that was often enough; `keep`: the case before is still looked at."""
        if self._restarts >= self._most:
            self._driver.gone = (
                f"the driver died once more after {self._most} restarts (--restarts {self._most}): "
                f"{self._known.restarts()}"
            )
            await self._driver.end()
            return False
        self._restarts += 1
        self._known.died(crash_signature or ("", ""), detail)
        if not keep:
            self._settle()
        with suppress(*TROUBLE):
            await self._driver.restart(why)
            return True
        return False


def _leaves(case: Case) -> bool:
    """Say whether a case is about an SDK that is asked to close."""
    return any(isinstance(one, LeaveStep) for one in case.script)


async def _played(
    plan: SdkPlan,
    driver: DriverProcess,
    case: Case,
    tag: str,
    one_at_a_time: bool = False,
    *,
    closes: bool = True,
    waits: Waits | None = None,
) -> tuple[Outcome, bool]:
    """Return the outcome, and whether the driver must be started again."""
    trace, run = Trace(), plan.run
    if driver.hello is None or driver.death is not None:
        detail = driver.gone or driver.death or "it does not say hello"
        return Outcome(Verdict.UNTESTABLE, trace, Guilty.TARGET, expected="a driver that runs", got=detail), True
    try:
        player = SdkPlayer(
            case, plan.symbols(case), driver.hello, trace, timeout=plan.timeout, one_at_a_time=one_at_a_time
        )
        player.closes = closes
        stage = Performer(
            driver,
            trace,
            protocol=run.protocol,
            profile=run.profile,
            variant=run.variant,
            timeout=plan.timeout,
            tag=tag,
            waits=waits or Waits(driver),
        )
        outcome: Outcome = await play_live(player, stage)
    except Exception as error:
        return harness_error(f"{type(error).__name__}: {error}", trace), True
    closing = player.closing and outcome.verdict is Verdict.CRASH
    return await with_driver_end(driver, outcome, closing=closing, hang=stage.hang), player.operations.stuck
