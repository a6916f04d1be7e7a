"""Finds the clause that a server breaks by playing the cases about the requests of a script."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from secrets import token_hex

from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.mutation.mutant_result import RED
from wireproof.conformance.player.player import Player
from wireproof.conformance.suite.case_traits import is_concurrent, waits
from wireproof.conformance.suite.cases import Case, Suite
from wireproof.conformance.suite.segmentation import WHOLE
from wireproof.conformance.suite.symbols import Symbols
from wireproof.conformance.verdict.consequences import BY_ITSELF, FailedPlay, explained
from wireproof.conformance.verdict.records import level_of, weigh
from wireproof.fuzz.differential.compared_servers import ComparedServer
from wireproof.fuzz.differential.comparison import AnswerDifference
from wireproof.fuzz.live.context import FuzzContext
from wireproof.protocols import protocol

__all__ = ["clause_by_cases"]

MOST_CASES = 250
TIMEOUT = 1.0


def clause_by_cases(
    found: AnswerDifference, suite: Suite, server: ComparedServer, asked: Collection[str]
) -> str | None:
    """Return the clause of the failed case that explains the others; None if no case fails.

    Only quick cases about the requests in `asked` are played. Failures at the place of the difference come first.
    """
    failed = {case.id: (case, outcome) for case, outcome in _failed(suite, server, asked)}
    failures = [
        FailedPlay(name, case, outcome.place, outcome.blamed)
        for name, (case, outcome) in failed.items()
        if outcome.place is not None and outcome.verdict in BY_ITSELF
    ]
    causes = explained(suite, failures)
    rungs = {group: rung for rung, group in enumerate(suite.ladder)}

    def order(name: str) -> tuple[bool, bool, int]:
        case, outcome = failed[name]
        place = outcome.place
        here = place is not None and (place.reply_to, place.field) == (found.request, found.field.split(".")[-1])
        return name in causes, not here, rungs.get(suite.clauses[case.clauses[0]].group, len(rungs))

    return next((failed[name][1].blamed for name in sorted(failed, key=order)), None)


def _failed(suite: Suite, server: ComparedServer, asked: Collection[str]) -> Iterator[tuple[Case, Outcome]]:
    context = server.context
    where = protocol(context.name), context.profile, context.variant
    chosen = [one for one in suite.cases if suite.clauses[one.clauses[0]].group in asked and _is_quick(one, context)]
    for case in chosen[:: len(chosen) // MOST_CASES + 1]:
        symbols = Symbols(*where, case=case.id, namespace=token_hex(3), variables=case.variables)
        outcome = server.perform(Player(case, symbols, segmentation=WHOLE, timeout=TIMEOUT).play())
        if weigh(outcome, level_of(case, suite, context.profile)) in RED:
            yield case, outcome


def _is_quick(case: Case, context: FuzzContext) -> bool:
    here = context.profile in case.profiles and (not case.variants or context.variant in case.variants)
    left_out = case.exclusive or case.slow or case.heavy or case.needs or is_concurrent(case) or waits(case)
    return here and not left_out
