"""Judges scripts, plain and mutated, that are played on the reference server in this process."""

from __future__ import annotations

from random import Random

from wireproof.fuzz.live.canaries import fresh
from wireproof.fuzz.live.context import Ground
from wireproof.fuzz.live.mutators import mutated
from wireproof.fuzz.live.observation import Suspicion
from wireproof.fuzz.live.oracles import judged
from wireproof.fuzz.live.simulated import simulated as played

__all__ = ["first_suspicion", "played"]


def first_suspicion(ground: Ground, runs: int, *, seed: int = 1, mutant: str | None = None) -> Suspicion | None:
    """Return what the oracles notice first in so many executions."""
    random, seeds = Random(seed), list(ground.seeds())
    ground.others[:] = seeds
    for _ in range(runs):
        script = random.choice(seeds)
        if random.random() < 0.8:
            script = mutated(random, script, ground)
        for suspicion in judged(played(ground, fresh(script), mutant)):
            return suspicion
    return None
