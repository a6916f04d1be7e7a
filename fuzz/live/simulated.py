"""Plays scripts on the reference server in this process: no waiting, and the same every time."""

from __future__ import annotations

from conformance.conversation import Asking, Result
from conformance.ours import service
from conformance.simulation import Simulation
from fuzz.live.ground import Ground
from fuzz.live.play import Play
from fuzz.live.playing import playing
from fuzz.script import Script

__all__ = ["carried_out", "new_server", "simulated"]

PATIENCE = 1.0


def new_server(ground: Ground, fault: str | None = None) -> Simulation:
    """Return a server of its own, set up as the cases of its protocol say; `fault` makes it wrong on purpose."""
    return Simulation(
        lambda clock: service(ground.name, profile=ground.profile, variant=ground.variant, clock=clock, fault=fault)
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


def simulated(ground: Ground, script: Script, fault: str | None = None) -> Play:
    """Return the play of a script on a server of its own."""
    trace = carried_out(playing(script, ground, patience=PATIENCE), new_server(ground, fault))
    return Play(script, trace, ground, PATIENCE)
