"""The servers that are compared: live ones, or the reference server in this process."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from wireproof.conformance.player.connections import Asking, Result
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.execution import playing
from wireproof.fuzz.live.fuzz_target import LiveTarget
from wireproof.fuzz.live.observation import Play
from wireproof.fuzz.live.simulated import carried_out, new_server
from wireproof.fuzz.script import Script

__all__ = ["ComparedServer", "LiveServer", "SimulatedServer"]

PATIENCE = 1.0
"""Seconds to wait for an answer before there is none."""


class ComparedServer(Protocol):
    """One of the servers."""

    label: str
    """What people call it."""
    version: str
    context: FuzzContext

    def play(self, script: Script, patience: float = PATIENCE) -> Play:
        """Play a script as it is, and wait so many seconds for each answer."""

    def perform(self, asking: Asking[Result]) -> Result:
        """Carry out what is asked for, and return what comes of it."""

    def restart(self, why: str) -> bool:
        """Start it again, with nothing in it, if it is ours; say whether it was."""


@dataclass
class LiveServer:
    """A server behind an address, or one that was started for this."""

    label: str
    version: str
    live: LiveTarget
    context: FuzzContext = field(init=False)

    def __post_init__(self) -> None:
        self.context = self.live.context

    def play(self, script: Script, patience: float = PATIENCE) -> Play:
        """Play a script as it is."""
        return self.live.play(script, patience=patience)

    def perform(self, asking: Asking[Result]) -> Result:
        """Carry out on sockets what is asked for."""
        return self.live.perform(asking)

    def restart(self, why: str) -> bool:
        """Start it again, if it is ours."""
        return self.live.restart(why)


@dataclass
class SimulatedServer:
    """The reference server in this process; with `fault`, wrong on purpose."""

    label: str
    context: FuzzContext
    mutant: str | None = None
    version: str = "simulation"

    def __post_init__(self) -> None:
        self._server = new_server(self.context, self.mutant)

    def play(self, script: Script, patience: float = PATIENCE) -> Play:
        """Play a script as it is; no time passes but that of the script."""
        trace = carried_out(playing(script, self.context, patience=patience), self._server)
        return Play(script, trace, self.context, patience)

    def perform(self, asking: Asking[Result]) -> Result:
        """Carry out in this process what is asked for."""
        return carried_out(asking, self._server)

    def restart(self, why: str) -> bool:
        """Begin again with nothing in it."""
        self._server = new_server(self.context, self.mutant)
        return True
