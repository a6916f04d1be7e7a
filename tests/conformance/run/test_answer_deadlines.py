"""Answers to a kind of request that gets none are waited for less, after some full waits in vain."""

from __future__ import annotations

import pytest

from tests.conformance.drivers.test_replay import player
from tests.conformance.scripted import ScriptedTarget, make_case
from wireproof.conformance.model.outcome import ANYWHERE, FailurePlace, Outcome
from wireproof.conformance.model.targets import Way
from wireproof.conformance.model.trace import Trace
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.run.answer_deadlines import BELIEVED, FULL_WAITS, IMPATIENT, AnswerDeadlines


def hang(reply_to: str) -> Outcome:
    return Outcome(Verdict.HANG, Trace(), place=FailurePlace(reply_to, "", frozenset({"QUERY"})))


def test_only_the_kind_that_gets_no_answer_is_waited_for_less() -> None:
    deadlines = AnswerDeadlines(round_trip=0.5)
    for _ in range(FULL_WAITS - 1):
        deadlines.count(hang("QUERY"))
        deadlines.count(hang("GET"))
    assert deadlines.shorter == {}

    deadlines.count(hang("QUERY"))
    assert deadlines.shorter == {"QUERY": IMPATIENT + 2.0}


def test_a_target_that_was_slow_for_a_while_is_waited_for_in_full_again() -> None:
    deadlines = AnswerDeadlines()
    for _ in range(FULL_WAITS):
        deadlines.count(hang("QUERY"))
    with deadlines.in_full(hang("QUERY")):
        assert deadlines.shorter == {}
    assert deadlines.shorter == {"QUERY": IMPATIENT}

    deadlines.count_again(hang("QUERY"), Outcome(Verdict.PASS, Trace()))
    assert deadlines.shorter == {}


def test_cases_that_get_no_answer_again_alone_are_believed_until_one_gets_it() -> None:
    deadlines = AnswerDeadlines()
    for name in ["QUERY", "GET"] * BELIEVED:
        is_believed = deadlines.is_believed
        deadlines.count_again(hang(name), hang(name))
    assert is_believed

    deadlines.count_again(hang("GET"), Outcome(Verdict.PASS, Trace()))
    assert not deadlines.is_believed


@pytest.mark.parametrize("outcome", [hang(""), hang(ANYWHERE), Outcome(Verdict.HANG, Trace())])
def test_what_waits_for_no_answer_changes_nothing(outcome: Outcome) -> None:
    deadlines = AnswerDeadlines()
    for _ in range(2 * FULL_WAITS):
        deadlines.count(outcome)

    assert deadlines.shorter == {}


@pytest.mark.parametrize(
    ("request_name", "got"),
    [("QUERY", "nothing in 1 s, after 2 s without an answer in earlier plays"), ("GET", "nothing in 2 s")],
)
def test_a_play_waits_for_less_and_says_what_others_had(request_name: str, got: str) -> None:
    case = make_case({"send": {"QUERY": {"key": "k"}}, "expect": "refused"})
    outcome = ScriptedTarget().play(player(case, way=Way(shorter={request_name: 1.0})))

    assert (outcome.verdict, outcome.got) == (Verdict.HANG, got)
