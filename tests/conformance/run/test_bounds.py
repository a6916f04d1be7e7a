"""A run ends before its cases do when its time is over, or when it is clear that nothing can be judged."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.conformance import servers
from tests.conformance.run.test_runner import CountingDriver, plan_of
from tests.conformance.scripted import make_case
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.trace import Trace
from wireproof.conformance.model.verdict import Guilty, Verdict
from wireproof.conformance.player.byte_allowance import FLOOD
from wireproof.conformance.run import bounds
from wireproof.conformance.run.bounds import FLOODS, MANY, Bounds
from wireproof.conformance.run.case_scheduler import CaseScheduler
from wireproof.conformance.run.plan import Plan, Settings
from wireproof.conformance.run.route import Route
from wireproof.conformance.run.runner import play_all
from wireproof.conformance.suite.cases import load_suite
from wireproof.conformance.verdict.causes import causes_of
from wireproof.conformance.verdict.records import Record, Run

pytestmark = pytest.mark.usefixtures("no_waits")

SUITE = load_suite("throttr")
REFUSED = {"send": {"QUERY": {"key": "$k"}}, "expect": "refused"}
HANG, PASS = Outcome(Verdict.HANG, Trace()), Outcome(Verdict.PASS, Trace())


def begun(cases: int = MANY, **given: Any) -> Bounds:
    found = Bounds(**given)
    found.begin(cases)
    return found


def test_a_run_in_which_nothing_passes_is_over_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    run = begun()
    for _ in range(20):
        run.count("made/up", HANG)
    early = run.over()
    monkeypatch.setattr(bounds, "PATIENCE", 0.0)

    assert early == ""
    assert run.over().startswith("0 of 20 plays passed in ")
    assert run.over().endswith("(--max-time SECONDS plays on)")


@pytest.mark.parametrize(("passed", "failed", "over"), [(0, 2, False), (0, 3, True), (1, 9, False), (1, 10, True)])
def test_one_in_ten_is_enough_to_go_on(monkeypatch: pytest.MonkeyPatch, passed: int, failed: int, over: bool) -> None:
    monkeypatch.setattr(bounds, "PATIENCE", 0.0)
    run = begun()
    for outcome in [PASS] * passed + [HANG] * failed:
        run.count("made/up", outcome)

    assert bool(run.over()) == over


def test_who_gives_a_run_a_time_of_its_own_gets_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "PATIENCE", 0.0)
    later, now = begun(until=float("inf"), max_time=9.0), begun(1, until=0.0, max_time=9.0)
    for _ in range(20):
        later.count("made/up", HANG)

    assert later.over() == ""
    assert now.over() == "the time for it is over (--max-time 9)"


def test_a_few_cases_that_somebody_chose_are_played_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "PATIENCE", 0.0)
    run = begun(MANY - 1)
    for _ in range(20):
        run.count("made/up", HANG)

    assert run.over() == ""


def test_a_target_that_sends_without_end_is_soon_enough_known() -> None:
    run = begun()
    for _ in range(FLOODS):
        run.count("made/up", Outcome(Verdict.FAIL, Trace(), extra={FLOOD: "1"}))

    assert run.over() == f"the target sends without end: {FLOODS} of {FLOODS} plays, and 0 passed"


def played(handle: Any, stop: Callable[[Plan], None], timeout: float = 0.3) -> tuple[list[Record], Plan]:
    """Play the same case many times against what misbehaves in one known way."""
    plan = Plan(Run("throttr", "7.1.0", "uint16", "t", "t"), SUITE, (), Settings(timeout=timeout, jobs=4))
    plan.cases = [make_case(REFUSED, id=f"made/n{number}") for number in range(40)]
    stop(plan)
    records: list[Record] = []

    async def main() -> None:
        async with servers.serving(handle) as address:
            await play_all(plan, address, records.append)

    asyncio.run(main())
    return records, plan


def test_what_a_run_that_ended_early_did_not_play_is_untestable_and_says_why() -> None:
    def in_half_a_second(plan: Plan) -> None:
        plan.bounds.until, plan.bounds.max_time = plan.bounds.began + 0.5, 0.5

    records, plan = played(slow, in_half_a_second, timeout=5.0)
    left = [one for one in records if str(one["got"]).startswith("the run ended: ")]

    assert Counter(one["case"] for one in records) == Counter(one.id for one in plan.cases)
    assert plan.stopped == "the time for it is over (--max-time 0.5)"
    assert left
    assert {(one["verdict"], one["guilty"], one["partial"]) for one in left} == {("untestable", "nobody", plan.stopped)}


@pytest.mark.parametrize(("at_once", "fails"), [(None, False), (2, False), (1, True)])
def test_one_client_at_a_time_is_no_limit_but_a_failure(at_once: int | None, *, fails: bool) -> None:
    def serves(plan: Plan) -> None:
        plan.cases = [make_case(REFUSED, id="made/up")]
        plan.settings = replace(plan.settings, route=Route(at_once=at_once))

    records, _ = played(slow, serves, timeout=5.0)
    found = {one["case"]: (one["verdict"], one["guilty"]) for one in records}

    assert found.pop("made/up")[0] == "pass"
    assert found == ({"robustness/stays-up": ("lenient", "target")} if fails else {})


async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer rightly, a tenth of a second later."""
    while await reader.read(65536):
        await asyncio.sleep(0.1)
        writer.write(b"\0")
    writer.close()


