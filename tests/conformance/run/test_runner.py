"""The runner: who plays beside whom, who is to blame for a death, and that no accident in one case ends the others."""

import asyncio
from typing import Any

import pytest

from tests.conformance import servers
from tests.conformance.run.counting import (
    CRASH,
    PASS,
    STAYS_UP,
    SUITE,
    CountingDriver,
    plan_of,
    run,
    some,
    verdicts,
)
from tests.conformance.scripted import ASK, make_case
from wireproof.conformance.model.outcome import FailurePlace, Outcome
from wireproof.conformance.model.trace import Kind, Trace, TraceEvent
from wireproof.conformance.model.verdict import Guilty, Verdict
from wireproof.conformance.player.player import Player
from wireproof.conformance.report.outputs import OutputError
from wireproof.conformance.run import availability
from wireproof.conformance.run.case_scheduler import CaseScheduler
from wireproof.conformance.run.plan import Plan, Settings
from wireproof.conformance.run.runner import play_all, simulate
from wireproof.conformance.run.segmentation_sample import SegmentationChoice
from wireproof.conformance.run.selection import select
from wireproof.conformance.suite.case_traits import waits
from wireproof.conformance.suite.cases import Suite, load_suite
from wireproof.conformance.suite.symbolic import steps_of
from wireproof.conformance.verdict.records import Record, Run
from wireproof.reference_server.registry import create_service

SUITE_WITHOUT = Suite("throttr", SUITE.clauses, (), (), {})
NOBODY = Outcome(Verdict.UNTESTABLE, Trace([TraceEvent(0, "a", Kind.RESET, b"refused")]), Guilty.NOBODY, got="refused")


