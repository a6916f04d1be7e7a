"""What a driver never does well is asked for some times, and then no more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from wireproof.conformance.model.outcome import FailurePlace, Outcome
from wireproof.conformance.model.trace import Kind, Trace, TraceEvent
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.sdk.play.driver_ends import ENOUGH, LOST, HopelessThings, with_beside, with_what_it_shows
from wireproof.conformance.suite.cases import Case, load_suite, sdk_cases_in

ASK: dict[str, Any] = {"ask": {"QUERY": {"key": "k"}}}
CLOSES = [{**ASK, "open": True}, {"close": "a", "fails": "any"}]
RESETS = [{**ASK, "open": True}, {"reset": "a", "fails": "any"}]
PUSHES = [{"say": {"push": {"channel": "c", "payload": "p"}}}]
UNJUDGED = [{**PUSHES[0], "events": "any"}]
QUIETLY = [{**ASK, "answer": "refused"}, {"close": "a"}]
HANGS = Outcome(Verdict.HANG, Trace(), extra={LOST: True})
UNTOLD = Outcome(Verdict.FAIL, Trace(), expected="the event message with {}", got="none in 5 s")
PASS = Outcome(Verdict.PASS, Trace())
REPORTED = Outcome(Verdict.PASS, Trace([TraceEvent(1, "a", Kind.REPORTED, b'{"event": "message"}')]))


def case(steps: Sequence[dict[str, Any]]) -> Case:
    entry = {"id": "sdk-test/one", "title": "a case for SDKs", "clauses": ["THR-PURGE-3"], "steps": steps}
    (found,) = sdk_cases_in({"cases": [entry]}, load_suite("throttr").context, "test.yaml")
    return found


@pytest.mark.parametrize(
    ("before", "steps", "held"),
    [
        ([(CLOSES, HANGS)] * ENOUGH, CLOSES, True),
        ([(CLOSES, HANGS)] * ENOUGH, [{**ASK, "answer": "close", "fails": "any"}], True),
        ([(CLOSES, HANGS)] * (ENOUGH - 1), CLOSES, False),
        ([(CLOSES, HANGS)] * ENOUGH, QUIETLY, False),
        ([(CLOSES, HANGS)] * ENOUGH, RESETS, False),
        ([(CLOSES, HANGS)] * ENOUGH + [(RESETS, PASS)], CLOSES, True),
        ([(CLOSES, HANGS)] * ENOUGH + [(CLOSES, PASS)], CLOSES, False),
        ([(PUSHES, UNTOLD)] * ENOUGH, PUSHES, True),
        ([(PUSHES, UNTOLD)] * ENOUGH, UNJUDGED, False),
        ([(PUSHES, UNTOLD)] * ENOUGH + [(PUSHES, REPORTED)], PUSHES, False),
    ],
)
def test_what_was_never_done_is_held_back_and_nothing_else(
    before: list[tuple[list[dict[str, Any]], Outcome]], steps: list[dict[str, Any]], held: bool
) -> None:
    things = HopelessThings()
    for played, outcome in before:
        things.played(case(played), outcome)
    found = things.held_back(case(steps))

    assert (found is not None) is held
    assert found is None or (found.verdict, found.extra) == (Verdict.UNTESTABLE, {"held_back": "sdk-test/one"})


PURGE: dict[str, Any] = {"ask": {"PURGE": {"key": "k"}}, "answer": "ok"}
ANSWERED = {**ASK, "answer": "refused"}


@pytest.mark.parametrize(
    ("steps", "reply_to", "byte", "found"),
    [
        ([PURGE, ANSWERED], "QUERY", None, "PURGE"),
        ([PURGE, ANSWERED], "PURGE", None, ""),
        ([PURGE, ANSWERED], "QUERY", 3, ""),
        ([ANSWERED], "QUERY", None, ""),
        ([PURGE, {**ASK, "answer": {"slowly": "refused", "at": 1, "pause": 0.1}}], "QUERY", None, ""),
        ([PURGE, ANSWERED, *QUIETLY], "QUERY", None, ""),
        ([PURGE, {**ASK, "answer": [{"push": {"channel": "c", "payload": "p"}}, "refused"]}], "QUERY", None, ""),
    ],
)
def test_a_request_spoils_the_next_answer_where_nothing_else_was_asked(
    steps: list[dict[str, Any]], reply_to: str, byte: int | None, found: str
) -> None:
    place = FailurePlace(reply_to, "status", frozenset({"PURGE", "QUERY"}))

    outcome = with_what_it_shows(case(steps), Outcome(Verdict.FAIL, Trace(), byte=byte, place=place))
    assert outcome.extra.get("spoils", "") == found


OPEN = {**ASK, "open": True}
MANY = {"ask": [{"times": 3, "of": ASK["ask"]}], "answer": ["refused", "refused", "refused"]}


@pytest.mark.parametrize(
    ("steps", "step", "several"),
    [([ANSWERED, ANSWERED], 1, False), ([OPEN, ANSWERED], 1, True), ([OPEN, ANSWERED], 0, False), ([MANY], 0, True)],
)
def test_several_are_under_way_where_they_are_asked_at_once_or_left_open(
    steps: list[dict[str, Any]], step: int, several: bool
) -> None:
    outcome = with_what_it_shows(case(steps), Outcome(Verdict.FAIL, Trace(), step=step, expected="x", got="y"))

    assert ("at_once" in outcome.extra) is several


@pytest.mark.parametrize(
    ("clause", "expected", "extra", "beside"),
    [
        ("THR-CLIENT-3", "result.quota '7'", {}, True),
        ("THR-CLIENT-3", "result.quota '7'", {"misread": True}, False),
        ("THR-CLIENT-4", "result.status False", {}, True),
        ("THR-CLIENT-4", "result.value {'hex': '00'}", {}, False),
        ("THR-CLIENT-18", "result.status False", {"at_once": True, "works": True}, True),
        ("THR-ROBUSTNESS-25", "result.status False", {"at_once": True, "works": True}, False),
        ("THR-QUERY-9", "result.status False", {}, False),
    ],
)
def test_a_case_shows_little_by_what_its_clause_is_not_about(
    clause: str, expected: str, extra: dict[str, bool], beside: bool
) -> None:
    outcome = Outcome(Verdict.FAIL, Trace(), expected=expected, got="other", extra=extra)

    assert ("beside" in with_beside(outcome, clause, load_suite("throttr"), "throttr").extra) is beside
