"""Whole conversations of the vectors as scripts, with their clauses and where the document leaves the answer open."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from wireproof.conformance.suite.case_traits import message_patterns
from wireproof.conformance.suite.cases import Suite
from wireproof.conformance.suite.steps import AnyStep, Expect, Observe, Repeat, Step
from wireproof.conformance.suite.symbolic import pattern_of
from wireproof.fuzz.differential.comparison import PUSH, Difference
from wireproof.fuzz.live.context import Ground
from wireproof.fuzz.live.seed_scripts import actions, drawn, usable
from wireproof.fuzz.script import Script

__all__ = ["Source", "sources"]


@dataclass(frozen=True, slots=True)
class Source:
    """One conversation."""

    script: Script
    clauses: tuple[str, ...]
    optional: bool
    """Its case is a MAY: what it observes may differ."""
    expects: Mapping[tuple[str, int], Any]
    """(connection, number of the answer) -> what the case expects there."""
    waited: float
    """Seconds it waits."""
    requests: frozenset[str]
    """Names of what is asked."""
    asks: frozenset[str]
    """The kinds of answers that the case asks for, those left out that only prepare."""

    def leaves_open(self, found: Difference) -> bool | None:
        """Say whether the case allows both sides of a difference; None where it says nothing."""
        expect = self.expects.get((found.connection, found.index))
        if expect is None or found.request == PUSH:
            return None
        if expect == "any" or (isinstance(expect, dict) and "any_of" in expect):
            return True
        if _head(expect) not in self.asks:
            return None
        if expect in ("ok", "refused"):
            return False
        name, fields = (expect, {}) if isinstance(expect, str) else next(iter(expect.items()))
        if not found.field:
            return all(kind.split()[0] == name for kind in found.kinds)
        return found.field.split(".")[1] not in fields


def sources(ground: Ground, suite: Suite) -> Iterator[Source]:
    """Yield the conversations that are short, quick and in clear, names marked, and scripts that ask anything."""
    asks = {case.id: frozenset(_asks(case.steps)) for case in suite.cases}
    for one, waited in usable(ground):
        steps = one["steps"]
        script = tuple(actions(steps, ground))
        asked, kinds = _asked(steps), asks.get(one["id"], frozenset())
        about = script, tuple(one["clauses"]), one["level"] == "MAY"
        yield Source(*about, _expects(steps), waited, asked, kinds)
    for script in drawn(ground) if ground.by_state else ():
        asked = frozenset(one.NAME for line in ground.read(script).values() for one in line.requests)
        yield Source(script, (), False, {}, 0.0, asked, frozenset())


def _expects(steps: list[Mapping[str, Any]]) -> dict[tuple[str, int], Any]:
    found, heard = dict[tuple[str, int], Any](), dict[str, int]()
    for step in steps:
        name = step["connection"]
        if step["do"] == "connect":
            heard[name] = 0
        elif step["do"] == "receive" and not (isinstance(step["expect"], dict) and "push" in step["expect"]):
            found[name, heard[name]] = step["expect"]
            heard[name] += 1
    return found


def _asked(steps: list[Mapping[str, Any]]) -> frozenset[str]:
    return frozenset(one["name"] for step in steps if step["do"] == "send" for one in step.get("messages", ()))


def _asks(steps: Iterable[AnyStep]) -> Iterator[str]:
    """Yield the names of the messages that steps are about: those that they expect or observe."""
    for step in steps:
        if not isinstance(step, Step) or step.given:
            continue
        for verb in step.verbs:
            match verb:
                case Repeat(loop):
                    yield from _asks(loop.steps)
                case Expect(found):
                    yield from (one.name for one in message_patterns(found))
                case Observe(labels):
                    yield from (one.name for one in message_patterns(tuple(labels.values())))


def _head(expect: Any) -> str:
    return next((one.name for one in message_patterns(pattern_of(expect))), "")
