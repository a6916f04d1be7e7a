"""Counts what kinds of scripts a campaign plays: a kind that is never drawn cannot find anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

from wireproof.conformance.model.actions import Open, Secure, Shut
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.deliberate import (
    carry,
    cut_off,
    deliberate,
    do_again,
    enlarge,
    sweep_sizes,
    wrap_16,
    wrap_32,
    wrap_64,
)
from wireproof.fuzz.live.own_names import use_own_names
from wireproof.fuzz.script import Script

__all__ = ["KINDS", "DrawnKinds"]

UNREAD, RESETS, SEVERAL, IN_TLS = "readers that do not read", "resets", "several connections", "inside TLS"
KINDS: Mapping[str, str] = {
    enlarge.__name__: "frames larger than buffers",
    wrap_16.__name__: "sums that wrap at 2^16",
    wrap_32.__name__: "sums that wrap at 2^32",
    wrap_64.__name__: "sums that wrap at 2^64",
    carry.__name__: "requests within carriers",
    cut_off.__name__: "ends within a request",
    sweep_sizes.__name__: "sizes one after the other",
    do_again.__name__: "steps done again and again",
    use_own_names.__name__: "names that every connection has",
}
"""Mutator -> the kind of the scripts that it makes."""


class DrawnKinds:
    """How many of the scripts that were played are of each kind."""

    def __init__(self, context: FuzzContext) -> None:
        self._context = context
        self.counts: Counter[str] = Counter()

    def add(self, script: Script, applied: Collection[str]) -> None:
        """Count a script that is played; `applied` are the mutators that changed it last."""
        self.counts.update({KINDS[name] for name in applied if name in KINDS})
        opened = {step.connection: step for step in script if isinstance(step, Open)}
        self.counts[SEVERAL] += len(opened) > 1
        self.counts[UNREAD] += any(step.unread for step in opened.values())
        self.counts[RESETS] += any(isinstance(step, Shut) and step.how == "reset" for step in script)
        self.counts[IN_TLS] += any(isinstance(step, Secure) for step in script)

    @property
    def possible(self) -> list[str]:
        """The kinds that can be drawn for the protocol."""
        known = deliberate(self._context)
        drawn = [kind for name, kind in KINDS.items() if name in known]
        return [*drawn, UNREAD, RESETS, SEVERAL, *([IN_TLS] if self._context.speaks_tls else [])]

    @property
    def missing(self) -> list[str]:
        """The kinds that can be drawn and were not."""
        return [kind for kind in self.possible if not self.counts[kind]]

    def __str__(self) -> str:
        return "drawn: " + ", ".join(f"{self.counts[kind]} {kind}" for kind in self.possible)
