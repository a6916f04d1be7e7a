"""Scripts that took new edges of an instrumented target: kept, and mutated before others."""

from __future__ import annotations

from random import Random

from wireproof.fuzz.edges.counters import SeenEdges
from wireproof.fuzz.live.observation import Play
from wireproof.fuzz.script import Script

__all__ = ["CoveringScripts"]

CANDIDATES = 4
"""Scripts that are drawn to mutate the one that was mutated least, so that what is new is tried soon and often."""


class CoveringScripts:
    """The scripts that took new edges, and the edges that were seen."""

    def __init__(self) -> None:
        self.edges = SeenEdges()
        self._scripts: list[Script] = []
        self._times: list[int] = []

    def __len__(self) -> int:
        return len(self._scripts)

    def takes_new_edges(self, play: Play, script: Script) -> bool:
        """Keep the script if its play took an edge, or a number of rounds, for the first time; return whether so."""
        if play.edges is None or not self.edges.is_new(play.edges):
            return False
        self._scripts.append(script)
        self._times.append(0)
        return True

    def drawn(self, random: Random) -> Script:
        """Return a script to mutate. Raises `IndexError` if there is none."""
        numbers = random.choices(range(len(self._scripts)), k=CANDIDATES)
        number = min(numbers, key=lambda one: (self._times[one], len(self._scripts[one])))
        self._times[number] += 1
        return self._scripts[number]
