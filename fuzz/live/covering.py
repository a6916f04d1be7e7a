"""Scripts that took new edges of an instrumented target: kept, and mutated before others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from random import Random

from wireproof.fuzz.edges.counters import SeenEdges
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.mutators import lies
from wireproof.fuzz.live.observation import Play
from wireproof.fuzz.live.writes import with_data, writes
from wireproof.fuzz.script import Script

__all__ = ["CoveringScripts"]

# The problem. An instrumented target tells which edges a script took. Scripts that took a new one are worth mutating;
# but there are soon hundreds, most play the same common paths, and the interesting ones would be drawn last.
#
# Why the edge that was taken least. A script stands for the first new edge that it took. How often that edge is taken
# says how well its surroundings are explored (the schedule of AFLFast): of some kept scripts drawn at random, the one
# with the rarest edge is mutated, the shorter one where two are equal. A random few and not all: so no script is alone
# for long, and the cost of a draw does not grow with the corpus.
#
# Why also field by field. Random mutation of a script with ten fields hits one comparison, such as a size beyond a
# limit, once in thousands of plays. Each kept script therefore gets each boundary value in each of its fields, one at a
# time and each once. Where the bytes can no longer be read there are no fields, so short windows stand for them.
#
# What this does not do. It does not solve comparisons with constants of many bytes.

CANDIDATES = 8
"""Scripts that are drawn to mutate the one whose edge was taken least, so that what is rare is tried soon and often."""
MOST_WRITES, MOST_FIELDS = 16, 128
"""Writes of a script, and fields of all of them, that get each boundary value."""
UNREADABLE, WIDTHS = 16, (1, 2, 4)
"""Bytes that are tried in windows of these sizes where no request can be read: behind a value that is not allowed."""
FIELD_BY_FIELD = 0.5
"""Share of these in which one field gets one boundary value, each of them once."""


def _fields(edges: tuple[int, ...], size: int) -> Iterator[tuple[int, int]]:
    """Yield (first byte, byte after it) of each field; after the last one that can be read, of any short window."""
    yield from pairwise((0, *edges, size))
    begin = edges[-1] if edges else 0
    if size - begin > WIDTHS[-1]:
        for first in range(begin, min(begin + UNREADABLE, size)):
            yield from ((first, first + width) for width in WIDTHS if first + width <= size)


def with_each_lie(random: Random, script: Script, context: FuzzContext) -> Iterator[Script]:
    """Yield the script with each boundary value in each of some fields, one at a time, in any order."""
    sent = writes(script)
    places = [
        (at, write, first, min(last, first + 8))
        for at, write in random.sample(sent, min(len(sent), MOST_WRITES))
        for first, last in _fields(context.edges(script, at), len(write.data))
    ]
    chosen = random.sample(places, min(len(places), MOST_FIELDS))
    changes = [(at, write, first, lie) for at, write, first, last in chosen for lie in lies(write.data[first:last])]
    random.shuffle(changes)
    for at, write, first, lie in changes:
        data = write.data[:first] + lie + write.data[first + len(lie) :]
        if data != write.data:
            yield with_data(script, at, data)


@dataclass
class _Covering:
    """A script that took a new edge."""

    script: Script
    edge: int
    """One that it was the first to take."""
    times: int = 0
    """How many plays took that edge, and how often the script was mutated."""
    changes: Iterator[Script] | None = None
    """The script with each boundary value in each field; what was not drawn yet."""


class CoveringScripts:
    """The scripts that took new edges, and the edges that were seen."""

    def __init__(self) -> None:
        self.edges = SeenEdges()
        self._kept: list[_Covering] = []

    def __len__(self) -> int:
        return len(self._kept)

    def takes_new_edges(self, play: Play, script: Script) -> bool:
        """Return whether the play took an edge, or a number of rounds, for the first time; keep it for a new edge."""
        if play.edges is None:
            return False
        for one in self._kept:
            one.times += bool(play.edges[one.edge])
        if not self.edges.is_new(play.edges):
            return False
        if self.edges.latest:
            self._kept.append(_Covering(script, self.edges.latest[0]))
        return True

    def drawn(self, random: Random, context: FuzzContext) -> tuple[Script, bool]:
        """Return a script, and whether one of its fields was changed already; else it is to be mutated.

        Raises `IndexError` if there is none.
        """
        one = min(random.choices(self._kept, k=CANDIDATES), key=lambda kept: (kept.times, len(kept.script)))
        one.times += 1
        if random.random() < FIELD_BY_FIELD:
            if one.changes is None:
                one.changes = with_each_lie(random, one.script, context)
            if (changed := next(one.changes, None)) is not None:
                return changed, True
        return one.script, False
