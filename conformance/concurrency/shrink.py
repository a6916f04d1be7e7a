"""Makes a history that no order explains as short as a reader can take in, without ever telling him something untrue.

Just leaving an operation out could make the rest inexplicable by itself (a value read that nobody wrote). So what is
left out stays in the search as "happened with its answer, or did not happen": what remains is inexplicable either way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from conformance.concurrency.history import Operation
from conformance.concurrency.linearizability import Finding, check
from reference_server.model import Model

EFFORT = 400_000
"""Configurations looked at in all, after which the shortest history so far will do."""


def shrink(operations: Sequence[Operation], model: Model, *, limit: int, effort: int = EFFORT) -> tuple[Operation, ...]:
    """Return the operations of one key that are needed: leave any out, and some order may explain the rest.

    Delta debugging: parts are left out, first halves, at last single operations, the latest first. `operations` must
    be not linearizable within `limit`; where the effort is used up, more than needed may be left.
    """
    kept = [one.number for one in operations]
    size = len(kept)
    while size:
        before = len(kept)
        for stop in range(len(kept), 0, -size):
            fewer = kept[: max(0, stop - size)] + kept[stop:]
            search = check(_weakened(operations, set(fewer)), model, limit=min(limit, effort))
            effort -= search.explored
            if search.finding is Finding.NOT_LINEARIZABLE:
                kept = fewer
            if effort <= 0:
                return _only(operations, kept)
        if size == 1 and len(kept) < before:
            continue
        size //= 2
    return _only(operations, kept)


def _weakened(operations: Sequence[Operation], kept: set[int]) -> list[Operation]:
    return [one if one.number in kept else replace(one, may=True) for one in operations]


def _only(operations: Sequence[Operation], kept: Sequence[int]) -> tuple[Operation, ...]:
    wanted = set(kept)
    return tuple(one for one in operations if one.number in wanted)
