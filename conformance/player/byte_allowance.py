"""How many bytes a target may send in one play: an answer without end must end the play, not this machine's memory."""

from __future__ import annotations

from wireproof.conformance.model.outcome import Stopped
from wireproof.conformance.model.verdict import Verdict

__all__ = ["FLOOD", "MOST", "MOST_HEAVY", "MOST_OF_TABLES", "ByteAllowance"]

FLOOD = "flood"
"""What the record of a play keeps in which the target sent more than any server has to say."""
MOST, MOST_OF_TABLES, MOST_HEAVY = 4 << 20, 16 << 20, 40 << 20
"""Bytes in any play, in one that reads whole tables, in one about megabytes."""


class ByteAllowance:
    """The bytes that a target may still send, on all connections of a play together."""

    def __init__(self, most: int, extra: dict[str, str]) -> None:
        """`extra`: what the record keeps beside all else."""
        self._left, self._extra = most, extra

    def take(self, data: bytes) -> None:
        """Count what came. Raises `Stopped` where that is more than any server has to say."""
        self._left -= len(data)
        if self._left < 0:
            self._extra[FLOOD] = "1"
            raise Stopped(Verdict.FAIL, "an answer that ends", "the target sends without end", byte=0)
