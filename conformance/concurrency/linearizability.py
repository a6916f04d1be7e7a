"""Is there one order of the operations on a key that explains every answer?

The search of Wing and Gong ("Testing and verifying concurrent objects", 1993) with Lowe's memory of configurations
("Testing for linearizability", 2017): put next any operation that no other one, still to be put, was answered before;
go back where none fits; never enter twice what was placed, in the same state. As one connection's operations on a key
keep their order, what was placed is how far each connection got, which makes configurations few and cheap to compare.
A reading operation that fits is placed at once: whatever else may come next can come after it, too.

The bound is a number of configurations, not a time, so that the same history has the same verdict on any machine.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from conformance.concurrency.history import NEVER, Operation, by_connection
from reference_server.model import Model

LIMIT = 100_000
"""Configurations looked at for one key: at most a second or two."""


class Finding(StrEnum):
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

    finding: Finding
    order: tuple[Placed, ...]
    """The order that explains all answers; otherwise the longest that explains a beginning."""
    explored: int
    """Configurations looked at."""


Positions = tuple[int, ...]
"""How many operations of each connection are placed."""
Move = tuple[Positions, Placed | None, Hashable]
"""Where it leads, what it places (None: leaves out one that need not have happened), the state it leaves."""


def check(operations: Sequence[Operation], model: Model, *, limit: int = LIMIT) -> Search:
    """Search an order of operations on one key, which begins in `model.initial`."""
    return _Searching(operations, model).run(limit)


class _Searching:
    def __init__(self, operations: Sequence[Operation], model: Model) -> None:
        self._model = model
        self._chains = list(by_connection(operations).values())
        self._needed = [_needed(chain) for chain in self._chains]

    def run(self, limit: int) -> Search:
        """Go through configurations depth first until all needed operations are placed."""
        start: Positions = (0,) * len(self._chains)
        seen: set[tuple[Positions, Hashable]] = {(start, self._model.initial)}
        stack = [(start, self._moves(start, self._model.initial))]
        order: list[Placed | None] = []
        best: tuple[Placed, ...] = ()
        while stack:
            at, moves = stack[-1]
            if all(map(int.__ge__, at, self._needed)):
                return Search(Finding.LINEARIZABLE, _placed(order), len(seen))
            for then, placed, state in moves:
                if (then, state) in seen:
                    continue
                if len(seen) >= limit:
                    return Search(Finding.UNKNOWN, best, len(seen))
                seen.add((then, state))
                stack.append((then, self._moves(then, state)))
                order.append(placed)
                break
            else:
                if len(order) > len(best):
                    best = max(best, _placed(order), key=len)
                stack.pop()
                if order:
                    order.pop()
        return Search(Finding.NOT_LINEARIZABLE, best, len(seen))

    def _moves(self, at: Positions, state: Hashable) -> Iterator[Move]:
        """Yield what may come next."""
        heads = [(chain[at[i]], i) for i, chain in enumerate(self._chains) if at[i] < len(chain)]
        first = min((one.returned for one, _ in heads), default=NEVER)
        ready = [(one, i) for one, i in heads if one.invoked <= first]
        fits = []
        for one, i in ready:
            then = (*at[:i], at[i] + 1, *at[i + 1 :])
            states = self._model.step(state, one.request, one.reply)
            if len(states) == 1 and state in states and self._model.reads(one.request, one.reply):
                yield then, Placed(one, state), state
                return
            fits.append((one.returned, one.number, then, one, states))
        for _, _, then, one, states in sorted(fits, key=lambda fit: fit[:2]):
            for left in states:
                yield then, Placed(one, left), left
            if one.may:
                yield then, None, state


def _may_be_left_out(one: Operation) -> bool:
    return one.may or one.reply is None


def _needed(chain: Sequence[Operation]) -> int:
    """Return how far a connection must get: to its last operation that is known to have happened."""
    return max((at for at, one in enumerate(chain, 1) if not _may_be_left_out(one)), default=0)


def _placed(order: Sequence[Placed | None]) -> tuple[Placed, ...]:
    return tuple(one for one in order if one is not None)
