"""Makes a history that no order explains as short as a reader can take in, without ever showing anything untrue.

Just leaving an operation out could make the rest inexplicable by itself (a value read that nobody wrote). So:

- what lies before an instant at which nothing was under way is left out for the states it may have led to;
- what was sent after it has become inexplicable is left out: the future explains nothing;
- anything else left out stays in the search as "happened with its answer, or did not": what remains is inexplicable
  either way.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, replace

from wireproof.conformance.player.concurrency.history import Operation
from wireproof.conformance.player.concurrency.linearizability import LimitError, SearchVerdict, check, ends
from wireproof.reference_server.model import Model

EFFORT = 50_000
"""Configurations looked at while operations are left out, after which the shortest history so far will do."""


@dataclass(frozen=True, slots=True)
class Shrunk:
    """What is left of a history."""

    operations: tuple[Operation, ...]
    initial: tuple[Hashable, ...]
    """The states that it may begin in."""
    beside: tuple[Operation, ...]
    """Operations of the same time that are left out: whether they happened or not, no order explains the others."""


def shrink(operations: Sequence[Operation], model: Model, *, limit: int, effort: int = EFFORT) -> Shrunk:
    """Return the operations of one key that are needed: leave any out, and some order may explain the rest.

    `operations` must be not linearizable within `limit`; where the effort is used up, more than needed may be left.
    """
    operations, initial = _last_part(operations, model, limit)
    operations = _beginning(operations, model, initial, limit)
    kept = _needed(operations, model, initial, limit, effort)
    weakened = _weakened(operations, kept)
    beside = tuple(one for one in weakened if one.number not in kept)
    return Shrunk(tuple(one for one in weakened if one.number in kept), tuple(initial), beside)


def parts(operations: Sequence[Operation]) -> list[list[Operation]]:
    """Return the operations between instants at which nothing was under way."""
    found: list[list[Operation]] = []
    latest = -1
    for one in sorted(operations, key=lambda one: (one.invoked, one.number)):
        if not found or one.invoked > latest:
            found.append([])
        found[-1].append(one)
        latest = max(latest, one.returned)
    return found


def _last_part(
    operations: Sequence[Operation], model: Model, limit: int
) -> tuple[Sequence[Operation], Collection[Hashable]]:
    """Return the part that cannot be explained, and the states it may begin in."""
    initial: Collection[Hashable] = {model.initial}
    left = parts(operations)
    try:
        while then := ends(left[0], model, initial, limit=limit):
            initial = then
            left.pop(0)
    except LimitError:
        return [one for part in left for one in part], initial
    return left[0], initial


def _beginning(
    operations: Sequence[Operation], model: Model, initial: Collection[Hashable], limit: int
) -> Sequence[Operation]:
    """Leave out what was sent after the rest had become inexplicable."""
    instants = sorted({one.returned for one in operations if one.reply is not None})
    low, high = 0, len(instants) - 1
    shortest = operations
    while low < high:
        middle = (low + high) // 2
        shorter = _until(operations, instants[middle])
        if check(shorter, model, limit=limit, initial=initial).finding is SearchVerdict.NOT_LINEARIZABLE:
            high, shortest = middle, shorter
        else:
            low = middle + 1
    return shortest


def _until(operations: Sequence[Operation], instant: int) -> list[Operation]:
    """Return what was sent by then; what was not answered yet may have happened."""
    return [
        one if one.returned <= instant or one.reply is None else replace(one, may=True)
        for one in operations
        if one.invoked <= instant
    ]


def _needed(
    operations: Sequence[Operation], model: Model, initial: Collection[Hashable], limit: int, effort: int
) -> set[int]:
    """Return the numbers of operations that must have happened; all of them where the effort does not suffice.

    Begins with the one whose answer came last, and takes in what an order of the others left out until none is left;
    then leaves out again, one by one, what is not needed after all.
    """
    certain = [one for one in operations if not one.may]
    kept = {max(certain, key=lambda one: (one.reply is not None, one.returned)).number}
    while effort > 0:
        search = check(_weakened(operations, kept), model, limit=min(limit, effort), initial=initial)
        effort -= search.explored
        placed = {one.operation.number for one in search.order}
        missing = [one.number for one in certain if one.number not in kept | placed]
        if search.finding is not SearchVerdict.LINEARIZABLE or not missing:
            break
        kept.add(missing[0])
    if effort <= 0 or search.finding is not SearchVerdict.NOT_LINEARIZABLE:
        kept = {one.number for one in certain}
    for number in sorted(kept, reverse=True):
        if effort > 0:
            search = check(_weakened(operations, kept - {number}), model, limit=min(limit, effort), initial=initial)
            effort -= search.explored
            kept -= {number} if search.finding is SearchVerdict.NOT_LINEARIZABLE else set()
    return kept


def _weakened(operations: Sequence[Operation], kept: Collection[int]) -> list[Operation]:
    return [one if one.number in kept else replace(one, may=True) for one in operations]
