"""Which clause is broken, according to the cases: those for servers look at replies, those for SDKs at requests."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from wireproof.conformance.model.verdict import Level
from wireproof.conformance.sdk.play.sdk_suite import load_sdk_suite
from wireproof.conformance.suite.case_traits import asked_by, expected
from wireproof.conformance.suite.cases import Case, CaseError, Suite
from wireproof.conformance.suite.pattern_types import Contains, Exactly, Excludes, FieldPattern, Matchers, RowPattern
from wireproof.conformance.suite.sdk_steps import (
    AskStep,
    SayStep,
    ScriptedChoice,
    ScriptedEach,
    ScriptedItem,
    ScriptedMessage,
    ScriptedTimes,
    answer_of,
)
from wireproof.conformance.suite.steps import Step
from wireproof.conformance.suite.values import Hex
from wireproof.protocols import protocol

__all__ = ["PUSH", "Clauses"]

PUSH = "push"
"""What cases call a push."""


class Clauses:
    """The clauses of one profile by what its cases are about."""

    def __init__(self, suite: Suite, profile: str) -> None:
        self.suite = suite
        self._profile = profile
        self._replies: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
        self._requests: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self._reports: dict[str, Counter[str]] = defaultdict(Counter)
        self._events: dict[str, Counter[str]] = defaultdict(Counter)
        known = protocol(suite.protocol)
        self._times = frozenset(known.time_left)
        self._pushes = {PUSH, *(one.NAME for one in known.profiles[profile].pushes if one not in known.sdk.own)}
        for case in suite.cases:
            if profile in case.profiles and case.level is not Level.MAY:
                self._look_at_replies(case)
        for case in _for_sdks(suite.protocol):
            if profile in case.profiles:
                self._look_at_requests(case)

    def of_reply(self, request: str, reply: str, field: str) -> str | None:
        """Return the clause that a wrong field of a reply breaks, an empty one: another reply; None: no one's."""
        return self._first(self._replies.get((request, reply, field)), request)

    def of_answer(self, request: str) -> str:
        """Return the clause that asks for an answer at all."""
        return self._first(self._replies.get((request, "", "")), request) or self._any(request)

    def of_request(self, request: str, field: str = "") -> str:
        """Return the clause that a client breaks whose request is wrong in a field; empty: anywhere."""
        looked = self._requests.get((request, field)) or self._requests.get((request, ""))
        return self._first(looked, request) or self._any(request)

    def of_report(self, request: str) -> str:
        """Return the clause that a client breaks which reports another answer than came."""
        return self._first(self._reports.get(request), request) or self._any(request)

    def of_event(self, push: str) -> str:
        """Return the clause that a client breaks which does not report a push of that name as it came."""
        return self._first(self._events.get(push), push) or self.of_report(PUSH)

    def _look_at_replies(self, case: Case) -> None:
        asked = ""
        for step in case.steps:
            asked = next(reversed(list(asked_by(step))), asked)
            clause = (isinstance(step, Step) and step.clause) or case.clauses[0]
            if not isinstance(step, Step) or step.given or not self._binds(clause):
                continue
            self._replies[asked, "", ""][clause] += 1
            for pattern in expected(step):
                reply, fields = pattern.name, pattern.fields
                self._replies[asked, reply, ""][clause] += 1
                for field in _fields(fields, self._times):
                    self._replies[asked, reply, field][clause] += 1
                if reply in self._pushes:
                    self._replies[PUSH, PUSH, ""][clause] += 1

    def _look_at_requests(self, case: Case) -> None:
        for step in case.script:
            if isinstance(step, AskStep):
                self._look_at_asked(step, step.clause or case.clauses[0])
            written = step.say if isinstance(step, SayStep) else answer_of(step)
            for name in _names(written):
                if name in self._pushes and self._binds(case.clauses[0]):
                    self._events[name][case.clauses[0]] += 1
                    self._reports[PUSH][case.clauses[0]] += not isinstance(step, SayStep)

    def _look_at_asked(self, step: AskStep, clause: str) -> None:
        for name in _names(step.ask):
            if self._binds(clause):
                self._requests[name, ""][clause] += step.answer is None or bool(step.blame)
                self._reports[name][clause] += 1
            for field, blamed in step.blame.items():
                self._requests[name, field][blamed] += self._binds(blamed)

    def _binds(self, clause: str) -> bool:
        return self.suite.clauses[clause].levels.get(self._profile) in (Level.MUST, Level.SHOULD)

    def _first(self, looked: Counter[str] | None, request: str) -> str | None:
        """Return the clause looked at most, those of the request's own group before others."""
        found = [one for one in looked if looked[one]] if looked else []
        own = [one for one in found if self.suite.clauses[one].group == request]
        return max(own or found, key=lambda one: looked[one] if looked else 0, default=None)

    def _any(self, request: str) -> str:
        binding = [one for one in self.suite.clauses.values() if self._binds(one.id)]
        of_group = (one.id for one in binding if one.group == request)
        return next(of_group, binding[0].id)


def _for_sdks(protocol: str) -> tuple[Case, ...]:
    """Return the cases for SDKs; a protocol may have none."""
    try:
        return load_sdk_suite(protocol).cases
    except CaseError:
        return ()


def _names(spec: ScriptedItem | Sequence[ScriptedItem]) -> Iterator[str]:
    """Yield the names of the messages in what an SDK is asked or answered; of repeated ones, once."""
    match spec:
        case ScriptedMessage(name):
            yield name
        case ScriptedEach(_, of) | ScriptedTimes(_, of):
            yield from _names(of)
        case ScriptedChoice(_, options):
            for one in options.values():
                yield from _names(one)
        case tuple():
            for one in spec:
                yield from _names(one)


def _fields(fields: Mapping[str, FieldPattern], times: frozenset[str], before: str = "") -> Iterator[str]:
    """Yield the fields that a pattern wants to be just so, or between times; a flag with its value."""
    for name, value in fields.items():
        if isinstance(value, bool):
            yield f"{before}{name}={value}"
        elif before == "" and name == "rows":
            yield name
            for row in _rows(value):
                yield from _fields(row.written, times, f"{name}.")
        elif isinstance(value, Hex) or not isinstance(value, msgspec.Struct) or name in times:
            yield before + name


def _rows(spec: FieldPattern) -> Iterator[RowPattern]:
    """Yield the patterns of rows in what a table must be."""
    for one in spec.matchers if isinstance(spec, Matchers) else ():
        match one:
            case Contains(rows) | Excludes(rows) | Exactly(rows):
                yield from rows
