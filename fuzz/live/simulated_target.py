"""The reference server in this process as the target of a campaign; its clock is virtual, so nothing waits."""

from __future__ import annotations

from wireproof.conformance.drivers.simulation import Simulation, carried_out
from wireproof.conformance.model.trace import Trace
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.execution import playing
from wireproof.fuzz.live.fuzz_target import LiveTarget
from wireproof.fuzz.live.observation import Play, normalised
from wireproof.fuzz.live.simulated_plays import new_server
from wireproof.fuzz.script import Script

__all__ = ["SimulatedTarget"]


class SimulatedTarget(LiveTarget):
    """A server that keeps its state until it is restarted, as a process would; `mutant` names a mutant."""

    heavy_share = 1.0
    """Nothing waits here, and runs are measured in executions."""

    def __init__(self, context: FuzzContext, mutant: str | None = None) -> None:
        super().__init__(context, None)
        self._mutant = mutant
        self._simulation: Simulation = new_server(context, mutant)

    def restart(self, why: str) -> bool:
        """Replace the server by a new one."""
        self._simulation = new_server(self.context, self._mutant)
        self.restarts += 1
        return True

    def play(self, script: Script, *, patience: float, sample: bool = False) -> Play:
        """Play a script unchanged; no process is measured. An exception of the server counts as its death."""
        trace, death = Trace(), None
        try:
            trace = carried_out(playing(script, self.context, patience=patience), self._simulation.perform)
        except Exception as error:
            death = normalised(f"raised {type(error).__name__}: {error}")
        return Play(script, trace, self.context, patience, death)
