"""The servers that are compared: live ones, or the reference server in this process."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from wireproof.conformance.player.connections import Asking, Result
from wireproof.fuzz.live.context import Ground
from wireproof.fuzz.live.execution import playing
from wireproof.fuzz.live.fuzz_target import LiveTarget
from wireproof.fuzz.live.observation import Play
from wireproof.fuzz.live.simulated import carried_out, new_server
from wireproof.fuzz.script import Script

__all__ = ["LiveSide", "Side", "SimulatedSide"]

PATIENCE = 1.0
"""Seconds to wait for an answer before there is none."""


class Side(Protocol):
    """One of the servers."""

    told: str
    """What people call it."""
    version: str
    ground: Ground

    def play(self, script: Script, patience: float = PATIENCE) -> Play:
        """Play a script as it is, and wait so many seconds for each answer."""

    def perform(self, asking: Asking[Result]) -> Result:
        """Carry out what is asked for, and return what comes of it."""

    def restart(self, why: str) -> bool:
        """Start it again, with nothing in it, if it is ours; say whether it was."""


@dataclass
class LiveSide:
    """A server behind an address, or one that was started for this."""

    told: str
    version: str
    live: LiveTarget
    ground: Ground = field(init=False)

    def __post_init__(self) -> None:
        self.ground = self.live.ground

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
class SimulatedSide:
    """The reference server in this process; with `fault`, wrong on purpose."""

    told: str
    ground: Ground
    mutant: str | None = None
    version: str = "simulation"

    def __post_init__(self) -> None:
        self._server = new_server(self.ground, self.mutant)

    def play(self, script: Script, patience: float = PATIENCE) -> Play:
        """Play a script as it is; no time passes but that of the script."""
        trace = carried_out(playing(script, self.ground, patience=patience), self._server)
        return Play(script, trace, self.ground, patience)

    def perform(self, asking: Asking[Result]) -> Result:
        """Carry out in this process what is asked for."""
        return carried_out(asking, self._server)

    def restart(self, why: str) -> bool:
        """Begin again with nothing in it."""
        self._server = new_server(self.ground, self.mutant)
        return True
