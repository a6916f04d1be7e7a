"""The harness's own account of a play: what it intended to send and what it decoded, beside what crossed.

The trace says what happened, the account what wireproof believed; the monitor holds one against the other.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from wireproof.protocols import Message, Request


class IntendedFrame(msgspec.Struct, frozen=True, gc=False):
    """One frame given to the driver: a message, or bytes that the case writes by hand."""

    event: int
    """The number, in the trace, of the first event of the write that it is part of."""
    data: bytes
    message: Message | None = None
    """None for bytes by hand: what is wrong with them is declared by the case."""
    like: Request | None = None
    """The request that bytes by hand are answered like, where the case says so."""


class Refusal(msgspec.Struct, frozen=True, gc=False):
    """What made the player's decoder stop: after which event and when, at which byte of the target's stream."""

    event: int
    at_us: int
    offset: int
    code: str


@dataclass(slots=True)
class Intended:
    """What the player intended to send and decoded on one connection."""

    frames: list[IntendedFrame] = field(default_factory=list)
    """In the order of the stream."""
    received: list[tuple[tuple[int, int], Message]] = field(default_factory=list)
    """Each message of the target with its (first byte, byte after it), in order."""
    refused: Refusal | None = None
    lost: list[int] = field(default_factory=list)
    """The events by which writes failed: how much of them crossed is unknown."""


IntendedByConnection = dict[int, Intended]
"""The number of the event that opened a connection -> its account; names may be used again, these are not."""
