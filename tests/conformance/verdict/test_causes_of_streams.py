"""Causes where answers are a stream: what cannot be read, and messages that do not come."""

from __future__ import annotations

from tests.conformance.verdict.made_records import grouped, made
from wireproof.conformance.verdict.causes import CauseKind, causes_of

UNREADABLE = "bad_value at byte {}: expected a whole expression [X-FRAME-3] (the message begins 00)"


def test_what_cannot_be_read_for_one_reason_is_one_cause_wherever_it_came() -> None:
    one = made("one", blamed="X-1", place=("UNSUBSCRIBE", ""), got=UNREADABLE.format(38))
    other = made("other", blamed="X-2", place=("PUSH", ""), sent=20, got=UNREADABLE.format(161))
    prepares = made("prepares", "untestable", blamed="X-3", place=("LIST", ""), got=UNREADABLE.format(5))
    else_read = made("apart", blamed="X-4", place=("GET", ""), sent=30, got="bad_value at byte 1: expected 0 [X-9] (")

    assert grouped(one, other, prepares, else_read) == [["one", "other", "prepares"], ["apart"]]


def test_one_case_that_waits_in_vain_for_one_value_and_fails_for_another_is_one_failure() -> None:
    late = made("from.3", "hang", place=None, expected="MESSAGE(id=i)", got="nothing in 1.5 s")
    wrong = made("from.1", place=("MESSAGE", "id"), sent=20)

    (cause,) = causes_of([late, wrong])

    assert (cause.kind, cause.shown_by) == (CauseKind.FAILURE, 2)


def test_steps_that_prepare_follow_the_wait_in_vain_for_the_same_message() -> None:
    late = made("late", "hang", place=None, expected="MESSAGE(id=i)", got="nothing in 1.5 s")
    prepares = made(
        "prepares", "untestable", blamed="C-2", place=None, expected="MESSAGE(id=2, body=two)", got="nothing in 1.5 s"
    )
    other = made("other", "untestable", blamed="C-3", place=None, expected="PING", got="nothing in 1.5 s")

    assert grouped(late, prepares, other) == [["late", "prepares"], ["other"]]
