"""Plays scripts on the reference server in this process: no waiting, and the same every time."""

from __future__ import annotations

from functools import partial

from conformance.conversation import Asking, Result
from conformance.ours import service
from conformance.simulation import Simulation
from fuzz.live.ground import Ground
from fuzz.live.play import Play
from fuzz.live.playing import playing
from fuzz.script import Script
from reference_server.registry import create_service
from reference_server.service import seeded_ids

__all__ = ["carried_out", "new_server", "simulated"]

PATIENCE = 1.0


def new_server(ground: Ground, fault: str | None = None, *, bare: bool = False) -> Simulation:
    """Return a server of its own, set up as the cases of its protocol say; `fault` makes it wrong on purpose.

    `bare`: it has the limits it comes with, and nothing else.
    """
    make = partial(create_service, ids=seeded_ids(1)) if bare else service
    return Simulation(
        lambda clock: make(ground.name, profile=ground.profile, variant=ground.variant, clock=clock, fault=fault)
    )


def carried_out(asking: Asking[Result], server: Simulation) -> Result:
    """Carry out in simulation what is asked for, and return what comes of it."""
    try:
        action = next(asking)
        while True:
            action = asking.send(server.perform(action))
    except StopIteration as stop:
        result: Result = stop.value
        return result


def simulated(ground: Ground, script: Script, fault: str | None = None, *, bare: bool = False) -> Play:
    """Return the play of a script on a server of its own, see `new_server`."""
    trace = carried_out(playing(script, ground, patience=PATIENCE), new_server(ground, fault, bare=bare))
    return Play(script, trace, ground, PATIENCE)
