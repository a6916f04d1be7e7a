"""Plays scripts on the reference server in this process: without waiting and with the same result each time."""

from __future__ import annotations

from functools import partial

from wireproof.conformance.drivers.simulation import Simulation, carried_out
from wireproof.conformance.run.reference_target import service
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.execution import playing
from wireproof.fuzz.live.observation import Play
from wireproof.fuzz.script import Script
from wireproof.mutants.registry import server_patch
from wireproof.reference_server.registry import create_service
from wireproof.reference_server.service import seeded_ids

__all__ = ["new_server", "simulated"]

PATIENCE = 1.0


def new_server(context: FuzzContext, mutant: str | None = None, *, bare: bool = False) -> Simulation:
    """Return a simulation of a new server, configured as for the cases of its protocol; `mutant` names a mutant.

    `bare` selects the default configuration instead.
    """
    made = partial(create_service, ids=seeded_ids(1), patch=server_patch(context.name, mutant))
    make = made if bare else partial(service, mutant=mutant)
    return Simulation(lambda clock: make(context.name, profile=context.profile, variant=context.variant, clock=clock))


def simulated(context: FuzzContext, script: Script, mutant: str | None = None, *, bare: bool = False) -> Play:
    """Return the play of a script on a new server, see `new_server`."""
    trace = carried_out(playing(script, context, patience=PATIENCE), new_server(context, mutant, bare=bare).perform)
    return Play(script, trace, context, PATIENCE)
