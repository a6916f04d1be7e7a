"""The cases for SDKs of a protocol, and the order in which they are played."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from wireproof.conformance.model.verdict import Level
from wireproof.conformance.suite.case_documents import read_cases
from wireproof.conformance.suite.cases import Case, CaseError, Suite, load_suite
from wireproof.conformance.suite.documents import vectors_root
from wireproof.conformance.suite.sdk_case_traits import breadth
from wireproof.conformance.suite.sdk_steps import SdkCaseFile
from wireproof.conformance.verdict.records import level_of

FIRST, LAST = ("opening", "requests"), ("combinations", "sizes")
"""Topics that are played first, so that what passes is known, and last: what they put together is known by then."""


@cache
def load_sdk_suite(name: str) -> Suite:
    """Return the protocol's clauses and what is played against its SDKs; `CaseError` says which file is wrong."""
    cases = sdk_cases(name)
    if not cases:
        raise CaseError(f"no cases for SDKs of {name!r}")
    return replace(load_suite(name), cases=cases, frames=())


@cache
def sdk_cases(name: str) -> tuple[Case, ...]:
    """Return what is played against the SDKs of a protocol, perhaps nothing; `CaseError` says which file is wrong."""
    suite = load_suite(name)
    cases: list[Case] = []
    folder = vectors_root() / name / "sdk"
    for path in sorted(folder.glob("*.yaml"), key=lambda path: (path.stem not in FIRST, path.stem in LAST, path.name)):
        cases += read_cases(path, suite.context, SdkCaseFile).cases
    seen: set[str] = set()
    for one in cases:
        if one.id in seen:
            raise CaseError(f"sdk/{one.topic}.yaml: id {one.id!r} is used twice")
        seen.add(one.id)
    return tuple(cases)


def in_order(cases: Sequence[Case], suite: Suite, profile: str) -> list[Case]:
    """Return the cases of each topic as they are played: what asks for little, and what is required, comes first.

    What passes is known then, so that less is taken for the cause of a hang.
    """
    topics, levels = list(dict.fromkeys(one.topic for one in cases)), list(Level)

    def key(case: Case) -> tuple[int, int, int]:
        level = levels.index(level_of(case, suite, profile))
        return topics.index(case.topic), breadth(case), level

    return sorted(cases, key=key)
