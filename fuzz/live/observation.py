"""One play of a script with what was observed of the target (`Play`), and the report of an oracle (`Suspicion`)."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from wireproof.conformance.model.trace import Kind, Trace
from wireproof.conformance.run.processes import Usage
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.exchanges import PlayedConnection, lines
from wireproof.fuzz.live.execution import DATAGRAM_PROBE, PROBE, PROBES
from wireproof.fuzz.script import Script, size

__all__ = ["Play", "Suspicion", "normalised"]


@dataclass(frozen=True)
class Suspicion:
    """The report of an oracle; it becomes a finding once it is reproduced."""

    oracle: str
    detail: str
    shape: str
    clause: str | None = None
    about: tuple[str, str] = ("", "")
    """The request whose answer is wrong or missing, and the kind of that answer; empty where it is not about one."""
    after: str = ""
    """The request whose answer came last on a connection that is not served any more."""
    is_wordless: bool = False
    """Whether a process hangs, or ended and printed nothing about its cause."""

    def with_shape(self, shape: str) -> Suspicion:
        """Return the suspicion with another shape."""
        return replace(self, shape=shape, is_wordless=False)

    @property
    def key(self) -> tuple[str, str]:
        """The identity: oracle and shape."""
        return self.oracle, self.shape


@dataclass(frozen=True)
class Play:
    """The input of oracles."""

    script: Script
    trace: Trace
    context: FuzzContext
    patience: float
    death: str | None = None
    """How the process ended, if we started it and it ended."""
    words: Sequence[str] = ()
    """The last lines that the process printed."""
    before: Usage | None = None
    """The usage of the process when the current window began."""
    fed: int = 0
    """Bytes sent in that window."""
    held: int | None = None
    """Resident bytes after the play before this one; None if not measured."""
    idle_cpu: float | None = None
    """CPU seconds a second with no connection open; None if not measured."""
    edges: bytes | None = None
    """The class of each edge's count (`fuzz/edges/counters.py`); None if the target is not instrumented."""

    @property
    def carried(self) -> int:
        """Bytes that went either way."""
        return size(self.script) + self.received

    @cached_property
    def received(self) -> int:
        """Bytes that came, on all connections."""
        return sum(len(one.data) for one in self.trace if one.kind is Kind.RECEIVED)

    @cached_property
    def lines(self) -> list[PlayedConnection]:
        """Every connection except the probes."""
        return [line for line in lines(self.trace, self.context) if line.name not in PROBES]

    @cached_property
    def probe(self) -> PlayedConnection | None:
        """The probe connection; None if it could not be opened."""
        found = [line for line in lines(self.trace, self.context) if line.name == PROBE]
        return found[-1] if found else None

    @property
    def serves(self) -> bool:
        """Whether the probe got all its replies."""
        return self.probe is not None and bool(self.probe.answered) and self.probe.due <= 0

    @property
    def serves_datagrams(self) -> bool:
        """Whether every datagram that had to be answered was."""
        found = [line for line in lines(self.trace, self.context) if line.name == DATAGRAM_PROBE]
        return all(line.received for line in found)

    @property
    def memory(self) -> int | None:
        """Resident bytes while the connections were open; None if not measured."""
        measured = [event.data for event in self.trace if event.kind is Kind.MEASURED and event.data]
        return int(json.loads(measured[-1])["memory"]) if measured else None


def normalised(text: str) -> str:
    """Return `text` without what changes from run to run: addresses, numbers, folders."""
    text = re.sub(r"0x[0-9a-fA-F]+|\b[0-9a-f]{6,}\b", "@", text)
    return re.sub(r"\d+", "#", re.sub(r"(?:/[\w.+-]+)+/", "", text)).strip()[:200]