@pytest.fixture(autouse=True)
def _no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody comes back here."""
    monkeypatch.setattr(availability, "ASKED_FOR", 0.0)


def test_every_case_has_one_record() -> None:
    cases = some(40)

    assert sorted(one["case"] for one in run(cases, CountingDriver(4))) == sorted(case.id for case in cases)


def test_as_many_play_side_by_side_as_there_are_jobs() -> None:
    driver = CountingDriver(4)
    run(some(40), driver)

    assert driver.most == 4


def test_exclusive_cases_run_alone_and_pristine_ones_first() -> None:
    driver = CountingDriver(4)
    alone = [make_case(id=f"alone/{number}", exclusive=True) for number in range(3)]
    fresh_server = make_case(id="fresh/1", exclusive=True, fresh_server=True)
    run([*some(10), *alone, fresh_server, *some(0)], driver)

    assert all(driver.beside[case.id] == {case.id} for case in [*alone, fresh_server])
    assert driver.order[:4] == ["fresh/1", "alone/0", "alone/1", "alone/2"]


def test_what_others_rest_on_comes_before_what_may_take_long_and_behind_what_needs_a_fresh_server() -> None:
    driver = CountingDriver(1)
    rests = [make_case(id="first/1", prerequisite=True), make_case(id="first/2", prerequisite_of_all=True)]
    alone = [make_case(id="alone/1", exclusive=True), make_case(id="fresh/1", exclusive=True, fresh_server=True)]
    run([make_case({"wait": 9}, id="waiting/1"), *alone, *rests], driver)

    assert driver.order == ["fresh/1", "first/1", "first/2", "alone/1", "waiting/1"]


def test_what_asks_for_tables_and_others_rest_on_is_played_first_and_alone_short_plays_before_long_ones() -> None:
    driver = CountingDriver(4)
    rests = [make_case(id=f"rests/{number}", prerequisite=True) for number in range(5)]
    ask = {"send": ["LIST"], "expect": ["any"]}
    table = make_case(ask, id="table/1", prerequisite=True)
    form = make_case(*[ask] * 9, id="table/0", prerequisite_of=["LIST"])
    run([*some(3), *rests, form, table], driver)

    assert driver.order[:2] == ["table/1", "table/0"]
    assert driver.beside["table/0"] == {"table/0"}
    assert set(driver.order[2:7]) == {one.id for one in rests}


def test_nothing_waits_for_the_slow_plays_of_what_others_rest_on() -> None:
    plays: list[tuple[str, str]] = []

    class Noting(CountingDriver):
        async def play(self, player: Player) -> Outcome:
            plays.append((player.case.id, player.case.segmentation))
            return await super().play(player)

    rests = make_case({"send": ASK, "expect": "any"}, id="first/1", prerequisite=True)
    alone = make_case(id="alone/1", exclusive=True)
    plan = plan_of([*some(2), rests, alone], segmentations=SegmentationChoice(("bytes", "dripped"), 60.0))
    asyncio.run(CaseScheduler(plan, Noting(4), lambda record: None).run())  # type: ignore[arg-type]

    assert plays[:2] == [("first/1", "whole"), ("alone/1", "whole")]
    assert {("first/1", "bytes"), ("first/1", "dripped")} <= set(plays[2:])
    assert len(plays) == len(set(plays))


def test_waiting_cases_begin_before_the_others() -> None:
    driver = CountingDriver(1)
    waiting = make_case({"repeat": {"each": {"i": [1, 2]}, "steps": [{"wait": 1}]}}, id="waiting/1")
    run([*some(5), waiting], driver)

    assert driver.order[0] == "waiting/1"


def test_what_asks_for_tables_begins_before_others_fill_them_but_not_before_long_waits() -> None:
    driver = CountingDriver(1)
    asks = make_case({"send": "INFO"}, {"send": "LIST", "expect": "any"}, id="asks/1")
    fills = make_case({"send": {"times": 60, "of": "INFO"}}, {"send": "LIST", "expect": "any"}, id="asks/many")
    run([*some(5), fills, asks, make_case({"wait": 2}, id="waiting/1")], driver)

    assert driver.order[:3] == ["waiting/1", "asks/1", "asks/many"]


@pytest.mark.parametrize(
    ("step", "does"),
    [
        ({"wait": 1}, True), ({"wait_until": {"mark": "m", "plus": 1}}, True), ({"send": "INFO"}, False),
        ({"repeat": {"each": {"i": [1, 2]}, "steps": [{"wait": 1}]}}, True),
        ({"by_profile": {"else": {"wait": 1}}}, True),
    ],
)  # fmt: skip
def test_a_case_waits_when_any_step_does(step: Any, does: bool) -> None:
    assert waits(make_case(step)) is does


def test_a_target_that_is_gone_is_not_asked_over_and_over() -> None:
    driver = CountingDriver(4, lambda case, attempt: NOBODY)
    records = run(some(50), driver)

    assert len(driver.order) == 4  # those that were begun before the first of them knew
    assert verdicts(records) == {case.id: "untestable" for case in some(50)} | {STAYS_UP.id: "crash"}
    assert "with no case under way" in records[-1]["got"]


def test_who_was_alone_with_the_target_when_it_went_is_the_crash_and_nobody_else() -> None:
    cases = [*[make_case(id=f"alone/{number}", exclusive=True) for number in range(4)], *some(20), STAYS_UP]
    fates = {"alone/0": [PASS], "alone/1": [CRASH, NOBODY]}
    driver = CountingDriver(4, lambda case, attempt: fates.get(case, [NOBODY] * 3)[attempt and 1])
    found = verdicts(run(cases, driver))

    assert {case for case, verdict in found.items() if verdict == "crash"} == {"alone/1"}
    assert found["alone/0"] == "pass"
    assert sum(verdict == "untestable" for verdict in found.values()) == 23
    assert driver.order == ["alone/0", "alone/1", "alone/1"]


def test_of_several_under_way_nobody_is_accused_and_the_run_is_the_crash() -> None:
    driver = CountingDriver(4, lambda case, attempt: NOBODY if attempt or int(case[5:]) > 3 else CRASH)
    records = run(some(30), driver)
    found, last = verdicts(records), records[-1]

    assert {case for case, verdict in found.items() if verdict == "crash"} == {STAYS_UP.id}
    assert last["extra"]["ends"][0]["under_way"] == ["made/0", "made/1", "made/2", "made/3"]
    assert "3 other cases were under way" in next(one["got"] for one in records if one["case"] == "made/0")


def test_the_only_one_under_way_is_the_crash() -> None:
    driver = CountingDriver(4, lambda case, attempt: CRASH if case == "made/2" and not attempt else NOBODY)
    found = verdicts(run(some(30), driver))

    assert {case for case, verdict in found.items() if verdict == "crash"} == {"made/2"}


def test_where_no_case_stands_for_the_run_all_under_way_are_crashes() -> None:
    driver = CountingDriver(4, lambda case, attempt: NOBODY if attempt or int(case[5:]) > 3 else CRASH)
    plan = plan_of(some(30))
    plan.suite = SUITE_WITHOUT
    records: list[Record] = []
    asyncio.run(CaseScheduler(plan, driver, records.append).run())  # type: ignore[arg-type]

    assert sum(one["verdict"] == "crash" for one in records) == 4


def test_a_target_that_comes_back_distinguishes_the_guilty_from_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    async def serves(self: CaseScheduler) -> bool:
        return True

    monkeypatch.setattr(CaseScheduler, "serves", serves)
    driver = CountingDriver(4, lambda case, attempt: CRASH if case == "made/1" or not attempt else PASS)
    found = verdicts(run([*some(8), STAYS_UP], driver))

    assert {case for case, verdict in found.items() if verdict == "crash"} == {"made/1"}
    assert found[STAYS_UP.id] == "pass"
    assert len(found) == 9


def test_an_unexpected_exception_is_the_record_of_its_case() -> None:
    def script(case: str, attempt: int) -> Outcome:
        if case == "made/2":
            raise RuntimeError("broken")
        return PASS

    records = {one["case"]: one for one in run(some(5), CountingDriver(2, script))}

    assert len(records) == 5
    assert records["made/2"]["verdict"] == "harness_error"
    assert (records["made/2"]["guilty"], records["made/2"]["got"]) == ("harness", "RuntimeError: broken")


def test_what_cannot_be_written_ends_the_run_with_that_error() -> None:
    def full(record: Record) -> None:
        raise OutputError("no space")

    async def main() -> None:
        async with servers.reference() as address:
            await play_all(plan_of(some(20, steps=steps_of([{"alive": True}]))), address, full)

    with pytest.raises(OutputError, match="no space"):
        asyncio.run(main())


def test_each_attempt_has_keys_of_its_own() -> None:
    plan = plan_of(some(1))
    keys = {plan.player(plan.cases[0], attempt).talk.symbols.data("$k") for attempt in range(3)}

    assert len(keys) == 3


def test_an_exception_in_simulation_is_the_record_of_its_case() -> None:
    records: list[Record] = []
    made: list[Any] = []

    def factory(clock: Any) -> Any:
        made.append(clock)
        if len(made) == 2:
            raise RuntimeError("broken")
        return create_service("throttr", profile="7.1.0", variant="uint16", clock=clock)

    simulate(plan_of(some(3, steps=steps_of([{"alive": True}]))), factory, records.append)

    assert [one["verdict"] for one in records] == ["pass", "harness_error", "pass"]


def test_the_reference_passes_over_loopback_what_it_passes_in_simulation() -> None:
    cases = [case for case in select(SUITE, "7.1.0", "uint16", expression="query/ or publish/ or get/", slow=False)]
    records: list[Record] = []

    async def main() -> None:
        async with servers.reference() as address:
            await play_all(plan_of([case for case in cases if not waits(case)]), address, records.append)

    asyncio.run(main())

    assert [one["case"] for one in records if one["verdict"] != "pass"] == []
    assert len(records) > 20


def test_a_server_that_answers_nobody_is_soon_left_alone() -> None:
    records: list[Record] = []

    async def main() -> None:
        async with servers.serving(servers.never_answers) as address:
            await play_all(
                plan_of(some(30, steps=steps_of([{"alive": True}])), timeout=0.1, jobs=4), address, records.append
            )

    asyncio.run(main())

    assert len(records) == 31
    assert [one["case"] for one in records if one["verdict"] != "untestable"] == [STAYS_UP.id]


def test_a_large_number_that_is_read_wrong_names_the_clause_about_large_numbers() -> None:
    suite = load_suite("throttr")
    plan = Plan(Run("throttr", "7.3.2", "uint16", "t", "x"), suite, (), Settings())
    place = FailurePlace("QUERY", "quota", frozenset({"QUERY"}))

    def extreme(expected: str, got: str) -> object:
        outcome = Outcome(Verdict.FAIL, Trace(), expected=expected, got=got, place=place)
        return plan.record(suite.cases[0], outcome, 0.0)["extra"].get("extreme")

    assert extreme("QUERY_REPLY.quota = 32768", "32767") == "THR-WIDTH-8"
    assert extreme("QUERY_REPLY.quota = 32767", "0") is None
    assert extreme("QUERY_REPLY.quota = 40000", "refused") is None
    assert extreme("QUERY_REPLY.quota = 65535", "0") == "THR-WIDTH-8"
    assert extreme("INFO_REPLY.counters = 65536", "7") is None  # a count of 8 bytes at every width
