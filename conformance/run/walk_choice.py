"""Chooses walks: draws many, plays each in simulation on the reference server, and keeps the few that show most.

The problem. A walk of random moves mostly repeats what others do, and nobody can play thousands in each run.

What a walk shows. A mistake between two rules needs that one thing happens, and later another one that would come out
differently. What happens in a move is known by the words of the move, and by the lines of the reference server that it
reaches: rare lines only, since common ones say nothing. A walk shows each pair of an earlier and a later such thing.
Beside the pairs, it shows each three moves that come one after the other about the same queue, say, with what lines
they reach together: a queue that is changed, used and changed back.

How it is chosen. Greedily: always the walk that shows most of what none before it does (a set cover). All draws are
digests of a number, so the same moves and numbers give the same walks on every machine.
"""

from __future__ import annotations

import heapq
import sys
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib import import_module
from itertools import zip_longest
from pathlib import Path
from types import FrameType
from typing import Any

from wireproof.conformance.drivers.simulation import SimulationDriver
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.player.player import Player
from wireproof.conformance.run import reference_target
from wireproof.conformance.suite.case import Case
from wireproof.conformance.suite.case_documents import Context, cases_in
from wireproof.conformance.suite.segmentation import WHOLE
from wireproof.conformance.suite.symbols import Symbols
from wireproof.conformance.suite.walks import BETWEEN, WalkSet, moves_of, walk_case
from wireproof.protocols import protocol
from wireproof.reference_server.clock import Clock
from wireproof.reference_server.registry import server_packages
from wireproof.reference_server.service import Service

__all__ = ["ChosenWalks", "WalkError", "choose", "drawn"]

ANY = "*"
"""Stands in an opening for a word that is drawn."""
COMMON = 0.25
"""A line that this share of all moves reaches says nothing."""
Lines = frozenset[tuple[str, int]]
"""Of the reference server: file and number."""


class WalkError(Exception):
    """Raised when the reference server and the model disagree on a walk; names it and the difference."""


@dataclass(frozen=True, slots=True)
class ChosenWalks:
    """Walks that were chosen, and how much they show of what all candidates show."""

    walks: tuple[str, ...]
    shown: int
    of: int


def drawn(of: WalkSet, number: int) -> str:
    """Return the walk of a number: the opening, and moves that are drawn by their weights."""
    names = [name for name, move in of.moves.items() for _ in range(move.weight)]
    moves, draws = list[str](), 0

    def draw(among: Sequence[str]) -> str:
        nonlocal draws
        draws += 1
        digest = sha256(f"{number}/{draws}".encode()).digest()
        return among[int.from_bytes(digest[:8], "big") % len(among)]

    for place in range(of.length):
        name, *given = draw(of.opening[place]).split() if place < len(of.opening) else [draw(names)]
        fields = of.moves[name].fields.values()
        words = [
            draw(list(values)) if word == ANY else word for values, word in zip_longest(fields, given, fillvalue=ANY)
        ]
        moves.append(" ".join((name, *words)))
    return BETWEEN.join(moves)


def choose(
    name: str, of: WalkSet, context: Context, *, first: Sequence[str], candidates: int, keep: int
) -> ChosenWalks:
    """Return `keep` walks of a set, `first` among them, of that many candidates.

    Raises `WalkError` for a walk on which the reference server and the model disagree.
    """
    walks = list(dict.fromkeys([*first, *(drawn(of, number) for number in range(candidates))]))
    reach = _Reach(name, of, context)
    played = [reach.by_move(walk) for walk in walks]
    rare = _rare(played)
    shown = _as_bits(_shown(of, walk, [one & rare for one in by]) for walk, by in zip(walks, played, strict=True))
    chosen, covered = _cover(shown, len(first), keep)
    return ChosenWalks(
        tuple(walks[one] for one in chosen), covered.bit_count(), _cover(shown, len(shown), 0)[1].bit_count()
    )


