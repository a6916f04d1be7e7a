"""What the player asks of a driver, and what it gets back: the seam between judging and IO.

A driver (sockets, simulation, replay of a trace) performs each action and answers; it decides nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from wireproof.conformance.model.trace import Kind


@dataclass(frozen=True, slots=True)
class Open:
    """Connect under a name."""

    connection: str
    link: str = ""
    """The protocol's name of what is spoken there; empty: the default one."""
    transport: Literal["stream", "datagram"] = "stream"
    unread: bool = False
    """With a small receive buffer, out of which nothing is taken but by `Read`: what the target sends piles up."""
    listener: str = ""
    """The name of the target's listener, where it is not the usual one."""


@dataclass(frozen=True, slots=True)
class Write:
    """Send these bytes; where datagrams are spoken they are one."""

    connection: str
    data: bytes
    apart: float | None = None
    """Where the delivery asks for it: they leave in segments of their own, and nothing follows for so many seconds."""
    ends: bool = False
    """Our side ends right after them: its end is in one segment with the last of them."""


@dataclass(frozen=True, slots=True)
class Read:
    """Wait until anything comes, at most `timeout` seconds; of datagrams, one."""

    connection: str
    timeout: float


@dataclass(frozen=True, slots=True)
class Shut:
    """End the connection: its sending side only, wholly, or by a reset."""

    connection: str
    how: str
    """`half`, `close` or `reset`."""


@dataclass(frozen=True, slots=True)
class Secure:
    """Begin TLS and finish the handshake; what is written and read after it is inside."""

    connection: str
    timeout: float


@dataclass(frozen=True, slots=True)
class Sleep:
    """Let `seconds` pass."""

    seconds: float


@dataclass(frozen=True, slots=True)
class ReadUsage:
    """Say what the target's process takes now: a JSON object of figures, or nothing where it is not ours."""


@dataclass(frozen=True, slots=True)
class LimitDescriptors(ReadUsage):
    """Let the process open `spare` descriptors more than it has now, None: as many as before; then as `ReadUsage`."""

    spare: int | None


Action = Open | Write | Read | Shut | Secure | Sleep | ReadUsage


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of an action: the kind of event, its bytes, and the time since the case began, in seconds."""

    kind: Kind
    now: float
    data: bytes = b""
