"""Which plays are chosen: what was asked for, the same each time, much covered before anything is repeated."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.conformance.scripted import ASK, make_case
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.trace import Trace
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.run.segmentation_sample import (
    ALL,
    BUDGET,
    OTHERS,
    SAMPLE,
    ChoiceError,
    SegmentationChoice,
    Tally,
    choice_of,
    chosen,
    cost,
    duration,
)
from wireproof.conformance.run.selection import select
from wireproof.conformance.suite.case_traits import applies
from wireproof.conformance.suite.cases import Case, Suite, load_suite
from wireproof.conformance.suite.segmentation import SEGMENTATIONS
from wireproof.conformance.suite.written import as_written
from wireproof.protocols import protocol

SUITE = load_suite("throttr")
CASES = select(SUITE, "7.1.0", "uint16", slow=False, heavy=False)


def group_of(case: Case) -> str:
    return SUITE.clauses[case.clauses[0]].group


def test_what_is_asked_for_is_what_is_chosen() -> None:
    assert choice_of(SAMPLE) == SegmentationChoice(OTHERS, BUDGET)
    assert choice_of(SAMPLE, 7.0) == SegmentationChoice(OTHERS, 7.0)
    assert choice_of(ALL) == SegmentationChoice(OTHERS)
    assert choice_of("whole") == SegmentationChoice()
    assert choice_of("joined, bytes,whole,bytes") == SegmentationChoice(("bytes", "joined"))


@pytest.mark.parametrize("text", ["", "byte", "bytes,halves", "bytes,", "ALL", "sample,all"])
def test_what_is_no_delivery_is_reported_with_those_there_are(text: str) -> None:
    with pytest.raises(ChoiceError, match="expected sample, all or some of whole, bytes, fields, beside, joined"):
        choice_of(text)


def test_all_is_every_case_under_every_delivery_it_can_have() -> None:
    plays = chosen(CASES, choice_of(ALL), SUITE, "7.1.0")
    spoken = protocol("throttr")

    assert Counter(one.segmentation for one in plays) == {
        name: sum(applies(case, SEGMENTATIONS[name], spoken) for case in CASES)
        for name in OTHERS
        if not SEGMENTATIONS[name].respells
    }
    assert {one.asked_by for one in plays if one.segmentation == "joined"} == {"THR-ROBUSTNESS-7"}


def test_every_delivery_has_a_clause_that_asks_for_it() -> None:
    assert set(SUITE.segmentations) == set(OTHERS) - {"spelled"}
    assert {SUITE.clauses[clause].group for clause in SUITE.segmentations.values()} == {"ROBUSTNESS"}


def test_a_sample_covers_each_group_under_each_delivery_before_any_again() -> None:
    plays = chosen(CASES, SegmentationChoice(OTHERS, 60.0), SUITE, "7.1.0")
    cells = [(group_of(one), one.segmentation) for one in plays]
    spoken = protocol("throttr")
    possible = {
        (group_of(case), name) for case in CASES for name in OTHERS if applies(case, SEGMENTATIONS[name], spoken)
    }
    first = cells[: len(possible)]

    assert set(first) == possible
    assert len(cells) > 3 * len(possible)
    assert len({(one.id, one.segmentation) for one in plays}) == len(plays)


def test_the_default_covers_every_group_under_every_delivery() -> None:
    plays = chosen(CASES, choice_of(SAMPLE), SUITE, "7.1.0")
    covered = {(group_of(one), one.segmentation) for one in plays}

    assert covered == {(group_of(one), one.segmentation) for one in chosen(CASES, choice_of(ALL), SUITE, "7.1.0")}


def test_the_same_cases_and_budget_choose_alike_and_more_time_only_adds() -> None:
    small, large = (chosen(CASES, SegmentationChoice(OTHERS, seconds), SUITE, "7.1.0") for seconds in (1.0, 3.0))

    assert small == chosen(CASES, SegmentationChoice(OTHERS, 1.0), SUITE, "7.1.0") == large[: len(small)]
    assert 0 < len(small) < len(large)


def test_no_time_is_no_sample() -> None:
    assert chosen(CASES, SegmentationChoice(OTHERS, 0.0), SUITE, "7.1.0") == []


def test_cases_that_are_scored_quick_and_say_more_come_first() -> None:
    quick = [make_case({"send": ASK}, id=f"made/{number}") for number in range(3)]
    waiting = make_case({"send": ASK}, {"wait": 1}, id="made/waiting")
    large = make_case({"send": {"each": {"i": [1, 900]}, "of": ASK}}, id="made/large")
    bare = make_case({"send": "WHOAMI"}, id="made/bare")
    suite = Suite("throttr", SUITE.clauses, (bare, waiting, large, *quick), (), {})
    order = [one.id for one in chosen(suite.cases, SegmentationChoice(("bytes",), 60.0), suite, "7.1.0")]

    assert set(order[:3]) == {case.id for case in quick}
    assert order[3:] == ["made/large", "made/waiting", "made/bare"]


def test_what_is_more_costs_more() -> None:
    one, many = make_case({"send": ASK}), make_case({"send": {"each": {"i": [1, 30]}, "of": ASK}})

    assert cost(one, SEGMENTATIONS["joined"]) < cost(one, SEGMENTATIONS["bytes"]) < cost(many, SEGMENTATIONS["bytes"])
    assert cost(many, SEGMENTATIONS["bytes"]) < cost(
        make_case(*as_written(many.steps), exclusive=True), SEGMENTATIONS["bytes"]
    )


def test_only_plays_that_show_something_are_kept_and_the_others_counted() -> None:
    tally = Tally()
    outcomes = [
        Outcome(verdict, Trace(), extra={"cuts": cuts})
        for verdict in (Verdict.PASS, Verdict.FAIL, Verdict.UNTESTABLE, Verdict.HARNESS_ERROR, Verdict.CRASH)
        for cuts in (0, 1)
    ]

    assert [tally.keeps(one) for one in outcomes] == [False, True, True, True, False, False, True, True, True, True]
    assert (tally.recorded, tally.same, tally.not_judged) == (7, 1, 2)


def test_of_alike_cases_each_delivery_has_another_one() -> None:
    cases = [make_case({"send": ASK}, id=f"made/{number}") for number in range(6)]
    plays = chosen(cases, SegmentationChoice(OTHERS, 60.0), SUITE, "7.1.0")

    assert {one.id for one in plays[:6]} == {case.id for case in cases}
    assert {one.segmentation for one in plays[:6]} == set(OTHERS) - {"spelled"}
    assert len(plays) == 36


def test_what_takes_long_comes_last() -> None:
    large = make_case({"send": {"each": {"i": [1, 40]}, "of": ASK}}, id="made/large")
    larger = make_case({"send": {"each": {"i": [1, 60]}, "of": ASK}}, id="made/larger")
    waits, patient = (make_case({"send": ASK}, {"wait": number}, id=f"made/waits-{number}") for number in (1, 2))
    cases = [patient, larger, waits, large, make_case({"send": ASK}, id="made/short")]
    order = [one.id for one in chosen(cases, SegmentationChoice(("bytes",), 60.0), SUITE, "7.1.0")]

    assert order == ["made/short", "made/large", "made/larger", "made/waits-1", "made/waits-2"]


def test_a_play_takes_as_long_as_it_waits_and_its_pieces_are_apart() -> None:
    ask, patient = make_case({"send": ASK}), make_case({"send": ASK}, {"wait": 2})
    by = SEGMENTATIONS["bytes"]

    assert duration(ask, SEGMENTATIONS["whole"]) < duration(ask, by) < duration(ask, SEGMENTATIONS["dripped"])
    assert duration(patient, by) == duration(ask, by) + 2
