"""Which optional features links and requests need: those that every case with them needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from wireproof.conformance.suite.cases import Suite, load_suite
from wireproof.fuzz.json_values import JsonObject

__all__ = ["Needs", "asked_in", "links_in", "names_in", "needs", "needs_of"]


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
        for found, names in ((links, links_in(case.steps)), (requests, asked_in(case.steps))):
            for name in names:
                found[name] = found.get(name, needed) & needed
    return Needs(links, requests, {case.id: frozenset(case.needs) for case in suite.cases})


@cache
def needs(protocol: str) -> Needs:
    """Return what the cases of a protocol need."""
    return needs_of(load_suite(protocol))


def links_in(steps: Iterable[JsonObject]) -> set[str]:
    """Return the links that steps name."""
    connects = (step.get("connect") for step in steps)
    return {one["link"] for one in connects if isinstance(one, dict) and "link" in one}


def asked_in(steps: Iterable[JsonObject]) -> set[str]:
    """Return the names of the requests that steps send."""
    return {name for step in steps for name in names_in(step.get("send"))}


def names_in(spec: object) -> Iterator[str]:
    """Yield the names of the messages in a `send`; once for repeated ones."""
    if isinstance(spec, list):
        for one in spec:
            yield from names_in(one)
    elif isinstance(spec, str):
        yield spec
    elif isinstance(spec, dict):
        yield from names_in(spec["of"]) if "of" in spec else names_in(spec.get("as")) if "raw" in spec else iter(spec)
