"""What an earlier case did to a server is told from what a case does: the case is played on a fresh one."""

from __future__ import annotations

import asyncio

import pytest

from tests.conformance.run.supervised import CUT, STAYS_UP, SUITE, FakeDriver, FakeServer, counted, run, some
from tests.conformance.scripted import make_case
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.trace import Trace
from wireproof.conformance.model.verdict import Guilty, Verdict
from wireproof.conformance.player.player import Player
from wireproof.conformance.run.crashes.supervision import SupervisedScheduler
from wireproof.conformance.run.crashes.unprepared import ENOUGH
from wireproof.conformance.run.plan import Plan, Settings
from wireproof.conformance.verdict.records import Run

pytestmark = pytest.mark.usefixtures("no_waits")


@pytest.mark.parametrize(("ends_a_fresh_one", "verdict", "unexplained"), [(False, "pass", 1), (True, "crash", 0)])
def test_a_case_that_is_played_again_is_not_blamed_for_what_came_before(
    ends_a_fresh_one: bool, verdict: str, unexplained: int
) -> None:
    server, cases = FakeServer(), some(2)
    driver = FakeDriver(server, 4, lambda driver, case: case == "made/1" and (server.starts == 1 or ends_a_fresh_one))
    plan = Plan(Run("throttr", "7.1.0", "uint16", "t", "x"), SUITE, cases, Settings())
    scheduler = SupervisedScheduler(plan, driver, lambda record: None, server, 9)  # type: ignore[arg-type]

    async def again() -> Outcome:
        await scheduler.alone(cases[0])
        return await scheduler.play_again(cases[1])

    assert asyncio.run(again()).verdict == verdict
    assert driver.order == ["made/0", "made/1", "made/1"]
    assert [one.cases for one in scheduler.deaths] == [["made/1"]] * unexplained
    assert counted(server.whys) == 1 - unexplained


def test_a_case_that_ends_a_server_of_its_own_is_played_once() -> None:
    server, cases = FakeServer(), some(1)
    driver = FakeDriver(server, 4, lambda driver, case: True)
    plan = Plan(Run("throttr", "7.1.0", "uint16", "t", "x"), SUITE, cases, Settings())
    scheduler = SupervisedScheduler(plan, driver, lambda record: None, server, 9)  # type: ignore[arg-type]

    assert asyncio.run(scheduler.play_again(cases[0])).verdict == "crash"
    assert driver.order == ["made/0"]


class UnpreparedDriver(FakeDriver):
    """Prepares cases in vain until the server is started again; some of them fail then."""

    fails: frozenset[str] = frozenset()

    async def play(self, player: Player) -> Outcome:
        outcome, case = await super().play(player), player.case.id
        if case.startswith("alone/") and self.server.starts == 1:
            return Outcome(Verdict.UNTESTABLE, Trace(), Guilty.TARGET, step=0, expected="ok", got="no")
        return CUT if case in self.fails else outcome


def test_a_case_whose_preparation_failed_is_believed_where_it_fails_on_a_fresh_server() -> None:
    cases = [*some(4), *[make_case(id=f"alone/{one}") for one in ("fails", "passes")]]
    UnpreparedDriver.fails = frozenset({"alone/fails"})
    records, driver = run(cases, lambda driver, case: False, kind=UnpreparedDriver)

    assert records["alone/fails"]["verdict"] == "fail"
    assert (records["alone/passes"]["verdict"], records["alone/passes"]["got"]) == ("untestable", "no")
    assert driver.order[-3:] == ["alone/fails", "alone/passes", STAYS_UP.id]
    assert driver.server.whys == ["for a case that wants a fresh one"] * 2


def test_of_cases_that_differ_in_a_value_one_is_played_on_a_fresh_server_and_not_many_in_vain() -> None:
    cases = [make_case(id=f"alone/{entry}.{value}") for entry in range(9) for value in range(3)]
    UnpreparedDriver.fails = frozenset()
    records, driver = run(cases, lambda driver, case: False, kind=UnpreparedDriver)

    assert {one["verdict"] for one in records.values() if one["case"] != STAYS_UP.id} == {"untestable"}
    assert len(driver.server.whys) == ENOUGH
