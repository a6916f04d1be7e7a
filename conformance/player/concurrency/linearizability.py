"""Is there one order of the operations on a key that explains every answer?

The search of Wing and Gong ("Testing and verifying concurrent objects", 1993) with Lowe's memory of configurations
("Testing for linearizability", 2017): put next any operation that no other one, still to be put, was answered before;
go back where none fits; never enter twice what was placed, in the same state. As one connection's operations on a key
keep their order, what was placed is how far each connection got, which makes configurations few and cheap to compare.
A reading operation that fits is placed at once: whatever else may come next can come after it, too.

The bound is a number of configurations, not a time, so that the same history has the same verdict on any machine.
"""

# Strategy
#
# The search is depth first over configurations: how far each connection got, and the state of the record. Checking
# linearizability is NP-complete in general, so everything here makes configurations few, small and cheap to compare.
#
# Which operation may come next. Only the heads of the connections are looked at: the later ones of a connection follow
# it. `first` is the earliest answer among the heads; a head that was sent after it cannot come before it. Heads with
# early answers are tried first, since most histories are explained by nearly the order of their answers.
#
# What is remembered. A configuration is one integer: the positions in a number system whose digits are as large as the
# chains are long, above `_STATE_BITS` bits for the number of the state. A move adds the weight of its connection, and
# going back subtracts it, so a configuration is never built anew. `seen` is a set of such integers; the model is asked
# once for each pair of operation and state (`_Steps`), and states are compared as numbers.
#
# What need not be tried. An operation that only reads and leaves the state as it is can be placed at once, alone: an
# order that places it later stays right if it is placed now. Without this rule, readers multiply all orders of writers.
#
# What may be missing. An operation without an answer may have acted at any later time or not at all. It returns at
# `NEVER`, so it delays nobody, and a connection is done after its last operation that is known to have happened. An
# operation with `may` (a reduced history has them) has a second move that leaves it out.
#
# What comes out. The longest order that explains a beginning is kept for the report of a failure. `ends` does not stop
# at the first order, because the states that any order may leave are where the next part of a history can begin.

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from wireproof.conformance.player.concurrency.history import NEVER, Operation, by_connection
from wireproof.reference_server.model import Model

LIMIT = 50_000
"""Configurations looked at for one key: half a second."""


class SearchVerdict(StrEnum):
    """What a search came to."""

    LINEARIZABLE = "linearizable"
    NOT_LINEARIZABLE = "not linearizable"
    UNKNOWN = "unknown"
    """The limit was reached first."""


@dataclass(frozen=True, slots=True)
class Placed:
    """An operation in its place, and the state it leaves."""

    operation: Operation
    state: Hashable


@dataclass(frozen=True, slots=True)
class Search:
    """What was found for one key."""

    finding: SearchVerdict
    start: Hashable
    """The state it begins in."""
    order: tuple[Placed, ...]
    """The order that explains all answers; otherwise the longest that explains a beginning."""
    explored: int
    """Configurations looked at."""


def check(
    operations: Sequence[Operation], model: Model, *, limit: int = LIMIT, initial: Collection[Hashable] | None = None
) -> Search:
    """Search an order of operations on one key, which begins in `model.initial` or in one of `initial`."""
    return _Searching(operations, model, [model.initial] if initial is None else initial).run(limit)


def ends(operations: Sequence[Operation], model: Model, initial: Collection[Hashable], *, limit: int) -> set[Hashable]:
    """Return every state that some order of the operations leaves; `LimitError` when the limit comes first."""
    searching = _Searching(operations, model, initial)
    if searching.run(limit, exhaust=True).finding is SearchVerdict.UNKNOWN:
        raise LimitError
    return {searching.steps.states[state] for state in searching.ends}


class LimitError(Exception):
    """Raised when not all configurations could be looked at."""


Move = tuple[int, bool, int]
"""Which connection goes on, whether its operation is placed or left out, the number of the state it leaves."""
NOWHERE = -1