def test_a_target_that_falls_silent_is_reported_at_once() -> None:
    reported: list[str] = []

    def listen(plan: Plan) -> None:
        plan.announce = reported.append

    records, _ = played(servers.never_answers, listen)

    assert reported == [f"answers nobody since {reported[0].rpartition(' ')[2]}"]
    assert {one["verdict"] for one in records} <= {"untestable", "crash", "hang"}
    assert [one.kind for one in causes_of(records)] == ["hang"]


def test_a_target_that_is_gone_is_reported_once() -> None:
    reported: list[str] = []
    plan = Plan(Run("throttr", "7.1.0", "uint16", "t", "t"), SUITE, (), Settings(timeout=1.0, jobs=4))
    plan.cases = [make_case(REFUSED, id=f"made/n{number}") for number in range(8)]
    plan.announce = reported.append
    records: list[Record] = []

    async def main() -> None:
        async with servers.serving(servers.closes) as address:
            pass
        await play_all(plan, address, records.append)

    asyncio.run(main())

    assert len(reported) == 1
    assert reported[0].startswith("takes no connection since made/n")
    assert {one["case"] for one in records} >= {one.id for one in plan.cases}


def test_what_a_target_may_send_in_one_play_is_bounded() -> None:
    never = make_case({"send": {"GET": {"key": "$k"}}, "expect": "refused"}, id="made/endless")
    plan = Plan(Run("throttr", "7.3.2", "uint32", "t", "t"), SUITE, [never], Settings(timeout=20.0))
    records: list[Record] = []

    async def main() -> None:
        async with servers.serving(servers.sends_for_ever) as address:
            await play_all(plan, address, records.append)

    asyncio.run(main())
    (record,) = [one for one in records if one["case"] == "made/endless"]

    assert (record["verdict"], record["got"]) == ("fail", "the target sends without end")
    assert record["extra"][FLOOD] == "1"


@pytest.mark.parametrize(("left", "is_closing"), [(90.0, False), (30.0, False), (20.0, True)])
def test_the_last_part_of_a_time_that_was_given_is_for_what_is_in_doubt(left: float, is_closing: bool) -> None:
    now = time.monotonic()
    run = Bounds(until=now + left, max_time=100.0, began=now + left - 100.0)

    assert run.is_closing == is_closing
    assert not Bounds().is_closing


def test_what_is_in_doubt_is_decided_before_other_cases_begin_once_the_time_is_nearly_over() -> None:
    def wrong(case: str, attempt: int) -> Outcome:
        return Outcome(Verdict.FAIL, Trace(), Guilty.TARGET, got="wrong") if case == "made/0" else PASS

    cases = [make_case({"wait": 1}, id=f"made/{number}") for number in range(9)]
    records: list[Record] = []
    driver, plan = CountingDriver(1, wrong), plan_of(cases)
    now = time.monotonic()
    plan.bounds.began, plan.bounds.until, plan.bounds.max_time = now - 90.0, now + 20.0, 110.0
    asyncio.run(CaseScheduler(plan, driver, records.append).run())  # type: ignore[arg-type]
    found = {one["case"]: one for one in records}

    assert found["made/0"]["verdict"] == "fail"
    assert plan.stopped == "the time for it is over (--max-time 110)"
    assert {one["got"] for name, one in found.items() if name not in driver.order} == {f"the run ended: {plan.stopped}"}
    assert len(found) == len(cases)
