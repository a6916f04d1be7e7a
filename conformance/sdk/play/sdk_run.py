"""Plays a selection of cases against one driver, one after the other; a driver that died is started again."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache

from wireproof.conformance.model.outcome import Outcome, harness_error
from wireproof.conformance.model.trace import Trace
from wireproof.conformance.model.verdict import Guilty, Verdict
from wireproof.conformance.sdk.driver_process import DriverEndedError, DriverProcess, NoAnswerError
from wireproof.conformance.sdk.driver_protocol import DriverMessageError
from wireproof.conformance.sdk.play.performer import Performer, play_live
from wireproof.conformance.sdk.play.sdk_player import SdkPlayer
from wireproof.conformance.sdk.transports import DriverStartError
from wireproof.conformance.suite.case_documents import read_cases
from wireproof.conformance.suite.cases import Case, CaseError, Suite, load_suite, sdk_cases_in
from wireproof.conformance.suite.documents import vectors_root
from wireproof.conformance.suite.sdk_steps import SdkCaseFile
from wireproof.conformance.suite.symbols import Symbols
from wireproof.conformance.suite.values import Node
from wireproof.conformance.verdict.records import Record, Run, record
from wireproof.protocols import Message, protocol

__all__ = ["SdkPlan", "load_sdk_suite", "play_cases", "sdk_cases"]

RESTARTS = 50
PROBING = 2.0
"""Seconds for both of two requests to come that are asked at once."""
TROUBLE = (NoAnswerError, DriverEndedError, DriverMessageError, DriverStartError)


@cache
def load_sdk_suite(name: str) -> Suite:
    """Return the protocol's clauses and what is played against its SDKs; `CaseError` says which file is wrong."""
    cases = sdk_cases(name)
    if not cases:
        raise CaseError(f"no cases for SDKs of {name!r}")
    return replace(load_suite(name), cases=cases, frames=())


@cache
def sdk_cases(name: str) -> tuple[Case, ...]:
    """Return what is played against the SDKs of a protocol, perhaps nothing; `CaseError` says which file is wrong."""
    suite = load_suite(name)
    cases: list[Case] = []
    folder = vectors_root() / name / "sdk"
    for path in sorted(folder.glob("*.yaml"), key=lambda path: path.name):
        cases += read_cases(path, suite.context, SdkCaseFile).cases
    seen: set[str] = set()
    for one in cases:
        if one.id in seen:
            raise CaseError(f"sdk/{one.topic}.yaml: id {one.id!r} is used twice")
        seen.add(one.id)
    return tuple(cases)


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


async def does_one_at_a_time(plan: SdkPlan, driver: DriverProcess) -> bool:
    """Say whether a started driver does one command after the other: of two requests asked at once only one is sent."""
    spoken = protocol(plan.run.protocol)
    request, reply = (spoken.sdk.probe or spoken.link.noop)(b"wireproof probe")
    if driver.hello is None or request.NAME.lower() not in driver.hello.operations:
        return False
    steps: dict[str, Node] = {"ask": [_written(request)] * 2, "answer": [_written(reply)] * 2}
    entry: dict[str, Node] = {
        "id": "sdk-probe/several",
        "title": "several at once",
        "clauses": [next(iter(plan.suite.clauses))],
        "profiles": [plan.run.profile],
    }
    (case,) = sdk_cases_in({"cases": [{**entry, "steps": [steps]}]}, plan.suite.context, "probe")
    outcome, stuck = await _played(replace(plan, timeout=min(plan.timeout, PROBING)), driver, case, "probe-")
    if stuck:
        await driver.restart("after asking for two things at once")
    size = len(plan.symbols(case).codec.encode(request))
    return outcome.verdict is Verdict.FAIL and outcome.byte == size


def _written(message: Message) -> Node:
    """Return a message as cases write it."""
    fields = {name: getattr(message, name) for name in message.__struct_fields__}
    return {message.NAME: {name: _plain(value) for name, value in fields.items()}}


def _plain(value: object) -> Node:
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    found: Node = value.value if isinstance(value, Enum) else value  # type: ignore[assignment]
    return found


async def play_cases(plan: SdkPlan, driver: DriverProcess, report: Callable[[Record, Outcome], object]) -> None:
    """Play every case against a started driver; `report` takes each record, and ends the run by returning True."""
    restarts, one_at_a_time = 0, await does_one_at_a_time(plan, driver)
    for number, case in enumerate(plan.cases):
        began = time.monotonic()
        outcome, stuck = await _played(plan, driver, case, f"{number}-", one_at_a_time)
        took = int((time.monotonic() - began) * 1e6)
        if report(record(plan.run, plan.suite, case, outcome, duration_us=took), outcome):
            return
        if (stuck or driver.death is not None) and restarts < RESTARTS:
            restarts += 1
            try:
                await driver.restart(f"after {case.id}")
            except TROUBLE:
                continue


async def _played(
    plan: SdkPlan, driver: DriverProcess, case: Case, tag: str, one_at_a_time: bool = False
) -> tuple[Outcome, bool]:
    """Return the outcome, and whether the driver must be started again."""
    trace, run = Trace(), plan.run
    if driver.hello is None or driver.death is not None:
        detail = driver.death or "it does not say hello"
        return Outcome(Verdict.UNTESTABLE, trace, Guilty.TARGET, expected="a driver that runs", got=detail), True
    try:
        player = SdkPlayer(
            case, plan.symbols(case), driver.hello, trace, timeout=plan.timeout, one_at_a_time=one_at_a_time
        )
        stage = Performer(
            driver,
            trace,
            protocol=run.protocol,
            profile=run.profile,
            variant=run.variant,
            timeout=plan.timeout,
            tag=tag,
        )
        outcome: Outcome = await play_live(player, stage)
    except Exception as error:
        return harness_error(f"{type(error).__name__}: {error}", trace), True
    return outcome, player.operations.stuck
