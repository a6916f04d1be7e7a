"""Makes the seeds of a target and checks all of them before anything is mutated: the cheapest way to find a bug."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from wireproof.fuzz.coverage_guided import FuzzerProgress, FuzzerResult
from wireproof.fuzz.invariants.ending import ending
from wireproof.fuzz.invariants.invariant_error import InvariantError, unexpected
from wireproof.fuzz.known_targets import CodeTarget

__all__ = ["REPLAY_S", "ReplayedSeeds", "replayed_seeds"]

REPLAY_S = 10.0
"""Seconds of processor time after which the replay of seeds ends."""


MAKING_S = 60.0
"""Seconds of processor time that all seeds may take to be made."""


@dataclass(frozen=True, slots=True)
class ReplayedSeeds:
    """The seeds of a target, how many were checked, and what one of them broke."""

    seeds: Sequence[bytes]
    checked: int
    broken: FuzzerResult | None = None
    per_second: float = 0.0
    """Seeds that were checked in a second of processor time."""


def _in_rounds(target: CodeTarget, name: str, seeds: Sequence[bytes], seed: int) -> list[bytes]:
    """Return seeds in rounds, each drawn by `seed`: like seeds of several profiles and variants are not of one round.

    There may be no time for all of them, and a bug seldom shows under one profile and variant alone.
    """
    places = Counter[int]()
    found: list[tuple[int, bytes]] = []
    for data in seeds:
        which = target.setting_of(name, data) if target.setting_of is not None else 0
        found.append((places[which] + which + seed, data))
        places[which] += 1
    Random(f"replay {seed}").shuffle(found)
    return [data for _, data in sorted(found, key=lambda one: one[0] % max(len(places), 1))]


def replayed_seeds(
    target: CodeTarget, name: str, seed: int, *, seconds: float = REPLAY_S, most: int = 0
) -> ReplayedSeeds:
    """Make all seeds and check them, in an order drawn by `seed`; `most` is their number.

    `seconds` is processor time; seeds that are left then are not checked. What was recorded is checked first. Seeds are
    made by the code under test, too, so an exception while they are made is a broken invariant.
    """
    seeds: list[bytes] = []
    try:
        target.check_recorded(name)
    except InvariantError as broken:
        return ReplayedSeeds(seeds, 0, FuzzerResult(FuzzerProgress(0, 0, 0, 0), b"", str(broken), broken))
    try:
        with ending(MAKING_S):
            seeds.extend(target.seeds(name))
    except Exception as error:
        doing = f"while seed {len(seeds) + 1} was made"
        violation = error if isinstance(error, InvariantError) else unexpected(error, doing)
        return ReplayedSeeds(seeds, 0, FuzzerResult(FuzzerProgress(0, 0, 0, 0), b"", str(violation), violation))
    order = _in_rounds(target, name, list(dict.fromkeys(seeds)), seed)
    began, number, rate = time.process_time(), 0, 0.0
    for number, data in enumerate(order, 1):
        try:
            target.check(name, data)
        except InvariantError as violation:
            rate = number / (time.process_time() - began + 1e-9)
            progress = FuzzerProgress(number, 0, len(order), int(rate))
            return ReplayedSeeds(seeds, number, FuzzerResult(progress, data, str(violation)), rate)
        spent = time.process_time() - began
        rate = number / (spent + 1e-9)
        if spent > seconds or number == most:
            break
    return ReplayedSeeds(seeds, number, per_second=rate)
