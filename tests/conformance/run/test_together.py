"""Requests in one segment: what fails only together is about that, what fails one by one is about the request."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from tests.conformance import torn
from tests.conformance.scripted import ASK, INSERT, make_case
from wireproof.conformance.drivers.simulation import SimulationDriver
from wireproof.conformance.model.outcome import FailurePlace, Outcome
from wireproof.conformance.model.trace import Trace
from wireproof.conformance.model.verdict import Guilty, Verdict
from wireproof.conformance.player.player import Player
from wireproof.conformance.run.plan import Plan, Settings
from wireproof.conformance.run.runner import simulate
from wireproof.conformance.run.together import AGAIN, ENOUGH, PASSES_AGAIN
from wireproof.conformance.suite.cases import Case, load_suite
from wireproof.conformance.suite.segmentation import APART, Carrier
from wireproof.conformance.verdict.causes import causes_of
from wireproof.conformance.verdict.records import Record, Run

SUITE = load_suite("throttr")
SEEN = {"QUERY_REPLY": {"quota": 7}}
STORED = {"send": INSERT, "expect": "ok", "given": True}
TWICE = (STORED, {"send": [ASK, ASK], "expect": [SEEN, SEEN]})
WRONG = (STORED, {"send": [ASK, ASK], "expect": [SEEN, {"QUERY_REPLY": {"quota": 8}}]})
CLAUSE = "THR-ROBUSTNESS-7"


class EqualOnce(torn.Torn):
    """Answers the first half of a segment whose halves are equal."""

    def data_received(self, data: bytes) -> None:
        half = len(data) // 2
        self.inner.data_received(data[:half] if data[:half] == data[half:] else data)


def plan_of(*cases: Case) -> Plan:
    return Plan(Run("throttr", "7.1.0", "uint16", "t", "x"), SUITE, cases, Settings(timeout=2.0))


def played(kind: Any, *cases: Case) -> list[Record]:
    records: list[Record] = []
    simulate(plan_of(*cases), torn.torn(kind), records.append)
    return records


@pytest.mark.parametrize(("steps", "clause"), [(TWICE, CLAUSE), (WRONG, "THR-QUERY-6")])
def test_what_fails_only_in_one_segment_breaks_the_clause_about_that(steps: Any, clause: str) -> None:
    (record,) = played(EqualOnce if steps is TWICE else torn.Torn, make_case(*steps, clauses=("THR-QUERY-6",)))

    assert (record["verdict"], record["blamed"]) == ("hang" if steps is TWICE else "fail", clause)


def test_cases_of_one_request_are_not_played_again() -> None:
    case = make_case(STORED, {"send": ASK, "expect": {"QUERY_REPLY": {"quota": 8}}}, clauses=("THR-QUERY-6",))
    (record,) = played(torn.Torn, case)

    assert record["blamed"] == "THR-QUERY-6"


def test_what_only_recommends_keeps_its_clause() -> None:
    (record,) = played(EqualOnce, make_case(*TWICE, clauses=("THR-ROBUSTNESS-5",)))

    assert record["blamed"] == "THR-ROBUSTNESS-5"


def test_all_that_fails_so_has_one_cause() -> None:
    one = make_case(*TWICE, clauses=("THR-QUERY-6",), id="query/twice")
    other = make_case(
        STORED, {"send": ["INFO", "INFO"], "expect": ["INFO_REPLY", "INFO_REPLY"]}, clauses=("THR-INFO-2",)
    )

    (cause,) = causes_of(played(EqualOnce, one, other))

    assert (cause.clause, cause.shown_by) == (CLAUSE, 2)


def test_nobody_goes_on_asking_where_requests_are_wrong_by_themselves() -> None:
    plan, case, tried = plan_of(), make_case(*WRONG, clauses=("THR-QUERY-6",)), []
    driver = SimulationDriver(torn.torn(torn.Torn))

    def play(player: Player) -> Outcome:
        tried.append(player)
        return driver.play(player)

    for _ in range(ENOUGH + 3):
        player = plan.player(case)
        plan.together.settled(case, player, driver.play(player), play)

    assert len(tried) == ENOUGH


def test_a_request_that_is_wrong_by_itself_hides_no_other() -> None:
    plan, case = plan_of(), make_case(*TWICE, clauses=("THR-QUERY-6",))
    player = plan.player(case)
    outcome = SimulationDriver(torn.torn(EqualOnce)).play(player)

    def play_of(reply_to: str, apart: Verdict) -> str | None:
        failed = replace(outcome, place=FailurePlace(reply_to, "status", frozenset()))
        return plan.together.settled(case, player, failed, lambda player: Outcome(apart, Trace())).blamed

    for _ in range(ENOUGH):
        assert play_of("QUERY", Verdict.FAIL) == "THR-QUERY-6"

    assert play_of("QUERY", Verdict.PASS) == "THR-QUERY-6"
    assert play_of("INSERT", Verdict.PASS) == CLAUSE


def test_on_a_target_of_many_it_must_fail_once_more() -> None:
    plan, case = plan_of(), make_case(*TWICE, clauses=("THR-QUERY-6",))
    player = plan.player(case)
    outcome = SimulationDriver(torn.torn(EqualOnce)).play(player)

    async def passes(player: Player) -> Outcome:
        return Outcome(Verdict.PASS, Trace())

    async def passes_apart(player: Player) -> Outcome:
        apart = player.talk.carrier.segmentation is APART
        return Outcome(Verdict.PASS if apart else Verdict.HANG, Trace(), Guilty.TARGET)

    once = asyncio.run(plan.together.asked(case, player, outcome, passes))
    assert (once.blamed, once.extra[PASSES_AGAIN]) == ("THR-QUERY-6", True)
    assert asyncio.run(plan.together.asked(case, player, outcome, passes_apart)).blamed == CLAUSE


@pytest.mark.parametrize(("field", "clause"), [("rows", "THR-QUERY-6"), ("quota", CLAUSE)])
def test_rows_which_change_with_what_others_store_keep_their_clause(field: str, clause: str) -> None:
    case = make_case(*TWICE, clauses=("THR-QUERY-6",))
    plan = plan_of(case)
    player = plan.player(case)
    place = FailurePlace("LIST", field, frozenset())
    failed = SimulationDriver(torn.torn(EqualOnce)).play(player)
    failed = replace(failed, verdict=Verdict.FAIL, guilty=Guilty.TARGET, blamed="THR-QUERY-6", place=place)

    settled = plan.together.settled(case, player, failed, lambda player: Outcome(Verdict.PASS, Trace()))
    assert settled.blamed == clause


def test_a_case_that_fails_twice_is_played_on_other_keys_each_time() -> None:
    plan, case, keys = plan_of(), make_case(*TWICE, clauses=("THR-QUERY-6",)), set()
    player = plan.player(case)
    outcome = SimulationDriver(torn.torn(EqualOnce)).play(player)

    async def passes(player: Player) -> Outcome:
        keys.add(player.talk.symbols.data("$k"))
        return Outcome(Verdict.PASS, Trace())

    for _ in range(2):
        asyncio.run(plan.together.asked(case, player, outcome, passes))

    assert len(keys) == 2 * (1 + AGAIN)


def test_what_fails_by_chance_where_requests_stand_together_breaks_the_clause_about_that() -> None:
    plan, case = plan_of(), make_case(*TWICE, clauses=("THR-QUERY-6",))
    player, plays = plan.player(case), []
    outcome = SimulationDriver(torn.torn(EqualOnce)).play(player)

    async def fails_the_third_time(player: Player) -> Outcome:
        plays.append(player.talk.carrier.segmentation is APART)
        return Outcome(Verdict.FAIL if len(plays) == 4 else Verdict.PASS, Trace(), Guilty.TARGET)

    assert asyncio.run(plan.together.asked(case, player, outcome, fails_the_third_time)).blamed == CLAUSE
    assert plays == [True, False, False, False]


def test_an_accident_in_such_a_play_leaves_the_outcome() -> None:
    plan, case = plan_of(), make_case(*TWICE, clauses=("THR-QUERY-6",))
    player = plan.player(case)
    outcome = SimulationDriver(torn.torn(EqualOnce)).play(player)

    async def breaks(player: Player) -> Outcome:
        raise ConnectionError

    def breaks_at_once(player: Player) -> Outcome:
        raise ConnectionError

    assert asyncio.run(plan.together.asked(case, player, outcome, breaks)) == outcome
    assert plan.together.settled(case, player, outcome, breaks_at_once) == outcome


def test_each_message_of_a_write_goes_by_itself() -> None:
    pieces = Carrier(APART).pieces(b"abcdef", lambda: (), 0, (1, 3, 2))

    assert [data for data, _ in pieces] == [b"a", b"bcd", b"ef"]
