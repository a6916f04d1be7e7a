"""Conversations of the vectors as scripts, with their clauses and where the document leaves the answer open."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from wireproof.conformance.suite.case_traits import message_patterns
from wireproof.conformance.suite.cases import Suite
from wireproof.conformance.suite.steps import AnyStep, Expect, Observe, Repeat, Step
from wireproof.conformance.suite.symbolic import pattern_of
from wireproof.fuzz.differential.comparison import PUSH, AnswerDifference
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.seed_scripts import generated_scripts, script_actions, usable
from wireproof.fuzz.script import Script
from wireproof.protocols.json_values import JsonObject

__all__ = ["Source", "sources"]


@dataclass(frozen=True, slots=True)
class Source:
    """One conversation."""

    script: Script
    clauses: tuple[str, ...]
    optional: bool
    """Whether its case is a MAY: its observations may differ."""
    expects: Mapping[tuple[str, int], object]
    """(connection, index of the answer) -> what the case expects there."""
    waited: float
    """Seconds that it waits."""
    requests: frozenset[str]
    """Names of its requests."""
    aliases: Collection[str]
    """Names that cases give to replies with certain values."""
    asks: frozenset[str]
    """Kinds of the answers that the case expects, preparation left out."""

    def leaves_open(self, found: AnswerDifference) -> bool | None:
        """Return whether the case allows both sides of a difference; None if it expects nothing there."""
        expect: Any = self.expects.get((found.connection, found.index))
        if expect is None or found.request == PUSH:
            return None
        if expect == "any" or (isinstance(expect, dict) and "any_of" in expect):
            return True
        if _head(expect) not in self.asks:
            return None
        if isinstance(expect, str) and expect in self.aliases:
            return False
        name, fields = (expect, {}) if isinstance(expect, str) else next(iter(expect.items()))
        if not found.field:
            return all(kind.split()[0] == name for kind in found.kinds)
        return found.field.split(".")[1] not in fields


def sources(context: FuzzContext, suite: Suite) -> Iterator[Source]:
    """Yield the conversations that are short, quick and in clear, then generated scripts."""
    aliases = context.symbols.protocol.aliases
    asks = {case.id: frozenset(_asks(case.steps)) for case in suite.cases}
    for one, waited in usable(context):
        if any(step["do"] == "secure" for step in one["steps"]):
            continue  # the other server may have no certificate
        steps = one["steps"]
        script: Script = tuple(script_actions(steps, context))
        asked, kinds = _asked(steps), asks.get(one["id"], frozenset())
        about = script, tuple(one["clauses"]), one["level"] == "MAY"
        yield Source(*about, _expects(steps), waited, asked, aliases, kinds)
    for script in generated_scripts(context) if context.by_state else ():
        asked = frozenset(one.NAME for line in context.read(script).values() for one in line.requests)
        yield Source(script, (), False, {}, 0.0, asked, aliases, frozenset())


def _expects(steps: list[JsonObject]) -> dict[tuple[str, int], object]:
    found, counts = dict[tuple[str, int], object](), dict[str, int]()
    for step in steps:
        name = step["connection"]
        if step["do"] == "connect":
            counts[name] = 0
        elif step["do"] == "receive" and not (isinstance(step["expect"], dict) and "push" in step["expect"]):
            found[name, counts[name]] = step["expect"]
            counts[name] += 1
    return found


def _asked(steps: list[JsonObject]) -> frozenset[str]:
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
