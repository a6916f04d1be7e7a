"""One play of a script and what was seen of the target meanwhile; and what an oracle says of it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from wireproof.conformance.model.trace import Kind, Trace
from wireproof.conformance.run.processes import Usage
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.exchanges import Line, lines
from wireproof.fuzz.live.execution import PROBE
from wireproof.fuzz.script import Script

__all__ = ["Play", "Suspicion", "normalised"]


@dataclass(frozen=True)
class Suspicion:
    """What an oracle noticed; it is believed once it shows again."""

    oracle: str
    detail: str
    shape: str
    clause: str | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes two of them one."""
        return self.oracle, self.clause or "", self.shape


@dataclass(frozen=True)
class Play:
    """What oracles judge."""

    script: Script
    trace: Trace
    context: FuzzContext
    patience: float
    death: str | None = None
    """How the process ended, where it is ours."""
    words: Sequence[str] = ()
    """What it printed last."""
    before: Usage | None = None
    """What it took when the window that this play ends began."""
    fed: int = 0
    """Bytes sent in that window."""
    idle_cpu: float | None = None
    """Seconds of CPU a second, with no connection open."""

    @cached_property
    def lines(self) -> list[Line]:
        """Every connection, the probe's left out."""
        return [line for line in lines(self.trace, self.context) if line.name != PROBE]

    @cached_property
    def probe(self) -> Line | None:
        """The connection that was opened last; None when it could not be opened."""
        found = [line for line in lines(self.trace, self.context) if line.name == PROBE]
        return found[-1] if found else None

    @property
    def serves(self) -> bool:
        """Whether the connection that was opened last was answered all it asked."""
        return self.probe is not None and bool(self.probe.answered) and self.probe.due <= 0

    @property
    def memory(self) -> int | None:
        """Resident bytes while the connections were open, where that was measured."""
        measured = [event.data for event in self.trace if event.kind is Kind.MEASURED and event.data]
        return int(json.loads(measured[-1])["memory"]) if measured else None


def normalised(text: str) -> str:
    """Return a text without what differs from one time to the next: addresses, numbers, folders."""
    text = re.sub(r"0x[0-9a-fA-F]+|\b[0-9a-f]{6,}\b", "@", text)
    return re.sub(r"\d+", "#", re.sub(r"(?:/[\w.+-]+)+/", "", text)).strip()[:200]
