"""A server that dies while many cases play: who ends it is found, everybody else gets a verdict of their own."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from math import inf
from random import Random
from typing import Any

import pytest

from tests.conformance.run.supervised import (
    CUT,
    STAYS_UP,
    SUITE,
    FakeDriver,
    FakeServer,
    counted,
    crashes,
    most_starts,
    others,
    run,
    some,
)
from tests.conformance.scripted import ASK, make_case
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.targets import Address
from wireproof.conformance.model.trace import Trace
from wireproof.conformance.model.verdict import Guilty, Verdict
from wireproof.conformance.player.player import Player
from wireproof.conformance.run.crashes.supervision import FEW, SupervisedScheduler
from wireproof.conformance.run.plan import Plan, Settings
from wireproof.conformance.run.segmentation_sample import choice_of
from wireproof.conformance.run.serving import ServingCheck
from wireproof.conformance.suite.cases import Suite
from wireproof.conformance.verdict.records import Record, Run

pytestmark = pytest.mark.usefixtures("no_waits")


@pytest.mark.parametrize("jobs", [1, 4, 32])
def test_the_one_that_ends_it_is_the_crash_and_all_others_get_their_verdict(jobs: int) -> None:
    records, driver = run(some(40), lambda _, case: case == "made/17", jobs=jobs)

    assert crashes(records) == {"made/17"}
    assert others(records) == {"pass"}
    assert len(records) == 41
    assert driver.address == driver.server.address


def test_a_crash_reports_how_it_died_and_what_it_printed() -> None:
    records, _ = run(some(3), lambda _, case: case == "made/1")
    crash = records["made/1"]

    assert crash["got"].startswith("it died of SIGSEGV; closed; its last words: words of start ")
    assert (crash["blamed"], crash["guilty"], crash["step"], crash["expected"]) == ("THR-QUERY-5", "target", 1, "ok")
    assert crash["extra"]["process"]["death"] == "died of SIGSEGV"
    assert crash["extra"]["process"]["last_words"] == [f"words of start {crash['extra']['process']['start']}"]


def test_several_that_end_it_are_all_found() -> None:
    guilty = {"made/3", "made/4", "made/20", "made/39"}
    records, _ = run(some(40), lambda _, case: case in guilty)

    assert crashes(records) == guilty
    assert others(records) == {"pass"}


def test_one_that_had_ended_just_before_is_found_too() -> None:
    late: list[str] = []

    class Late(FakeServer):
        def death(self) -> str | None:
            if late and late[0] == "made/5":
                self.lives = False
                late.clear()
            return super().death()

    def ends(driver: FakeDriver, case: str) -> bool:
        if case == "made/5":
            asyncio.get_running_loop().call_later(0.01, late.append, case)
        return False

    records, _ = run(some(8), ends, jobs=1, server=Late())

    assert crashes(records) == {"made/5"}
    assert others(records) == {"pass"}


def test_exclusive_cases_that_end_it_are_found() -> None:
    cases = [*some(10), *[make_case(id=f"alone/{number}", exclusive=True) for number in range(5)]]
    records, driver = run(cases, lambda _, case: case == "alone/2")

    assert crashes(records) == {"alone/2"}
    assert others(records) == {"pass"}
    assert driver.order[0].startswith("alone/")


def test_a_death_that_no_case_repeats_alone_is_the_crash_of_the_run() -> None:
    def ends(driver: FakeDriver, case: str) -> bool:
        return {"made/6", "made/7"} <= set(driver.playing)

    records, _ = run(some(20), ends, jobs=4)
    (end,) = records[STAYS_UP.id]["extra"]["ends"]

    assert crashes(records) == {STAYS_UP.id}
    assert others(records) == {"pass"}
    assert {"made/6", "made/7"} <= set(end["under_way"])
    assert end["last_words"] == ["words of start 1"]
    assert "it died of SIGSEGV, with " in records[STAYS_UP.id]["got"]


def test_the_crash_of_the_run_is_there_even_when_its_case_was_not_selected() -> None:
    died = []

    def ends(driver: FakeDriver, case: str) -> bool:
        if not died and case == "made/3":
            died.append(case)
            return True
        return False

    server = FakeServer()
    driver = FakeDriver(server, 4, ends)
    cases = some(8)
    suite = Suite("throttr", SUITE.clauses, (*cases, STAYS_UP), (), SUITE.probe)
    plan = Plan(Run("throttr", "7.1.0", "uint16", "t", "x"), suite, cases, Settings())
    records: list[Record] = []
    asyncio.run(SupervisedScheduler(plan, driver, records.append, server, 5).run())  # type: ignore[arg-type]

    assert [one["case"] for one in records if one["verdict"] == "crash"] == [STAYS_UP.id]


def test_one_that_ends_it_in_its_sleep_is_found_by_halves() -> None:
    waiting = {f"made/{number}" for number in range(0, 40, 2)}
    records, driver = run(some(40), lambda _, case: case == "made/14", jobs=40, sleeps=waiting)

    assert crashes(records) == {"made/14"}
    assert others(records) == {"pass"}
    assert driver.server.starts < 16


def test_who_dies_only_after_another_is_not_blamed() -> None:
    records, driver = run(some(4), lambda driver, case: case == "made/2" and driver.order.count(case) < 3, jobs=4)

    assert crashes(records) == {STAYS_UP.id}
    assert others(records) == {"pass"}
    assert driver.order.count("made/2") == 4


def test_a_death_is_looked_into_even_when_the_time_for_deliveries_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    real = SupervisedScheduler._find

    async def late(self: SupervisedScheduler, batch: Any) -> Any:
        self._until = 0.0
        try:
            return await real(self, batch)
        finally:
            self._until = inf

    monkeypatch.setattr(SupervisedScheduler, "_find", late)
    records, _ = run(some(10), lambda _, case: case == "made/3")

    assert crashes(records) == {"made/3"}


def test_after_so_many_restarts_the_rest_is_untestable() -> None:
    records, driver = run(some(40), lambda _, case: True, restarts=6)

    assert counted(driver.server.whys) == 6
    assert driver.server.starts == 1 + 6 + 6, "the first suspect does it: each search takes the one start after it"
    assert len(records) == 41
    assert others(records) == {"untestable"}
    assert 1 <= len(crashes(records)) <= 7
    assert "--restarts" in next(one["got"] for one in records.values() if one["verdict"] == "untestable")


def test_one_that_dies_at_once_at_every_start_is_not_started_without_end() -> None:
    class Stillborn(FakeServer):
        def death(self) -> str | None:
            self.lives = False
            return super().death()

    records, driver = run(some(40), lambda _, case: False, restarts=6, server=Stillborn())

    assert counted(driver.server.whys) == 6
    assert driver.server.starts <= 1 + 6 * (1 + most_starts(41))
    assert others(records) == {"untestable"}


@pytest.mark.parametrize("seed", [5, 6])
def test_all_starts_together_are_bounded_where_it_dies_by_chance(seed: int) -> None:
    chance = Random(seed)
    records, driver = run(some(40), lambda *_: chance.random() < 0.3, jobs=16, restarts=6)

    assert counted(driver.server.whys) <= 6
    assert driver.server.starts <= 1 + 6 * (1 + most_starts(41))
    assert len(records) == 41


def test_one_cause_does_not_use_up_the_restarts() -> None:
    purges = [make_case({"send": {"PURGE": {"key": "$k"}}}, id=f"purge/{number}") for number in range(40)]
    queries = [make_case({"send": {"QUERY": {"key": "$k"}}}, id=f"query/{number}") for number in range(20)]
    records, driver = run([*purges, *queries], lambda _, case: case.startswith("purge") or case == "query/7")
    held = [one for one in records.values() if "held_back" in one["extra"]]

    assert driver.server.starts < 20
    assert {"query/7"} < crashes(records)
    assert {one["verdict"] for case, one in records.items() if case.startswith("query")} == {"pass", "crash"}
    assert len(held) > 30
    assert {(one["verdict"], one["guilty"]) for one in held} == {("untestable", "target")}
    assert {one["extra"]["held_back"] for one in held} <= crashes(records)


def test_what_was_held_back_for_nothing_is_played_after_all() -> None:
    purges = [make_case({"send": {"PURGE": {"key": "$k"}}}, id=f"purge/{number}") for number in range(30)]
    guilty = {"purge/0", "purge/1", "purge/2"}
    records, _ = run(purges, lambda _, case: case in guilty, jobs=1)

    assert crashes(records) == guilty
    assert others(records) == {"pass"}


def test_after_a_death_that_was_looked_for_in_vain_every_case_still_has_a_verdict() -> None:
    ended: list[int] = []

    def ends(driver: FakeDriver, case: str) -> bool:
        if len(ended) < 3 and len(driver.order) > 150 * len(ended) + 50 and len(driver.playing) > 20:
            ended.append(len(driver.order))
            return True
        return False

    records, _ = run(some(400), ends, jobs=40)

    assert crashes(records) == {STAYS_UP.id}
    assert others(records) == {"pass"}
    assert len(ended) >= 2
    assert records[STAYS_UP.id]["extra"]["ends"]  # the others ended while the first was looked for


@pytest.mark.nightly  # 10 s of deaths and restarts
def test_what_is_put_off_after_ends_that_nobody_repeats_is_played_a_few_at_a_time() -> None:
    most: list[int] = []

    def ends(driver: FakeDriver, case: str) -> bool:
        most.append(len(driver.playing))
        return len(driver.playing) > 12 or (case == "made/250" and len(driver.playing) > 1)

    records, _ = run(some(300), ends, jobs=16, restarts=200)

    assert crashes(records) == {STAYS_UP.id}
    assert others(records) == {"pass"}
    assert most[-1] <= 8


def test_a_cause_that_took_its_part_of_the_restarts_costs_one_for_each_further_death() -> None:
    chance: list[int] = []

    def ends(driver: FakeDriver, case: str) -> bool:
        if case in {"made/1", "made/2"}:
            return True
        if len(chance) < 10 and len(driver.order) > 40 * len(chance) + 60 and len(driver.playing) > FEW:
            chance.append(driver.server.starts)
            return True
        return False

    records, driver = run(some(400), ends, jobs=32, restarts=24)

    assert crashes(records) >= {"made/1", "made/2"}
    assert others(records) == {"pass"}
    assert len(chance) > 2
    assert driver.limiter.places == 32


def test_when_the_restarts_run_out_the_option_and_the_causes_are_named() -> None:
    records, _ = run(some(40), lambda _, case: True, restarts=6)
    got = next(one["got"] for one in records.values() if one["verdict"] == "untestable")

    assert got == ("it died once more after 6 restarts (--restarts 6): 6 because it died of SIGSEGV")


def test_one_that_does_not_start_again_ends_the_run_honestly() -> None:
    records, _ = run(some(20), lambda _, case: case == "made/9", server=FakeServer(starts_at_most=1))

    assert others(records) == {"pass", "untestable"}
    assert crashes(records) == {STAYS_UP.id}
    got = next(one["got"] for one in records.values() if one["verdict"] == "untestable")
    assert "does not start again: no room" in got


def test_one_that_answers_nobody_is_as_good_as_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    deaf = []

    class Deaf(FakeDriver):
        async def play(self, player: Player) -> Outcome:
            if player.case.id == "made/4":
                deaf.append(self.server.starts)
                return Outcome(Verdict.HANG, Trace(), Guilty.TARGET, got="nothing in 5 s")
            return await super().play(player)

    async def serves(self: SupervisedScheduler, timeout: float | None = None) -> bool:
        return deaf[-1] != self._server.starts

    monkeypatch.setattr(SupervisedScheduler, "serves", serves)
    server = FakeServer()
    driver = Deaf(server, 4, lambda _, case: False)
    cases = some(10)
    suite = Suite("throttr", SUITE.clauses, (*cases, STAYS_UP), (), SUITE.probe)
    plan = Plan(Run("throttr", "7.1.0", "uint16", "t", "x"), suite, [*cases, STAYS_UP], Settings())
    records: list[Record] = []
    asyncio.run(SupervisedScheduler(plan, driver, records.append, server, 9).run())  # type: ignore[arg-type]
    found = {one["case"]: one for one in records}

    assert crashes(found) == {"made/4"}
    assert others(found) == {"pass"}
    assert "answered nobody any more" in found["made/4"]["got"]


def test_after_a_restart_the_server_is_asked_where_it_is_then(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Address, Address]] = []
    server = FakeServer()

    class Silent(FakeDriver):
        async def play(self, player: Player) -> Outcome:
            if player.case.id == "made/4" and self.server.starts > 1:
                return Outcome(Verdict.HANG, Trace(), Guilty.TARGET, got="nothing in 5 s")
            return await super().play(player)

    async def answers(self: ServingCheck, address: Address, timeout: float) -> bool:
        asked.append((address, server.address))
        return address == server.address

    monkeypatch.setattr(ServingCheck, "__call__", answers)
    records, _ = run(some(6), lambda _, case: case == "made/2", server=server, jobs=1, kind=Silent)

    assert asked
    assert all(address == where for address, where in asked)
    assert (records["made/2"]["verdict"], records["made/4"]["verdict"]) == ("crash", "hang")


def test_what_is_measured_comes_last_and_each_time_on_a_fresh_server() -> None:
    budgets = [make_case(id=f"budget/{number}", exclusive=True, budget=True) for number in range(3)]
    records, driver = run([*budgets, *some(5)], lambda _, case: False)

    assert driver.order[-4:] == ["budget/0", "budget/1", "budget/2", STAYS_UP.id]
    assert driver.server.starts == 4
    assert others(records) == {"pass"}


def test_what_is_measured_and_fails_in_a_case_that_waits_is_played_again_and_reported() -> None:
    class Wasteful(FakeDriver):
        async def play(self, player: Player) -> Outcome:
            outcome = await super().play(player)
            return CUT if player.case.budget else outcome

    server = FakeServer()
    driver = Wasteful(server, 4, lambda _, case: False)
    budgets = [make_case({"wait": 0.1}, id=f"budget/{one}", exclusive=True, budget=True) for one in range(2)]
    cases = [*budgets, *some(2), STAYS_UP]
    suite = Suite("throttr", SUITE.clauses, tuple(cases), (), SUITE.probe)
    plan = Plan(Run("throttr", "7.1.0", "uint16", "t", "x"), suite, cases, Settings())
    records: list[Record] = []
    asyncio.run(SupervisedScheduler(plan, driver, records.append, server, 50).run())  # type: ignore[arg-type]

    assert {one["case"] for one in records if one["verdict"] == "fail"} == {"budget/0", "budget/1"}
    assert len(records) == len(cases)


def delivered(ends: Callable[[FakeDriver, str], bool], jobs: int = 4) -> tuple[dict[tuple[str, str], str], FakeServer]:
    server = FakeServer()

    class Delivering(FakeDriver):
        async def play(self, player: Player) -> Outcome:
            self.now = f"{player.case.id} {player.case.segmentation}"
            outcome = await super().play(player)
            return replace(outcome, extra={"cuts": 1})

    driver = Delivering(server, jobs, ends)
    cases = [make_case({"send": ASK}, id=f"made/{number}") for number in range(6)]
    suite = Suite("throttr", SUITE.clauses, tuple(cases), (), SUITE.probe)
    settings = Settings(segmentations=choice_of("bytes,half-closed"))
    plan = Plan(Run("throttr", "7.1.0", "uint16", "t", "x"), suite, cases, settings)
    records: list[Record] = []
    asyncio.run(SupervisedScheduler(plan, driver, records.append, server, 50).run())  # type: ignore[arg-type]
    assert len(records) == len({one["record_id"] for one in records})
    return {(one["case"], one["delivery"]): one["verdict"] for one in records}, server


def test_what_passed_is_played_under_other_deliveries_on_a_server_of_ours_too() -> None:
    found, server = delivered(lambda *_: False)

    assert set(found.values()) == {"pass"}
    assert len(found) == 18
    assert server.starts == 1


def test_a_case_that_ends_the_server_has_no_play_under_other_deliveries() -> None:
    found, _ = delivered(lambda _, case: case == "made/3")

    assert {key: verdict for key, verdict in found.items() if key[0] == "made/3"} == {("made/3", "whole"): "crash"}
    assert [verdict for key, verdict in found.items() if key[0] != "made/3"] == ["pass"] * 15
