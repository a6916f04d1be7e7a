"""What a driver never does well is asked for some times, and then no more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from wireproof.conformance.model.outcome import FailurePlace, Outcome
from wireproof.conformance.model.trace import Kind, Trace, TraceEvent
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.sdk.play.driver_ends import ENOUGH, LOST, HopelessThings, with_what_it_shows
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
    ],
)
def test_a_request_spoils_the_next_answer_where_nothing_else_was_asked(
    steps: list[dict[str, Any]], reply_to: str, byte: int | None, found: str
) -> None:
    place = FailurePlace(reply_to, "status", frozenset({"PURGE", "QUERY"}))

    outcome = with_what_it_shows(case(steps), Outcome(Verdict.FAIL, Trace(), byte=byte, place=place))
    assert outcome.extra.get("spoils", "") == found
