"""One thing that broke the protocol, as the monitor reports it."""

from __future__ import annotations

from dataclasses import dataclass

from wireproof.conformance.model.verdict import Guilty

NOT_INTENDED = "not_meant"
"""What crossed is not what the case means: the player, its encoder or the delivery is wrong."""
MISDELIVERED = "misdelivered"
"""The driver reported to the player other bytes than crossed."""
MISREAD = "misread"
"""The player understood other than the monitor did, or a message is not written as it was read."""


@dataclass(frozen=True, slots=True)
class Violation:
    """Who did what, and where."""

    side: Guilty
    connection: str
    stream: Guilty
    """Whose bytes `offset` counts from the beginning of: a harness may misread the target's."""
    offset: int
    error: str
    """A code of `wireproof.protocols.errors`, `NOT_MEANT` or `MISREAD`."""
    clause: str | None
    event: int
    """Its number in the trace, from 0."""
    at_us: int
    detail: str

    def order(self) -> tuple[int, int]:
        """Return what puts violations in the order of time; within one event, in that of the stream."""
        return self.event, self.offset
