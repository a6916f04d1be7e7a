"""Plays under other deliveries over sockets: what is played when, and when a failure there is believed."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from conformance.cases import Case, Suite, load_suite
from conformance.gate import Gate
from conformance.outcome import Outcome
from conformance.player import Player
from conformance.records import Record, Run
from conformance.rounds import Round
from conformance.runner import Plan, Settings, play_all
from conformance.sampling import ALL, OTHERS, Choice, choice_of
from conformance.targets import Address
from conformance.trace import Trace
from conformance.verdicts import Guilty, Verdict
from conformance.yardstick import ENOUGH, Yardstick
from tests.conformance import servers, torn
from tests.conformance.scripted import ASK, INSERT, make_case

SUITE = load_suite("throttr")
ORDINARY = ({"send": INSERT, "expect": "ok", "given": True}, {"send": ASK, "expect": {"QUERY_REPLY": {"quota": 7}}})
PASS = Outcome(Verdict.PASS, Trace(), extra={"cuts": 1})
FAIL = Outcome(Verdict.FAIL, Trace(), Guilty.TARGET, got="wrong")
HANG = Outcome(Verdict.HANG, Trace(), Guilty.TARGET, got="nothing")
LATE = Outcome(Verdict.UNTESTABLE, Trace(), Guilty.HARNESS, got="too late")
Script = Callable[[str, str, int], Outcome]
"""(case, delivery, how often it was played so before) -> outcome."""


class Driver:
    """Plays nothing: follows a script and notes what was played, and beside how many."""

    def __init__(self, script: Script) -> None:
        self.gate = Gate(4)
        self.address = Address("tcp", "127.0.0.1", 9)
        self.order: list[tuple[str, str]] = []
        self._script = script
        self._seen: Counter[tuple[str, str]] = Counter()

    async def play(self, player: Player) -> Outcome:
        case = player.case
        key = case.id, case.delivery
        self.order.append(key)
        self._seen[key] += 1
        await asyncio.sleep(0)
        return self._script(*key, self._seen[key] - 1)


def run(script: Script, cases: list[Case], choice: Choice = choice_of(ALL)) -> tuple[list[Record], Driver, Plan]:  # noqa: B008
    suite = Suite("throttr", SUITE.clauses, tuple(cases), (), SUITE.probe)
    plan = Plan(Run("throttr", "7.1.0", "uint16", "t", "x"), suite, cases, Settings(deliveries=choice))
    driver, records = Driver(script), list[Record]()
    asyncio.run(Round(plan, driver, records.append).go())  # type: ignore[arg-type]
    return records, driver, plan


def some(count: int, **changes: Any) -> list[Case]:
    return [make_case(*ORDINARY, id=f"made/{number}", **changes) for number in range(count)]


def found(records: list[Record]) -> dict[tuple[str, str], str]:
    assert len({one["record_id"] for one in records}) == len(records)
    return {(one["case"], one["delivery"]): one["verdict"] for one in records}


def test_what_passed_whole_is_played_under_each_other_delivery() -> None:
    records, driver, _ = run(lambda *_: PASS, some(3))

    assert found(records) == {(f"made/{n}", name): "pass" for n in range(3) for name in ("whole", *OTHERS)}
    assert [delivery for _, delivery in driver.order[:3]] == ["whole"] * 3
    assert len(driver.order) == len(records) == 21


def test_nothing_is_played_otherwise_unless_asked_for() -> None:
    records, _, _ = run(lambda *_: PASS, some(3), Choice())

    assert set(found(records)) == {(f"made/{n}", "whole") for n in range(3)}


@pytest.mark.parametrize("outcome", [FAIL, LATE])
def test_what_did_not_pass_whole_is_not_played_otherwise(outcome: Outcome) -> None:
    records, driver, _ = run(lambda case, *_: outcome if case == "made/1" else PASS, some(3))

    assert {delivery for case, delivery in driver.order if case == "made/1"} == {"whole"}
    assert len(records) == 15


def test_cases_that_need_a_quiet_server_are_done_with_before_others_begin() -> None:
    cases = [*some(2), *[make_case(*ORDINARY, id=f"alone/{n}", exclusive=True) for n in range(2)]]
    _, driver, _ = run(lambda *_: PASS, cases)
    kinds = [case.split("/")[0] for case, _ in driver.order]

    assert kinds == sorted(kinds)
    assert {delivery for case, delivery in driver.order if case == "alone/0"} == {"whole", *OTHERS} - {
        "joined", "dripped",
    }  # fmt: skip


@pytest.mark.parametrize("outcome", [FAIL, HANG])
def test_a_failure_is_believed_when_it_is_seen_again_and_whole_passes(
    outcome: Outcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def serves(self: Round) -> bool:
        return True

    monkeypatch.setattr(Round, "_serves", serves)
    records, driver, _ = run(lambda case, delivery, _: outcome if delivery == "bytes" else PASS, some(1))
    lenient = {"fail": "lenient", "hang": "hang"}[outcome.verdict]

    assert found(records)["made/0", "bytes"] == lenient
    assert Counter(driver.order)["made/0", "bytes"] == 2
    assert Counter(driver.order)["made/0", "whole"] == 2


def test_a_failure_that_is_not_seen_again_is_none() -> None:
    records, driver, _ = run(lambda case, delivery, n: FAIL if (delivery, n) == ("bytes", 0) else PASS, some(1))

    assert set(found(records).values()) == {"pass"}
    assert Counter(driver.order)["made/0", "bytes"] == 2


def test_a_failure_of_a_case_that_does_not_pass_whole_any_more_tells_nothing() -> None:
    def script(case: str, delivery: str, number: int) -> Outcome:
        return FAIL if delivery == "bytes" or (delivery == "whole" and number) else PASS

    records, _, plan = run(script, some(1))

    assert ("made/0", "bytes") not in found(records)
    assert set(found(records).values()) == {"pass"}
    assert plan.tally.untold == 1


def test_after_some_failures_the_next_are_believed_at_once() -> None:
    records, driver, _ = run(lambda case, delivery, _: FAIL if delivery == "fields" else PASS, some(20))
    again = [key for key, number in Counter(driver.order).items() if key[1] == "fields" and number > 1]

    assert sum(verdict == "lenient" for verdict in found(records).values()) == 20
    assert ENOUGH <= len(again) <= 20


def test_what_came_too_late_is_played_again_and_dropped_when_it_stays_so() -> None:
    records, driver, plan = run(lambda case, delivery, _: LATE if delivery == "dripped" else PASS, some(2))

    assert {delivery for _, delivery in found(records)} == {"whole", *OTHERS} - {"dripped"}
    assert Counter(driver.order)["made/0", "dripped"] == 3
    assert plan.tally.untold == 2


def test_no_play_begins_once_the_time_is_over() -> None:
    records, driver, plan = run(lambda *_: PASS, some(400), Choice(OTHERS, 1e-6))
    assert len(records) == len(driver.order) == 400

    stick = Yardstick(0.0)
    stick.begin()
    assert stick.over
    stick.end()
    assert not stick.over
    assert plan.tally.recorded == 0


def test_time_runs_only_between_begin_and_end() -> None:
    stick = Yardstick(60.0)
    for _ in range(2):
        stick.begin()
        assert not stick.over
        stick.end()
    assert 59.0 < stick._left < 60.0


@pytest.mark.parametrize(
    ("kind", "under"),
    [
        (torn.Torn, set()),
        (torn.Piecemeal, {"bytes", "fields", "beside", "dripped"}),
        (torn.FirstOnly, {"joined"}),
        (torn.Hasty, {"half-closed"}),
    ],
)
def test_over_sockets_a_target_is_found_out_under_its_delivery_and_nowhere_else(kind: Any, under: set[str]) -> None:
    cases = some(3)
    plan = Plan(
        Run("throttr", "7.1.0", "uint16", "t", "x"), SUITE, cases, Settings(timeout=0.5, deliveries=choice_of(ALL))
    )
    records: list[Record] = []

    async def main() -> None:
        async with servers.torn_service(kind) as address:
            await play_all(plan, address, records.append)

    asyncio.run(main())

    assert {one["delivery"] for one in records if one["verdict"] != "pass"} == under
    assert {one["delivery"] for one in records} == {"whole", *OTHERS}
    assert not [one for one in records if one["verdict"] == "harness_error"]


def test_the_reference_passes_over_loopback_under_every_delivery() -> None:
    cases = [case for case in SUITE.cases if case.id.startswith(("query/", "get/", "push/")) and not case.slow][::4]
    cases = [case for case in cases if "7.1.0" in case.profiles and (not case.variants or "uint16" in case.variants)]
    plan = Plan(Run("throttr", "7.1.0", "uint16", "t", "x"), SUITE, cases, Settings(deliveries=choice_of(ALL)))
    records: list[Record] = []

    async def main() -> None:
        async with servers.reference() as address:
            await play_all(plan, address, records.append)

    asyncio.run(main())

    assert {one["verdict"] for one in records} == {"pass"}
    assert len(records) > 5 * len(cases)
