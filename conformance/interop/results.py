"""What became of one operation between one client and one server."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from wireproof.conformance.interop.scenario import ScenarioStep
from wireproof.conformance.model.trace import Trace
from wireproof.conformance.model.verdict import Verdict

__all__ = ["Breach", "Side", "StepResult"]


class Side(StrEnum):
    """Who broke the protocol first."""

    CLIENT = "client"
    SERVER = "server"
    NOBODY = "nobody"


@dataclass(frozen=True, slots=True)
class Breach:
    """The first thing that was wrong."""

    side: Side
    clause: str | None
    byte: int | None
    """Offset in the request, reply or push that is wrong; from a broken stream, in what that side sent."""
    expected: str
    got: str
    verdict: Verdict = Verdict.FAIL
    ends: bool = False
    """Whether nothing can be asked on this connection any more."""


@dataclass(frozen=True, slots=True)
class StepResult:
    """One step of a scene."""

    scene: str
    number: int
    step: ScenarioStep
    request: str
    """The name of the request."""
    trace: Trace
    took_us: int
    broke: Breach | None = None
    unsupported: bool = False
    """The client's driver says that it has no such operation."""
    untested: str = ""
    """Why it was not played."""
    clause: str | None = None
    """The clause of a written step."""

    @property
    def name(self) -> str:
        """Its name in records: the scene, its place in it, and the operation."""
        return f"{self.scene}/{self.number:02}-{self.step.operation}"

    @property
    def agreed(self) -> bool:
        """Whether both sides did it, and alike."""
        return self.broke is None and not self.unsupported and not self.untested
