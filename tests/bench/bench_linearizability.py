"""How fast concurrent histories are checked, as ratios in one run: beside the same search without its memory.

`python -m tests.bench.bench_linearizability [--seed 1]`. Histories are made by a server that acts on each request at a
random instant between its sending and its answer, so they are linearizable; the last answer of the wrong ones is a
number nobody stored. The peer is the search of Wing and Gong without memory and without placing readings first; where
it does not end, it is stopped at `STEPS` and the ratio is a lower bound. Prints milliseconds, configurations and
operations a second, and how long a history of one key may be before a search reaches its limit.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from wireproof.conformance.player.concurrency.history import Operation, by_connection
from wireproof.conformance.player.concurrency.history_shrinking import shrink
from wireproof.conformance.player.concurrency.linearizability import LIMIT, SearchVerdict, check
from wireproof.protocols.throttr import OK, Attribute, Change, TTLType
from wireproof.protocols.throttr.replies import QueryReply
from wireproof.protocols.throttr.requests import Insert, Query, Update
from wireproof.reference_server.model import Model
from wireproof.reference_server.registry import model_of

STEPS = 300_000
"""Steps after which the search without memory is given up: seconds."""
KEY = b"k"
MODEL = model_of("throttr", profile="7.3.2", variant="uint32")
ASKED: list[Any] = [
    *(Update(Attribute.QUOTA, Change.INCREASE, amount, KEY) for amount in (1, 2, 3)),
    Update(Attribute.QUOTA, Change.PATCH, 100, KEY),
    Query(KEY),
    Query(KEY),
]


@dataclass(frozen=True)
class Shape:
    """How a history is made: `length` operations of `connections`, each with up to `depth` under way."""

    connections: int
    depth: int
    length: int

    def __str__(self) -> str:
        """As the table shows it."""
        return f"{self.connections} x {self.depth}, {self.length} operations"


def made(shape: Shape, seed: int, *, lies: bool = False) -> list[Operation]:
    """Return a history on one counter, made round by round; `lies`: the last answer is a number nobody stored."""
    source = random.Random(seed)
    history = [Operation(0, "p0", Insert(50, TTLType.HOURS, 60, KEY), 0, OK, 1)]
    quota, instant = 50, 2
    while len(history) < shape.length:
        turns = [f"p{at}" for at in range(shape.connections) for _ in range(shape.depth)]
        source.shuffle(turns)
        sent = {number: instant + number for number in range(len(turns))}
        asked = [source.choice(ASKED) for _ in turns]
        instant += len(turns)
        acting: dict[str, list[int]] = {}
        for number, name in enumerate(turns):
            acting.setdefault(name, []).append(number)
        done: dict[int, tuple[Any, int]] = {}
        for name in source.sample(turns, len(turns)):
            number = acting[name].pop(0)
            quota, reply = _answered(asked[number], quota)
            done[number] = reply, instant
            instant += 1
        last = {name: instant + at for at, name in enumerate(sorted(set(turns)))}
        instant += len(last)
        for number, name in enumerate(turns):
            history.append(Operation(len(history), name, asked[number], sent[number], done[number][0], last[name]))
    quota += 1_000_000 if lies else 0
    history.append(
        Operation(len(history), "p0", Query(KEY), instant, QueryReply(quota, TTLType.HOURS, 60), instant + 1)
    )
    return history


def _answered(request: Any, quota: int) -> tuple[int, Any]:
    if isinstance(request, Query):
        return quota, QueryReply(quota, TTLType.HOURS, 60)
    return (request.value if request.change == Change.PATCH else quota + request.value), OK


def without_memory(operations: Sequence[Operation], model: Model) -> tuple[SearchVerdict, int]:
    """Search as Wing and Gong did, at most `STEPS` steps; return the finding and the steps taken."""
    chains = list(by_connection(operations).values())
    at, steps = [0] * len(chains), 0

    def search(state: Any) -> bool:
        nonlocal steps
        heads = [(chain[at[i]], i) for i, chain in enumerate(chains) if at[i] < len(chain)]
        if not heads:
            return True
        first = min(one.returned for one, _ in heads)
        for one, i in heads:
            if one.invoked <= first:
                for then in model.step(state, one.request, one.reply):
                    steps += 1
                    if steps > STEPS:
                        raise TimeoutError
                    at[i] += 1
                    if search(then):
                        return True
                    at[i] -= 1
        return False

    try:
        return (SearchVerdict.LINEARIZABLE if search(model.initial) else SearchVerdict.NOT_LINEARIZABLE), steps
    except TimeoutError:
        return SearchVerdict.UNKNOWN, steps


def timed(act: Callable[[], Any]) -> tuple[Any, float]:
    """Return what `act` returns and the seconds it took, the best of three."""
    best = float("inf")
    for _ in range(3):
        began = time.perf_counter()
        result = act()
        best = min(best, time.perf_counter() - began)
        if best > 1:
            break
    return result, best


def row(shape: Shape, seed: int, *, lies: bool) -> None:
    """Print one line of the table."""
    history = made(shape, seed, lies=lies)
    search, took = timed(lambda: check(history, MODEL))
    (naive, steps), naive_took = timed(lambda: without_memory(history, MODEL))
    more = "at least " if naive is SearchVerdict.UNKNOWN else ""
    detail = f"{search.finding}, {took * 1e3:8.2f} ms, {search.explored:6} configurations, "
    detail += f"{len(history) / took:9.0f} operations/s"
    print(f"{shape!s:24} {detail}; without memory {more}{naive_took / took:8.1f} x as long ({steps} steps)")


def longest(connections: int, depth: int, seed: int) -> None:
    """Print how long a history of one key, linearizable or not, is still decided within the limit."""
    found = {}
    for lies in (False, True):
        length = 32
        while length <= 16_384:
            history = made(Shape(connections, depth, length), seed, lies=lies)
            if check(history, MODEL).finding is SearchVerdict.UNKNOWN:
                break
            found[lies] = len(history)
            length *= 2
    print(
        f"{connections} x {depth}: decided within {LIMIT} configurations up to {found.get(False, 0)} operations "
        f"(linearizable), {found.get(True, 0)} (not)"
    )


def main() -> None:
    """Print the tables."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seed", type=int, default=1)
    seed = options.parse_args().seed
    for lies in (False, True):
        print(f"\n{'a wrong last answer' if lies else 'linearizable'}: connections x under way on each, one key")
        for shape in (Shape(3, 1, 30), Shape(4, 2, 60), Shape(4, 3, 120), Shape(6, 2, 240), Shape(16, 1, 300)):
            row(shape, seed, lies=lies)
    print("\nlongest history of one key (doubling)")
    for connections, depth in ((4, 2), (4, 4), (8, 2), (12, 1), (16, 1)):
        longest(connections, depth, seed)
    print("\nshrinking")
    history = made(Shape(4, 3, 240), seed, lies=True)
    left, took = timed(lambda: shrink(history, MODEL, limit=LIMIT))
    assert check(left.operations, MODEL, initial=left.initial).finding is SearchVerdict.NOT_LINEARIZABLE
    print(f"{len(history)} operations to {len(left.operations)} in {took * 1e3:.1f} ms")


if __name__ == "__main__":
    main()
