"""What is played again, when, and what is believed without that."""

import asyncio

import pytest

from tests.conformance.run.counting import (
    CRASH,
    PASS,
    SUITE,
    CountingDriver,
    Script,
    plan_of,
    run,
    some,
    verdicts,
)
from tests.conformance.scripted import make_case
from wireproof.conformance.model.outcome import FailurePlace, Outcome
from wireproof.conformance.model.trace import Trace
from wireproof.conformance.model.verdict import Guilty, Verdict
from wireproof.conformance.run import availability
from wireproof.conformance.run.case_scheduler import CaseScheduler
from wireproof.conformance.suite.symbolic import steps_of
from wireproof.conformance.verdict.records import Record


@pytest.fixture(autouse=True)
def _no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody comes back here."""
    monkeypatch.setattr(availability, "ASKED_FOR", 0.0)


LATE = Outcome(Verdict.UNTESTABLE, Trace(), Guilty.HARNESS, got="too late")


def test_a_late_case_is_played_again_and_its_last_outcome_counts() -> None:
    driver = CountingDriver(4, lambda case, attempt: LATE if case == "made/3" and attempt == 0 else PASS)
    records = run(some(8), driver)

    assert driver.order.count("made/3") == 2
    assert {one["verdict"] for one in records} == {"pass"}


def test_a_case_that_is_always_late_is_untestable_after_its_last_try_alone() -> None:
    driver = CountingDriver(4, lambda case, attempt: LATE if case == "made/3" else PASS)
    (record,) = [one for one in run(some(8), driver) if one["case"] == "made/3"]

    assert driver.order.count("made/3") == 3
    assert (record["verdict"], record["guilty"]) == ("untestable", "harness")


def test_who_found_no_room_to_connect_is_played_again_alone() -> None:
    driver = CountingDriver(4, lambda case, attempt: CRASH if attempt == 0 and case != "made/0" else PASS)
    records = run(some(8), driver)

    assert {one["verdict"] for one in records} == {"pass"}


FAIL = Outcome(Verdict.FAIL, Trace(), Guilty.TARGET, got="wrong")


@pytest.mark.parametrize(("waits_too", "plays"), [(True, 2), (False, 1)])
def test_a_case_that_lets_time_pass_is_seen_again_before_it_fails(waits_too: bool, plays: int) -> None:
    cases = some(4, steps=steps_of([{"wait": 1}] if waits_too else [{"alive": True}]))
    driver = CountingDriver(4, lambda case, attempt: FAIL if case == "made/1" and not attempt else PASS)
    found = verdicts(run(cases, driver))

    assert driver.order.count("made/1") == plays
    assert found["made/1"] == ("pass" if waits_too else "fail")


SILENT = Outcome(
    Verdict.HANG, Trace(), Guilty.TARGET, got="nothing in 5 s", place=FailurePlace("QUERY", "", frozenset())
)


def serving(monkeypatch: pytest.MonkeyPatch) -> None:
    async def serves(self: CaseScheduler, timeout: float | None = None) -> bool:
        return True

    monkeypatch.setattr(CaseScheduler, "serves", serves)


def test_what_got_no_answer_while_the_target_was_slow_is_asked_again_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    serving(monkeypatch)
    slow = {f"made/{number}" for number in range(10, 15)}
    driver = CountingDriver(4, lambda case, attempt: SILENT if case in slow and not attempt else PASS)

    assert set(verdicts(run(some(20), driver)).values()) == {"pass"}


@pytest.mark.parametrize(("answered", "again"), [(30, 3), (0, 0)])
def test_a_request_that_is_never_answered_is_asked_again_a_few_times_only(
    monkeypatch: pytest.MonkeyPatch, answered: int, again: int
) -> None:
    """And not at all where next to nothing passes."""
    serving(monkeypatch)
    driver = CountingDriver(1, lambda case, attempt: PASS if case.startswith("a/") else SILENT)
    names = [*(f"a/{number}" for number in range(answered)), *(f"alone/{number}" for number in range(20))]
    found = verdicts(run([make_case(id=name, exclusive=True) for name in names], driver))

    assert len(driver.order) == answered + 20 + again
    assert {name for name, verdict in found.items() if verdict == "hang"} == set(names[answered:])


def test_after_some_that_failed_again_alone_the_next_ones_are_believed() -> None:
    many = CountingDriver(1, lambda case, attempt: FAIL)
    run([make_case({"wait": 1}, id=f"alone/{number}", exclusive=True) for number in range(20)], many)

    assert len(many.order) == 28


ONE, OTHER = sorted(SUITE.clauses)[:2]


def in_way(clause: str, request: str = "QUERY", step: int = 1) -> Outcome:
    """A failure that a case is seen again for where it waits."""
    place = FailurePlace(request, "", frozenset())
    return Outcome(Verdict.FAIL, Trace(), Guilty.TARGET, clause, step, got="wrong", place=place)


WAITING = some(6, steps=steps_of([{"wait": 1}]))


def plays_beside_others(script: Script) -> tuple[list[str], dict[str, str]]:
    """Return the plays, and the verdicts, of cases that are played beside others twice: they were disturbed."""
    driver = CountingDriver(8, script)
    records: list[Record] = []
    scheduler = CaseScheduler(plan_of(WAITING), driver, records.append)  # type: ignore[arg-type]
    scheduler.was_beside_others = lambda began: True  # type: ignore[method-assign]
    asyncio.run(scheduler.run())
    return driver.order, verdicts(records)


def test_of_what_failed_twice_in_one_way_the_first_is_seen_once_more() -> None:
    order, found = plays_beside_others(lambda case, attempt: in_way(ONE))

    assert len(order) == 2 * len(WAITING) + 1
    assert {found[case.id] for case in WAITING} == {"fail"}


@pytest.mark.parametrize(
    "second",
    [in_way(OTHER), in_way(ONE, "GET"), in_way(ONE, step=2), FAIL],
    ids=["another clause", "at another request", "in another step", "no clause"],
)
def test_what_failed_in_another_way_the_second_time_is_seen_once_more(second: Outcome) -> None:
    order, _ = plays_beside_others(lambda case, attempt: in_way(ONE) if case == "made/0" or not attempt else second)

    assert len(order) == 3 * len(WAITING)


def test_what_passes_alone_speaks_for_no_other_case() -> None:
    order, found = plays_beside_others(lambda case, attempt: in_way(ONE) if attempt < 2 else PASS)

    assert len(order) == 3 * len(WAITING)
    assert {found[case.id] for case in WAITING} == {"pass"}


def test_where_some_pass_alone_the_others_are_seen_until_one_fails() -> None:
    order, found = plays_beside_others(
        lambda case, attempt: PASS if case in ("made/0", "made/1") and attempt == 2 else in_way(ONE)
    )

    assert len(order) == 2 * len(WAITING) + 3
    assert sorted(found[case.id] for case in WAITING) == ["fail"] * 4 + ["pass"] * 2
