"""What cases say of links and requests: which features they need, and which requests may be answered in any way."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from wireproof.conformance.model.verdict import Level
from wireproof.conformance.suite.case_traits import asked_by, parts
from wireproof.conformance.suite.cases import Case, Suite, load_suite
from wireproof.conformance.suite.steps import ConnectTo
from wireproof.conformance.verdict.records import level_of
from wireproof.protocols.json_values import JsonObject

__all__ = ["Needs", "asked_in", "links_in", "needs", "needs_of", "optional_requests"]


@dataclass(frozen=True)
class Needs:
    """Name -> the features without which a server need not support it."""

    links: dict[str, frozenset[str]]
    requests: dict[str, frozenset[str]]
    cases: dict[str, frozenset[str]]


def needs_of(suite: Suite) -> Needs:
    """Return what the cases of a suite need, intersected over all cases that use a link or request."""
    links: dict[str, frozenset[str]] = {}
    requests: dict[str, frozenset[str]] = {}
    for case in suite.cases:
        needed = frozenset(case.needs)
        for found, names in ((links, links_of(case)), (requests, asked_in(case))):
            for name in names:
                found[name] = found.get(name, needed) & needed
    return Needs(links, requests, {case.id: frozenset(case.needs) for case in suite.cases})


@cache
def needs(protocol: str) -> Needs:
    """Return what the cases of a protocol need."""
    return needs_of(load_suite(protocol))


def links_of(case: Case) -> set[str]:
    """Return the links that a case names."""
    return {one.link for one in parts(case.steps) if isinstance(one, ConnectTo)}


def links_in(steps: Iterable[JsonObject]) -> set[str]:
    """Return the links that steps name, as they are written."""
    named = (step.get("connect") for step in steps)
    return {one["link"] for one in named if isinstance(one, dict) and "link" in one}


def asked_in(case: Case) -> set[str]:
    """Return the names of the requests that a case sends."""
    return {name for step in case.steps for name in asked_by(step)}


@cache
def optional_requests(protocol: str, profile: str) -> frozenset[str]:
    """Return the requests that a server may answer as it likes: every case of their own clauses is a MAY."""
    suite = load_suite(protocol)
    levels: dict[str, set[Level]] = {}
    for case in suite.cases:
        group = suite.clauses[case.clauses[0]].group
        if profile in case.profiles and group in asked_in(case):
            levels.setdefault(group, set()).add(level_of(case, suite, profile))
    return frozenset(name for name, found in levels.items() if found == {Level.MAY})
