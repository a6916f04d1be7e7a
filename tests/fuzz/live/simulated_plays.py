"""Judges scripts, plain and mutated, that are played on the reference server in this process."""

from __future__ import annotations

from random import Random

from wireproof.fuzz.live.canaries import with_fresh_canaries
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.mutators import mutated
from wireproof.fuzz.live.observation import Suspicion
from wireproof.fuzz.live.oracles import judged
from wireproof.fuzz.live.simulated_plays import simulated as played

__all__ = ["first_suspicion", "played"]


def first_suspicion(context: FuzzContext, runs: int, *, seed: int = 1, mutant: str | None = None) -> Suspicion | None:
    """Return what the oracles notice first in so many executions."""
    random, seeds = Random(seed), list(context.seeds())
    context.others[:] = seeds
    for _ in range(runs):
        script = random.choice(seeds)
        if random.random() < 0.8:
            script = mutated(random, script, context)
        for suspicion in judged(played(context, with_fresh_canaries(script), mutant)):
            return suspicion
    return None
