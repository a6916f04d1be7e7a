"""Plays scripts on the reference server in this process: no waiting, and the same every time."""

from __future__ import annotations

from functools import partial

from wireproof.conformance.drivers.simulation import Simulation
from wireproof.conformance.player.connections import Asking, Result
from wireproof.conformance.run.reference_target import service
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.execution import playing
from wireproof.fuzz.live.observation import Play
from wireproof.fuzz.script import Script
from wireproof.mutants.registry import server_patch
from wireproof.reference_server.registry import create_service
from wireproof.reference_server.service import seeded_ids

__all__ = ["carried_out", "new_server", "simulated"]

PATIENCE = 1.0


def new_server(context: FuzzContext, mutant: str | None = None, *, bare: bool = False) -> Simulation:
    """Return a server of its own, set up as the cases of its protocol say; `mutant` names one to take its place.

    `bare`: it has the limits it comes with, and nothing else.
    """
    made = partial(create_service, ids=seeded_ids(1), patch=server_patch(context.name, mutant))
    make = made if bare else partial(service, mutant=mutant)
    return Simulation(lambda clock: make(context.name, profile=context.profile, variant=context.variant, clock=clock))


def carried_out(asking: Asking[Result], server: Simulation) -> Result:
    """Carry out in simulation what is asked for, and return what comes of it."""
    try:
        action = next(asking)
        while True:
            action = asking.send(server.perform(action))
    except StopIteration as stop:
        result: Result = stop.value
        return result


def simulated(context: FuzzContext, script: Script, mutant: str | None = None, *, bare: bool = False) -> Play:
    """Return the play of a script on a server of its own, see `new_server`."""
    trace = carried_out(playing(script, context, patience=PATIENCE), new_server(context, mutant, bare=bare))
    return Play(script, trace, context, PATIENCE)
