"""What is played alone although it allows others beside it, and what comes of a case that fails only so."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from tests.conformance.run.test_runner import PASS, CountingDriver, plan_of
from tests.conformance.scripted import ASK, make_case
from wireproof.conformance.model.outcome import FailurePlace, Outcome
from wireproof.conformance.model.trace import Kind, Trace, TraceEvent
from wireproof.conformance.model.verdict import Guilty, Verdict
from wireproof.conformance.run.alone import ASKED, PLAY, WAITED, played_alone
from wireproof.conformance.run.case_scheduler import ENOUGH, CaseScheduler
from wireproof.conformance.suite.case_traits import patience, waits
from wireproof.conformance.suite.cases import Case, load_suite
from wireproof.conformance.verdict.records import Record

SUITE = load_suite("throttr")
CASES = [one for one in SUITE.cases if "7.3.2" in one.profiles and not one.slow]
HANG = Outcome(
    Verdict.HANG,
    Trace([TraceEvent(0, "a", Kind.SILENT)]),
    Guilty.TARGET,
    got="nothing",
    place=FailurePlace("QUERY", "", frozenset()),
)


def near(case: Case) -> float:
    return 0.0


def chosen(cases: list[Case], far: Any = near) -> list[Case]:
    return played_alone(cases, SUITE, "7.3.2", None, far)


def run(driver: CountingDriver, cases: list[Case], **settings: Any) -> dict[str, Record]:
    records: list[Record] = []
    plan = plan_of(cases, alone=True, **settings)
    asyncio.run(CaseScheduler(plan, driver, records.append).run())  # type: ignore[arg-type]
    return {one["case"]: one for one in records}


def lonely(driver: CountingDriver, outcome: Outcome) -> None:
    """Let a play end so where nothing else was under way."""
    driver._script = lambda case, attempt: outcome if driver.beside[case] == {case} else PASS


def test_the_choice_is_the_same_whatever_the_order_of_cases_and_takes_no_longer_than_it_may() -> None:
    found = chosen(CASES)

    assert [one.id for one in chosen(CASES[::-1])] == [one.id for one in found]
    assert len(found) > 100
    assert len(found) * PLAY < ASKED + WAITED
    assert sum(map(patience, found)) <= WAITED


def test_what_lets_time_pass_and_what_does_not_are_both_chosen_and_nothing_that_is_alone_anyway() -> None:
    found = chosen(CASES)

    assert {waits(one) for one in found} == {True, False}
    assert not any(one.exclusive or one.slow or one.heavy for one in found)
    assert "push/reaches-its-subscriber" in {one.id for one in found}


def test_where_slow_cases_are_played_time_outs_of_seconds_are_played_alone_too() -> None:
    timed_out = [make_case({"wait": seconds}, id=f"made/{seconds}") for seconds in (4, 5)]
    slow = make_case({"send": [ASK]}, id="made/slow", slow=True)

    assert chosen(timed_out) == []
    assert [one.id for one in chosen([*timed_out, slow])] == ["made/4", "made/5"]


def test_where_a_target_is_far_fewer_are_chosen() -> None:
    assert len(chosen(CASES, lambda case: 0.5)) <= 5


def test_of_one_clause_the_case_with_fewer_requests_comes_first() -> None:
    more, plain = make_case({"send": [ASK, ASK]}, id="made/0"), make_case({"send": [ASK]}, id="made/1")

    assert [one.id for one in chosen([more, plain])] == ["made/1", "made/0"]


def test_what_is_chosen_has_nothing_beside_it_and_its_record_says_so() -> None:
    driver = CountingDriver(4)
    records = run(driver, [make_case(id=f"made/{number}") for number in range(9)])

    assert all(driver.beside[name] == {name} for name in records)
    assert all(one["extra"]["alone"] for one in records.values())


def test_where_one_plays_at_a_time_none_is_chosen() -> None:
    records = run(CountingDriver(1), [make_case(id="made/0")], jobs=1)

    assert "alone" not in records["made/0"]["extra"]


def test_what_passes_only_beside_others_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    async def serves(scheduler: CaseScheduler, timeout: float | None = None) -> bool:
        return True

    monkeypatch.setattr(CaseScheduler, "serves", serves)
    driver = CountingDriver(4)
    lonely(driver, HANG)
    records = run(driver, [make_case(id=f"made/{number}") for number in range(ENOUGH - 1)])

    assert {one["verdict"] for one in records.values()} == {"hang"}


def test_of_many_that_fail_so_the_others_are_played_beside_each_other() -> None:
    driver = CountingDriver(4)
    lonely(driver, replace(HANG, verdict=Verdict.FAIL))
    records = run(driver, [make_case(id=f"made/{number:02}") for number in range(20)])
    alone = {name for name, one in records.items() if one["extra"].get("alone")}

    assert alone == {f"made/{number:02}" for number in range(ENOUGH)}
    assert {records[name]["verdict"] for name in alone} == {"fail"}
    assert records["made/07"]["verdict"] == "pass"


def test_what_asks_for_tables_and_was_played_first_is_not_played_again() -> None:
    driver = CountingDriver(4)
    ask = {"send": ["LIST"], "expect": ["any"]}
    run(driver, [make_case(ask, id="table/1", prerequisite=True), make_case(id="made/0")])

    assert driver.order == ["table/1", "made/0"]
