"""Plays under other deliveries over sockets: what is played when, and when a failure there is believed."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.conformance import servers, torn
from tests.conformance.scripted import ASK, INSERT, make_case
from wireproof.conformance.drivers.limiter import Limiter
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.targets import Address
from wireproof.conformance.model.trace import Trace
from wireproof.conformance.model.verdict import Guilty, Verdict
from wireproof.conformance.player.player import Player
from wireproof.conformance.run.case_scheduler import CaseScheduler
from wireproof.conformance.run.plan import Plan, Settings
from wireproof.conformance.run.runner import play_all
from wireproof.conformance.run.segmentation_sample import ALL, SegmentationChoice, choice_of
from wireproof.conformance.suite.cases import Case, Suite, load_suite
from wireproof.conformance.suite.segmentation import SEGMENTATIONS
from wireproof.conformance.verdict.confirmation import ENOUGH, Confirmation
from wireproof.conformance.verdict.records import Record, Run

SUITE = load_suite("throttr")
OTHERS = [name for name, one in SEGMENTATIONS.items() if name != "whole" and not one.respells]
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
        self.limiter = Limiter(4)
        self.address = Address("tcp", "127.0.0.1", 9)
        self.order: list[tuple[str, str]] = []
        self._script = script
        self._seen: Counter[tuple[str, str]] = Counter()

    async def play(self, player: Player) -> Outcome:
        case = player.case
        key = case.id, case.segmentation
        self.order.append(key)
        self._seen[key] += 1
        await asyncio.sleep(0)
        return self._script(*key, self._seen[key] - 1)


EVERY_SEGMENTATION = choice_of(ALL)


def run(
    script: Script, cases: list[Case], choice: SegmentationChoice = EVERY_SEGMENTATION
) -> tuple[list[Record], Driver, Plan]:
    suite = Suite("throttr", SUITE.clauses, tuple(cases), (), SUITE.probe)
    plan = Plan(Run("throttr", "7.1.0", "uint16", "t", "x"), suite, cases, Settings(segmentations=choice))
    driver, records = Driver(script), list[Record]()
    asyncio.run(CaseScheduler(plan, driver, records.append).run())  # type: ignore[arg-type]
    return records, driver, plan


def some(count: int, **changes: Any) -> list[Case]:
    return [make_case(*ORDINARY, id=f"made/{number}", **changes) for number in range(count)]


def found(records: list[Record]) -> dict[tuple[str, str], str]:
    assert len({one["record_id"] for one in records}) == len(records)
    return {(one["case"], one["delivery"]): one["verdict"] for one in records}


def test_what_passed_whole_is_played_under_each_other_delivery() -> None:
    records, driver, _ = run(lambda *_: PASS, some(3))

    assert found(records) == {(f"made/{n}", name): "pass" for n in range(3) for name in ("whole", *OTHERS)}
    assert [segmentation for _, segmentation in driver.order[:3]] == ["whole"] * 3
    assert len(driver.order) == len(records) == 21


def test_nothing_is_played_otherwise_unless_asked_for() -> None:
    records, _, _ = run(lambda *_: PASS, some(3), SegmentationChoice())

    assert set(found(records)) == {(f"made/{n}", "whole") for n in range(3)}


@pytest.mark.parametrize("outcome", [FAIL, LATE])
def test_what_did_not_pass_whole_is_not_played_otherwise(outcome: Outcome) -> None:
    records, driver, _ = run(lambda case, *_: outcome if case == "made/1" else PASS, some(3))

    assert {segmentation for case, segmentation in driver.order if case == "made/1"} == {"whole"}
    assert len(records) == 15


def test_cases_that_need_a_quiet_server_are_done_with_before_others_begin() -> None:
    cases = [*some(2), *[make_case(*ORDINARY, id=f"alone/{n}", exclusive=True) for n in range(2)]]
    _, driver, _ = run(lambda *_: PASS, cases)
    kinds = [case.split("/")[0] for case, _ in driver.order]

    assert kinds == sorted(kinds)
    assert {segmentation for case, segmentation in driver.order if case == "alone/0"} == {"whole", *OTHERS} - {
        "joined", "dripped",
    }  # fmt: skip


@pytest.mark.parametrize("outcome", [FAIL, HANG])
def test_a_failure_is_believed_when_it_is_seen_again_and_whole_passes(
    outcome: Outcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def serves(self: CaseScheduler) -> bool:
        return True

    monkeypatch.setattr(CaseScheduler, "serves", serves)
    records, driver, _ = run(lambda case, segmentation, _: outcome if segmentation == "bytes" else PASS, some(1))
    lenient = {"fail": "lenient", "hang": "hang"}[outcome.verdict]

    assert found(records)["made/0", "bytes"] == lenient
    assert Counter(driver.order)["made/0", "bytes"] == 2
    assert Counter(driver.order)["made/0", "whole"] == 2


def test_a_failure_that_is_not_seen_again_is_none() -> None:
    records, driver, _ = run(lambda case, segmentation, n: FAIL if (segmentation, n) == ("bytes", 0) else PASS, some(1))

    assert set(found(records).values()) == {"pass"}
    assert Counter(driver.order)["made/0", "bytes"] == 2


def test_a_failure_of_a_case_that_does_not_pass_whole_any_more_reports_nothing() -> None:
    def script(case: str, segmentation: str, number: int) -> Outcome:
        return FAIL if segmentation == "bytes" or (segmentation == "whole" and number) else PASS

    records, _, plan = run(script, some(1))

    assert ("made/0", "bytes") not in found(records)
    assert set(found(records).values()) == {"pass"}
    assert plan.tally.not_judged == 1


def test_after_some_failures_the_next_are_believed_at_once() -> None:
    records, driver, _ = run(lambda case, segmentation, _: FAIL if segmentation == "fields" else PASS, some(20))
    again = [key for key, number in Counter(driver.order).items() if key[1] == "fields" and number > 1]

    assert sum(verdict == "lenient" for verdict in found(records).values()) == 20
    assert ENOUGH <= len(again) <= 20


def test_what_came_too_late_is_played_again_and_dropped_when_it_stays_so() -> None:
    records, driver, plan = run(lambda case, segmentation, _: LATE if segmentation == "dripped" else PASS, some(2))

    assert {segmentation for _, segmentation in found(records)} == {"whole", *OTHERS} - {"dripped"}
    assert Counter(driver.order)["made/0", "dripped"] == 3
    assert plan.tally.not_judged == 2


def test_no_play_begins_once_the_time_is_over() -> None:
    records, driver, plan = run(lambda *_: PASS, some(400), SegmentationChoice(OTHERS, 1e-6))
    assert len(records) == len(driver.order) == 400

    confirmation = Confirmation(0.0)
    confirmation.begin()
    assert confirmation.over
    confirmation.end()
    assert not confirmation.over
    assert plan.tally.recorded == 0


def test_time_runs_only_between_begin_and_end() -> None:
    confirmation = Confirmation(60.0)
    for _ in range(2):
        confirmation.begin()
        assert not confirmation.over
        confirmation.end()
    assert 59.0 < confirmation._left < 60.0


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
        Run("throttr", "7.1.0", "uint16", "t", "x"), SUITE, cases, Settings(timeout=0.5, segmentations=choice_of(ALL))
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
    plan = Plan(Run("throttr", "7.1.0", "uint16", "t", "x"), SUITE, cases, Settings(segmentations=choice_of(ALL)))
    records: list[Record] = []

    async def main() -> None:
        async with servers.reference() as address:
            await play_all(plan, address, records.append)

    asyncio.run(main())

    assert {one["verdict"] for one in records} == {"pass"}
    assert len(records) > 5 * len(cases)


def test_the_clock_that_runs_is_not_begun_again_and_one_that_stands_not_ended() -> None:
    confirmation = Confirmation(60.0)
    confirmation.end()
    confirmation.begin()
    until = confirmation._until
    confirmation.begin()

    assert confirmation._until == until
    confirmation.end()
    confirmation.end()
    assert 59.0 < confirmation._left < 60.0


class Meeting(Driver):
    """Notes who plays beside whom, too; what is played whole takes longer the higher its number."""

    def __init__(self, script: Script) -> None:
        super().__init__(script)
        self.playing: set[tuple[str, str]] = set()
        self.met: set[frozenset[tuple[str, str]]] = set()

    async def play(self, player: Player) -> Outcome:
        key = player.case.id, player.case.segmentation
        self.met |= {frozenset({key, other}) for other in self.playing}
        self.playing.add(key)
        for _ in range(5 * int(key[0].split("/")[1]) if key[1] == "whole" else 3):
            await asyncio.sleep(0)
        self.playing.discard(key)
        return await super().play(player)


def meetings(cases: list[Case]) -> set[frozenset[tuple[str, str]]]:
    plan = Plan(Run("throttr", "7.1.0", "uint16", "t", "x"), SUITE, cases, Settings(segmentations=choice_of(ALL)))
    driver = Meeting(lambda *_: PASS)
    asyncio.run(CaseScheduler(plan, driver, lambda record: None).run())  # type: ignore[arg-type]
    assert len(driver.order) == len(set(driver.order)) == 7 * len(cases)
    return driver.met


def test_what_passed_is_played_otherwise_beside_what_is_still_played_whole() -> None:
    beside = [dict((segmentation, case) for case, segmentation in pair) for pair in meetings(some(12))]
    whole = [pair for pair in beside if "whole" in pair and len(pair) == 2]

    assert {name for pair in whole for name in pair} == {"whole", *OTHERS}


def test_plays_of_one_case_meet_only_where_it_names_keys_of_its_own() -> None:
    fixed = {"INSERT": {"key": "k", "quota": 7, "ttl_type": "seconds", "ttl": 60}}
    own, others = make_case(*ORDINARY, id="made/1"), make_case({"send": fixed, "expect": "ok"}, id="made/2")
    alone = {case: [pair for pair in meetings([own, others]) if {one for one, _ in pair} == {case}] for case in
             ("made/1", "made/2")}  # fmt: skip

    assert alone["made/1"]
    assert not alone["made/2"]
    assert not [pair for pair in alone["made/1"] if "whole" in {segmentation for _, segmentation in pair}]


def test_a_case_played_whole_is_not_refused_when_the_time_for_others_is_over() -> None:
    cases = some(3)
    plan = Plan(Run("throttr", "7.1.0", "uint16", "t", "x"), SUITE, cases, Settings(segmentations=choice_of(ALL)))
    driver, records = Driver(lambda *_: PASS), list[Record]()
    playing = CaseScheduler(plan, driver, records.append)  # type: ignore[arg-type]
    playing.confirmation = Confirmation(0.0)
    playing.confirmation.begin()
    asyncio.run(playing.play_concurrently(cases))

    assert {segmentation for _, segmentation in driver.order} == {"whole"}
    assert [one["verdict"] for one in records] == ["pass"] * 3


def test_what_does_not_pass_beside_plays_under_other_deliveries_is_played_again_without_them() -> None:
    playing: set[tuple[str, str]] = set()

    class Spoilt(Driver):
        async def play(self, player: Player) -> Outcome:
            key = player.case.id, player.case.segmentation
            playing.add(key)
            for _ in range(5):
                await asyncio.sleep(0)
            spoilt = key[1] == "whole" and any(segmentation != "whole" for _, segmentation in playing)
            playing.discard(key)
            outcome = await super().play(player)
            return FAIL if spoilt else outcome

    cases = some(30)
    plan = Plan(Run("throttr", "7.1.0", "uint16", "t", "x"), SUITE, cases, Settings(segmentations=choice_of(ALL)))
    driver, records = Spoilt(lambda *_: PASS), list[Record]()
    asyncio.run(CaseScheduler(plan, driver, records.append).run())  # type: ignore[arg-type]

    assert max(Counter(driver.order).values()) == 2
    assert found(records) == {(case.id, name): "pass" for case in cases for name in ("whole", *OTHERS)}


def test_what_fails_with_nothing_beside_it_is_played_once() -> None:
    _, driver, _ = run(lambda *_: FAIL, some(8))

    assert set(Counter(driver.order).values()) == {1}