class _Searching:
    """One search. A configuration is a number: how far each connection got, and the number of the state."""

    def __init__(self, operations: Sequence[Operation], model: Model, initial: Collection[Hashable]) -> None:
        self.steps = _Steps(model)
        self.ends: set[int] = set()
        """States in which every needed operation is placed."""
        self._starts = [self.steps.number(state) for state in initial]
        self._chains = list(by_connection(operations).values())
        self._needed = [_needed(chain) for chain in self._chains]
        self._at = [0] * len(self._chains)
        self._weights = [1 << _STATE_BITS]
        for chain in self._chains:
            self._weights.append(self._weights[-1] * (len(chain) + 1))

    def run(self, limit: int, *, exhaust: bool = False) -> Search:
        """Go through configurations depth first until all needed operations are placed; or through all there are."""
        seen: set[int] = set()
        path: list[Move] = []
        best: list[Move] = []
        position = 0
        stack: list[list[Move]] = [[(NOWHERE, False, state) for state in reversed(self._starts)]]
        while stack:
            if not stack[-1]:
                if len(path) > len(best):
                    best = path.copy()
                stack.pop()
                position -= self._step_back(path)
                continue
            i, _, state = move = stack[-1].pop()
            there = position + (self._weights[i] if i != NOWHERE else 0)
            if there + state in seen:
                continue
            if len(seen) >= limit:
                return self._search(SearchVerdict.UNKNOWN, max(path, best, key=len), len(seen))
            seen.add(there + state)
            position = there
            path.append(move)
            if i != NOWHERE:
                self._at[i] += 1
            if all(map(int.__ge__, self._at, self._needed)):
                self.ends.add(state)
                if not exhaust:
                    return self._search(SearchVerdict.LINEARIZABLE, path, len(seen))
            stack.append(self._moves(state))
        return self._search(SearchVerdict.NOT_LINEARIZABLE, best, len(seen))

    def _step_back(self, path: list[Move]) -> int:
        """Take back the last move of the path, if there is one; return what it added to the position."""
        if not path:
            return 0
        i, _, _ = path.pop()
        if i == NOWHERE:
            return 0
        self._at[i] -= 1
        return self._weights[i]

    def _moves(self, state: int) -> list[Move]:
        """Return what may come next, the last first."""
        heads = []
        first = NEVER
        for i, chain in enumerate(self._chains):
            if self._at[i] < len(chain):
                one = chain[self._at[i]]
                heads.append((one.returned, i, one))
                first = min(first, one.returned)
        heads.sort(reverse=True)
        moves: list[Move] = []
        for _, i, one in heads:
            if one.invoked <= first:
                reads, states = self.steps.after(one, state)
                if reads and states == (state,):
                    return [(i, True, state)]
                if one.may:
                    moves.append((i, False, state))
                moves += [(i, True, left) for left in reversed(states)]
        return moves

    def _search(self, finding: SearchVerdict, path: Sequence[Move], explored: int) -> Search:
        at = [0] * len(self._chains)
        order = []
        start = self._starts[0] if self._starts else 0
        for i, is_placed, state in path:
            if i == NOWHERE:
                start = state
                continue
            if is_placed:
                order.append(Placed(self._chains[i][at[i]], self.steps.states[state]))
            at[i] += 1
        return Search(finding, self.steps.states[start], tuple(order), explored)


_STATE_BITS = 32


class _Steps:
    """The answers of the model, kept: the same step is asked about in very many configurations. States have numbers."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.states: list[Hashable] = []
        self._numbers: dict[Hashable, int] = {}
        self._known: dict[tuple[int, int], tuple[bool, tuple[int, ...]]] = {}

    def after(self, one: Operation, state: int) -> tuple[bool, tuple[int, ...]]:
        """Return whether an operation only reads, and the states it may leave."""
        known = self._known.get((one.number, state))
        if known is None:
            states = self._model.step(self.states[state], one.request, one.reply)
            reads = self._model.reads(one.request, one.reply)
            known = self._known[one.number, state] = reads, tuple(map(self.number, states))
        return known

    def number(self, state: Hashable) -> int:
        """Return the number of a state."""
        number = self._numbers.setdefault(state, len(self.states))
        if number == len(self.states):
            self.states.append(state)
        return number


def _may_be_left_out(one: Operation) -> bool:
    return one.may or one.reply is None


def _needed(chain: Sequence[Operation]) -> int:
    """Return how far a connection must get: to its last operation that is known to have happened."""
    return max((at for at, one in enumerate(chain, 1) if not _may_be_left_out(one)), default=0)
