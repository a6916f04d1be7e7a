"""Verdicts on a target that goes away: who ended it, and what is left of those that were under way with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.trace import Trace
from wireproof.conformance.model.verdict import Guilty, Verdict

SHOWN = 20
"""Cases named where many were under way; the record's `extra` has them all."""


@dataclass(frozen=True, slots=True)
class ProcessEnd:
    """The end of a server that wireproof started, seen when a case had it for itself."""

    how: str
    """As in "it ..."."""
    last_words: Sequence[str]
    """The last lines that it wrote, as many as are quoted."""
    clause: str
    """Blamed where the case blames none: the first of the case."""
    extra: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Death:
    """An end of the target: how, and which cases were under way."""

    how: str
    """As in "it ..."."""
    cases: Sequence[str]
    extra: Mapping[str, Any] = field(default_factory=dict)


def not_played(why: str) -> Outcome:
    """Return the outcome of a case that was not begun; `why` as in "it ..."."""
    return Outcome(Verdict.UNTESTABLE, Trace(), Guilty.NOBODY, expected="a target that serves", got=f"it {why}")


def ended_early(why: str, first: Outcome | None = None) -> Outcome:
    """Return the outcome of a case that a run ended before; `first` is what came of it, and should be seen again."""
    got = f"the run ended: {why}"
    if first is not None:
        got = f"it was not played again, {got}; the first time: {first.verdict}, {first.got}"
    return Outcome(
        Verdict.UNTESTABLE, first.trace if first else Trace(), Guilty.NOBODY, expected="a run to the end", got=got
    )


def ended_the_process(outcome: Outcome, end: ProcessEnd) -> Outcome:
    """Return the crash of a case that ended the server it had for itself."""
    words = " | ".join(end.last_words)
    got = [f"it {end.how}", *([outcome.got] if outcome.got else []), *([f"its last words: {words}"] if words else [])]
    return replace(
        outcome,
        verdict=Verdict.CRASH,
        guilty=Guilty.TARGET,
        blamed=outcome.blamed or end.clause,
        expected=outcome.expected or "a target that stays up",
        got="; ".join(got),
        extra={**outcome.extra, "process": end.extra},
    )


def left_nobody_served(outcome: Outcome) -> Outcome:
    """Return what a case is worth that waits for an answer while no other client gets one: a hang is a crash."""
    verdict = Verdict.CRASH if outcome.verdict is Verdict.HANG else outcome.verdict
    return replace(outcome, verdict=verdict, got=f"{outcome.got}; the target answers nobody any more")


def one_of_many(outcome: Outcome, others: int) -> Outcome:
    """Return what a crash is worth while so many other cases were under way: nobody knows which of them did it."""
    got = f"{outcome.got}; {others} other cases were under way, and which of them caused it is unknown"
    return replace(outcome, verdict=Verdict.UNTESTABLE, guilty=Guilty.NOBODY, got=got)


def unexplained(deaths: Sequence[Death]) -> Outcome:
    """Return the outcome of the case that stands for the run when the target ended and no case is known to do it."""
    ends = [f"it {one.how}, with {_listed(one.cases)} under way, none of which is known to do it" for one in deaths]
    expected = "a target that stays up through the run"
    extra = {"ends": [{"how": one.how, "under_way": list(one.cases), **one.extra} for one in deaths]}
    return Outcome(Verdict.CRASH, Trace(), Guilty.TARGET, expected=expected, got="; ".join(ends), extra=extra)


def _listed(cases: Sequence[str]) -> str:
    shown = ", ".join(cases[:SHOWN])
    return f"{len(cases)} cases ({shown}{', …' if len(cases) > SHOWN else ''})" if cases else "no case"
