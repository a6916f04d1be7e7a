"""The reference server in this process as a target of a campaign: its clock is virtual, so nothing is waited for."""

from __future__ import annotations

from wireproof.conformance.drivers.simulation import Simulation
from wireproof.conformance.model.trace import Trace
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.execution import playing
from wireproof.fuzz.live.fuzz_target import LiveTarget
from wireproof.fuzz.live.observation import Play, normalised
from wireproof.fuzz.live.simulated import carried_out, new_server
from wireproof.fuzz.script import Script

__all__ = ["SimulatedTarget"]


class SimulatedTarget(LiveTarget):
    """One server that lives from restart to restart, as a process would; `fault` makes it wrong on purpose."""

    def __init__(self, context: FuzzContext, mutant: str | None = None) -> None:
        super().__init__(context, None)
        self._fault = mutant
        self._simulation: Simulation = new_server(context, mutant)

    def restart(self, why: str) -> bool:
        """Start it again, with nothing in it."""
        self._simulation = new_server(self.context, self._fault)
        self.restarts += 1
        return True

    def play(self, script: Script, *, patience: float, sample: bool = False) -> Play:
        """Play a script as it is; there is no process to be measured. What the server raises is its death."""
        trace, death = Trace(), None
        try:
            trace = carried_out(playing(script, self.context, patience=patience), self._simulation)
        except Exception as error:
            death = normalised(f"raised {type(error).__name__}: {error}")
        return Play(script, trace, self.context, patience, death)
