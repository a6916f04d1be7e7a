"""What a case needs of the way to a target: connections that are open together, and round trips one after the other.

Both are counted without playing the case, so that a target that is narrow or far away is not asked in vain.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from wireproof.conformance.suite.case import Case
from wireproof.conformance.suite.steps import (
    AnyStep,
    Close,
    Concurrent,
    Connect,
    ExpectAlive,
    ExpectSilence,
    Measure,
    Repeat,
    Reset,
    Send,
    StartTls,
    Step,
    Verb,
)
from wireproof.conformance.suite.symbols import SymbolError, Symbols
from wireproof.conformance.suite.values import Number, Range

__all__ = ["CaseNeeds", "needs_of"]


@dataclass
class CaseNeeds:
    """What one case needs."""

    connections: int = 0
    """The most that are open at one time."""
    round_trips: int = 0
    """About how many it waits for, one after the other."""
    open: set[str] = field(default_factory=set)

    def opened(self, *names: str) -> None:
        """Note that these connections are used."""
        self.open.update(names)
        self.connections = max(self.connections, len(self.open))

    def asked(self, times: int = 1) -> None:
        """Note answers that are waited for."""
        self.round_trips += times


def needs_of(case: Case, symbols: Symbols) -> CaseNeeds:
    """Return what a case needs; what only a play shows counts as one. `symbols` are those of no play."""
    needs = CaseNeeds()
    _steps(needs, symbols.here(case.steps), symbols)
    return needs


def _steps(needs: CaseNeeds, steps: Iterable[AnyStep], symbols: Symbols) -> None:
    for step in steps:
        if isinstance(step, Step):
            on = _filled(symbols, step.on)
            for verb in step.verbs:
                _verb(needs, verb, on, symbols)


def _verb(needs: CaseNeeds, verb: Verb, on: str, symbols: Symbols) -> None:
    match verb:
        case Repeat(loop):
            for values in _each(loop.each, symbols):
                symbols.variables.update(values)
                _steps(needs, loop.steps, symbols)
        case Measure(measured):
            _steps(needs, measured.steps, symbols)
        case Concurrent(mix):
            count = _integer(mix.connections, symbols)
            needs.opened(*(f" {number}" for number in range(count)))
            needs.asked(_integer(mix.requests, symbols))
        case ExpectAlive():
            needs.opened(f" alive {needs.round_trips}")
            needs.asked()
        case Send():
            needs.opened(on)
            needs.asked()
        case _:
            _about_connections(needs, verb, symbols)


def _about_connections(needs: CaseNeeds, verb: Verb, symbols: Symbols) -> None:
    match verb:
        case Close(name) | Reset(name):
            needs.open.discard(_filled(symbols, name))
        case Connect(where):
            needs.opened(_filled(symbols, where if isinstance(where, str) else where.name))
            needs.asked()
        case ExpectSilence(name) | StartTls(name):
            needs.opened(_filled(symbols, name))
            needs.asked()


def _each(each: Range, symbols: Symbols) -> list[dict[str, int]]:
    ((name, (first, last)),) = each.items()
    return [{name: number} for number in range(_integer(first, symbols), _integer(last, symbols) + 1)]


def _integer(spec: Number, symbols: Symbols) -> int:
    try:
        return symbols.integer(spec)
    except SymbolError:
        return 1


def _filled(symbols: Symbols, name: str) -> str:
    try:
        return symbols.filled(name)
    except SymbolError:
        return name
