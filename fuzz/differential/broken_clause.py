"""Which clause a server breaks, by the cases about the requests of a script: those it fails tell."""

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
from wireproof.fuzz.differential.compared_servers import Side
from wireproof.fuzz.differential.comparison import Difference
from wireproof.fuzz.live.context import Ground
from wireproof.protocols import protocol

__all__ = ["clause_by_cases"]

MOST_CASES = 250
TIMEOUT = 1.0


def clause_by_cases(found: Difference, suite: Suite, side: Side, asked: Collection[str]) -> str | None:
    """Return the clause that the failures of cases rest on, of those at the same place first; None without any.

    Played are the quick cases about the requests that were `asked`.
    """
    failed = {case.id: (case, outcome) for case, outcome in _failed(suite, side, asked)}
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


def _failed(suite: Suite, side: Side, asked: Collection[str]) -> Iterator[tuple[Case, Outcome]]:
    ground = side.ground
    where = protocol(ground.name), ground.profile, ground.variant
    chosen = [one for one in suite.cases if suite.clauses[one.clauses[0]].group in asked and _is_quick(one, ground)]
    for case in chosen[:: len(chosen) // MOST_CASES + 1]:
        symbols = Symbols(*where, case=case.id, namespace=token_hex(3), variables=case.variables)
        outcome = side.perform(Player(case, symbols, delivery=WHOLE, timeout=TIMEOUT).play())
        if weigh(outcome, level_of(case, suite, ground.profile)) in RED:
            yield case, outcome


def _is_quick(case: Case, ground: Ground) -> bool:
    here = ground.profile in case.profiles and (not case.variants or ground.variant in case.variants)
    left_out = case.exclusive or case.slow or case.heavy or case.needs or is_concurrent(case) or waits(case)
    return here and not left_out
