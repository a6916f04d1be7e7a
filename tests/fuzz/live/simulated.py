"""Plays scripts to be judged on the reference server in this process: no waiting, the same every time."""

from __future__ import annotations

from random import Random

from conformance.simulation import Simulation
from conformance.trace import Trace
from fuzz.live.ground import Ground
from fuzz.live.marks import fresh
from fuzz.live.mutators import mutated
from fuzz.live.oracles import judged
from fuzz.live.play import Play, Suspicion
from fuzz.live.playing import playing
from fuzz.script import Script
from reference_server.registry import create_service


def played(ground: Ground, script: Script, fault: str | None = None) -> Play:
    """Return the play of a script on a server of its own."""
    simulation = Simulation(
        lambda clock: create_service(
            ground.name, profile=ground.profile, variant=ground.variant, clock=clock, fault=fault
        )
    )
    asking = playing(script, ground, patience=1.0)
    try:
        action = next(asking)
        while True:
            action = asking.send(simulation.perform(action))
    except StopIteration as stop:
        trace: Trace = stop.value
        return Play(script, trace, ground, 1.0)


def first_suspicion(ground: Ground, runs: int, *, seed: int = 1, fault: str | None = None) -> Suspicion | None:
    """Return what the oracles notice first in so many executions."""
    random, seeds = Random(seed), list(ground.seeds())
    ground.others[:] = seeds
    for _ in range(runs):
        script = random.choice(seeds)
        if random.random() < 0.8:
            script = mutated(random, script, ground)
        for suspicion in judged(played(ground, fresh(script), fault)):
            return suspicion
    return None
