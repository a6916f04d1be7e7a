"""The compared servers: live ones, or the reference server in this process."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from wireproof.conformance.drivers.simulation import carried_out
from wireproof.conformance.model.actions import Sleep
from wireproof.conformance.player.connections import ActionGenerator, Result
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.execution import playing
from wireproof.fuzz.live.fuzz_target import LiveTarget
from wireproof.fuzz.live.observation import Play
from wireproof.fuzz.live.simulated_plays import new_server
from wireproof.fuzz.script import Script

__all__ = ["ComparedServer", "LiveServer", "SimulatedServer"]

PATIENCE = 1.0
"""Seconds to wait for an answer."""


class ComparedServer(Protocol):
    """One of the servers."""

    label: str
    """Its name in tables and findings."""
    version: str
    context: FuzzContext

    def play(self, script: Script, patience: float = PATIENCE) -> Play:
        """Play a script unchanged; wait `patience` seconds for each answer."""

    def perform(self, asking: ActionGenerator[Result]) -> Result:
        """Perform what a player asks for; return its result."""

    def restart(self, why: str) -> bool:
        """Restart the server, emptied, if we started it; return whether it was restarted. Raises `StartError`."""


@dataclass
class LiveServer:
    """A server behind an address, or one that was started for this run."""

    label: str
    version: str
    live: LiveTarget
    context: FuzzContext = field(init=False)

    def __post_init__(self) -> None:
        self.context = self.live.context

    def play(self, script: Script, patience: float = PATIENCE) -> Play:
        """Play a script unchanged."""
        return self.live.play(script, patience=patience)

    def perform(self, asking: ActionGenerator[Result]) -> Result:
        """Perform on sockets what a player asks for; return its result."""
        return self.live.perform(asking)

    def restart(self, why: str) -> bool:
        """Restart the server if we started it. Raises `StartError`."""
        return self.live.restart(why)


@dataclass
class SimulatedServer:
    """The reference server in this process, or a mutant of it."""

    label: str
    context: FuzzContext
    mutant: str | None = None
    version: str = "simulation"

    def __post_init__(self) -> None:
        self._begin()

    def play(self, script: Script, patience: float = PATIENCE) -> Play:
        """Play a script unchanged; only the virtual time of the script passes."""
        trace = carried_out(playing(script, self.context, patience=patience), self._server.perform)
        return Play(script, trace, self.context, patience)

    def perform(self, asking: ActionGenerator[Result]) -> Result:
        """Perform in simulation what a player asks for; return its result."""
        return carried_out(asking, self._server.perform)

    def restart(self, why: str) -> bool:
        """Replace the server by a new one."""
        self._begin()
        return True

    def _begin(self) -> None:
        """Make a server that is a second old: at the first instant of its clock nothing can be past."""
        self._server = new_server(self.context, self.mutant)
        self._server.perform(Sleep(1.0))