class _Reach:
    """Plays walks, and says which lines of the server each move reaches."""

    def __init__(self, name: str, of: WalkSet, context: Context) -> None:
        self._name, self._of, self._context = name, of, context
        package = import_module(server_packages(context.protocol)[0])
        self._folder = str(Path(str(package.__file__)).parent)
        self._profile = (of.profiles or list(context.clauses[of.clauses[0]].levels))[0]
        self._variant = next(iter(protocol(context.protocol).profiles[self._profile].variants))
        self._before = len(self._case("").steps) - len(of.end)
        self._lengths: dict[str, int] = {}

    def by_move(self, walk: str) -> list[Lines]:
        """Return the lines that each move reaches, and those of the end. Raises `WalkError`."""
        case = self._case(walk)
        by_step = self._played(case)
        found, at = list[Lines](), self._before
        for text, (move, _) in zip(walk.split(BETWEEN), moves_of(self._of, walk), strict=True):
            if move not in self._lengths:
                self._lengths[move] = len(self._case(text).steps) - self._before - len(self._of.end)
            found.append(frozenset().union(*(by_step[one] for one in range(at, at + self._lengths[move]))))
            at += self._lengths[move]
        found.append(frozenset().union(*(lines for step, lines in by_step.items() if step >= at)))
        return found

    def _case(self, walk: str) -> Case:
        return cases_in({"cases": [walk_case(self._name, self._of, walk)]}, self._context, "walks")[0]

    def _played(self, case: Case) -> dict[int, set[tuple[str, int]]]:
        spoken = protocol(self._context.protocol)
        symbols = Symbols(spoken, self._profile, self._variant, case=case.id, namespace="walk")
        player = Player(case, symbols, segmentation=WHOLE)
        found: dict[int, set[tuple[str, int]]] = defaultdict(set)

        def inner(frame: FrameType, event: str, argument: object) -> Any:
            found[player.step].add((frame.f_code.co_filename, frame.f_lineno))
            return inner

        def outer(frame: FrameType, event: str, argument: object) -> Any:
            return inner if frame.f_code.co_filename.rpartition("/")[0] == self._folder else None

        sys.settrace(outer)
        try:
            outcome = SimulationDriver(self._service).play(player)
        finally:
            sys.settrace(None)
        if outcome.verdict is not Verdict.PASS:
            raise WalkError(f"{case.title}: {outcome.got}; expected {outcome.expected}")
        return found

    def _service(self, clock: Clock) -> Service:
        return reference_target.service(
            self._context.protocol, profile=self._profile, variant=self._variant, clock=clock
        )


def _rare(played: Iterable[Sequence[Lines]]) -> Lines:
    """Return the lines that are not common; of those of a file that are reached equally often, one."""
    counts: Counter[tuple[str, int]] = Counter()
    moves = 0
    for walk in played:
        moves += len(walk)
        for lines in walk:
            counts.update(lines)
    found: dict[tuple[str, int], tuple[str, int]] = {}
    for line, times in sorted(counts.items()):
        if times < COMMON * moves:
            found.setdefault((line[0], times), line)
    return frozenset(found.values())


def _shown(of: WalkSet, walk: str, lines: Sequence[Lines]) -> Iterator[Hashable]:
    """Yield what a walk shows: pairs of an earlier and a later thing, and threes about the same."""
    moves = [*moves_of(of, walk), ("end", {})]
    before: set[Hashable] = set()
    for (name, words), reached in zip(moves, lines, strict=True):
        now: set[Hashable] = {name, *((name, word) for word in words.values()), *reached}
        yield from ((one, other) for one in before for other in now)
        before |= now
    for word in {words[field] for _, words in moves for field in of.about if field in words}:
        about = [
            (name, *words.values(), reached)
            for (name, words), reached in zip(moves, lines, strict=True)
            if word in [words.get(field) for field in of.about] or not set(of.about) & set(words)
        ]
        yield from zip(about, about[1:], about[2:], strict=False)


def _as_bits(shown: Iterable[Iterable[Hashable]]) -> list[int]:
    """Return each set as a number, with a bit for each thing."""
    bits: dict[Hashable, int] = {}
    found = []
    for things in shown:
        numbers = {bits.setdefault(one, len(bits)) for one in things}
        data = bytearray(len(bits) // 8 + 1)
        for number in numbers:
            data[number // 8] |= 1 << number % 8
        found.append(int.from_bytes(data, "little"))
    return found


def _cover(shown: Sequence[int], first: int, keep: int) -> tuple[list[int], int]:
    """Return the numbers of `keep` sets that hold most together, the first ones among them, and what they hold."""
    chosen = list(range(first))
    covered = 0
    for number in chosen:
        covered |= shown[number]
    heap = [(-shown[number].bit_count(), number) for number in range(first, len(shown))]
    heapq.heapify(heap)
    while heap and len(chosen) < keep:
        _, number = heapq.heappop(heap)
        gain = (shown[number] & ~covered).bit_count()
        if heap and -gain > heap[0][0]:
            heapq.heappush(heap, (-gain, number))
        elif gain:
            chosen.append(number)
            covered |= shown[number]
    return chosen, covered
