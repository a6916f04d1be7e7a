"""When a campaign ends, and how far it is."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from wireproof.conformance.model.wording import number_of

__all__ = ["CampaignLimits", "CampaignProgress"]


@dataclass(frozen=True)
class CampaignLimits:
    """When a campaign ends, and how fast it may be."""

    seconds: float = 0
    runs: int = 0
    rate: float = 0
    """Plays a second; 0 for no limit."""
    findings: int = 20
    restarts: int = 200
    """Restarts after a death; those of attribution do not count."""
    shrink_s: float = 20.0


@dataclass
class CampaignProgress:
    """Counters of a campaign."""

    executions: int = 0
    states: int = 0
    pool: int = 0
    findings: int = 0
    edges: int | None = None
    """Edges of an instrumented target that were taken; None if it is not instrumented."""
    empty_client: float = 0.0
    """Connections a second of a client that asks one request and judges nothing; 0: not measured."""
    began: float = field(default_factory=time.monotonic)
    began_cpu: float = field(default_factory=time.process_time)

    @property
    def per_second(self) -> float:
        """Plays a second, restarts and reduction included."""
        return self.executions / max(time.monotonic() - self.began, 1e-9)

    def __str__(self) -> str:
        beside = f" (an empty client: {self.empty_client:.0f})" if self.empty_client else ""
        counts = f"{number_of(self.executions, 'execution')}, {self.per_second:.0f} a second{beside}"
        counts += f", {number_of(self.states, 'state')}"
        edges = "" if self.edges is None else f", {number_of(self.edges, 'edge')}"
        return f"{counts}{edges}, {number_of(self.pool, 'script')}, {number_of(self.findings, 'finding')}"
