"""Cases stay readable: one behaviour in few steps, few clauses each, and reasons of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import pytest

from wireproof.conformance.suite.cases import Case, load_suite
from wireproof.conformance.suite.walks import is_walk
from wireproof.conformance.suite.written import as_written
from wireproof.protocols import protocol_names

STEPS = 15
"""Steps that judge something."""
ALL_STEPS = 28
"""With those that only prepare: sessions, records, a witness."""
CLAUSES = 6
LONG = {
    "robustness/each-kind-by-itself",
    "budget/connections-come-and-go",
    "many/readers",
    "pressure/unread-misses-none",
}
"""Asks each kind of request once, a step each; takes each way to end a connection, a step each; each kind of mask;
who reads beside one who does not."""


@cache
def written(name: str) -> list[Case]:
    """Return the first case of each entry in the files; walks are long, and a reader sees them to their first fault."""
    found: dict[str, Case] = {}
    for case in load_suite(name).cases:
        if not is_walk(case.id):
            found.setdefault(case.id.partition(".")[0], case)
    return list(found.values())


def flat(steps: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return steps, those of repeats and measurements once, as they are written."""
    found: list[Mapping[str, Any]] = []
    for step in steps:
        inner = step.get("repeat") or step.get("measure")
        found.extend(flat(inner["steps"]) if inner else [step])
    return found


@pytest.mark.parametrize("name", protocol_names())
def test_no_case_has_more_steps_than_a_reader_can_follow(name: str) -> None:
    long = {
        case.id: len(steps)
        for case in written(name)
        if len(steps := flat(as_written(case.steps))) > ALL_STEPS
        or sum(not step.get("given") for step in steps) > STEPS
    }

    assert long.keys() <= LONG


@pytest.mark.parametrize("name", protocol_names())
def test_no_case_rests_on_more_clauses_than_one_behaviour_has(name: str) -> None:
    assert {case.id: case.clauses for case in written(name) if len(case.clauses) > CLAUSES} == {}


@pytest.mark.parametrize("name", protocol_names())
def test_a_case_that_no_mutant_fails_has_a_reason_of_its_own(name: str) -> None:
    reasons = Counter(case.no_fault for case in written(name) if case.no_fault)

    assert [reason for reason, times in reasons.items() if times > 1] == []
