"""The clause that a finding of a live server breaks, where its oracle names none."""

from __future__ import annotations

from functools import cache

from wireproof.conformance.suite.cases import Suite, load_suite
from wireproof.fuzz.differential.clause_attribution import ClauseAttribution
from wireproof.fuzz.differential.comparison import AnswerDifference
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.observation import Suspicion
from wireproof.fuzz.live.oracles import ANSWERED, SERVED_ON

__all__ = ["clause_of"]

MEMORY = "memory is linear in the input"


def clause_of(suspicion: Suspicion, context: FuzzContext) -> str | None:
    """Return the clause of a suspicion: the same for equal ones, so that findings of several runs are one.

    A request without an answer breaks the clause about that, where the protocol has one (`unanswered` of its probe).
    What else is about one request breaks the clause whose cases look at such an answer most. Everything else, and a
    request that no clause is about, is taken as about the process: its memory, or that it stays up.
    """
    if suspicion.clause is not None:
        return suspicion.clause
    unanswered = load_suite(context.name).probe.get("unanswered")
    if unanswered and suspicion.oracle in (SERVED_ON, ANSWERED):
        return str(unanswered)
    request, reply = suspicion.about
    if request:
        kinds = (reply,) if reply else ()
        there = AnswerDifference("", 0, request, "", kinds, kinds, valid=True)
        if found := _attribution(context.name, context.profile).clause(there, [request], (), reply):
            return found
    return _of_the_process(load_suite(context.name), context.profile, is_memory=suspicion.oracle == MEMORY)


@cache
def _attribution(protocol: str, profile: str) -> ClauseAttribution:
    return ClauseAttribution(load_suite(protocol), profile)


def _of_the_process(suite: Suite, profile: str, *, is_memory: bool) -> str | None:
    """Return the clause of the first case about memory, or of that which stands for the whole run."""
    here = [case for case in suite.cases if profile in case.profiles]
    budgets = [case for case in here if case.budget] if is_memory else []
    stays_up = [case for case in here if case.id == suite.probe.get("stays_up")]
    return next((case.clauses[0] for case in (*budgets, *stays_up)), None)
