"""What the player asks of a driver, and what it gets back: the seam between judging and IO.

A driver (sockets, simulation, replay of a trace) performs each action and answers; it decides nothing.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from wireproof.conformance.model.trace import Kind


class Open(msgspec.Struct, frozen=True, gc=False):
    """Connect under a name."""

    connection: str
    link: str = ""
    """The protocol's name of what is spoken there; empty: the default one."""
    transport: Literal["stream", "datagram"] = "stream"
    unread: bool = False
    """With a small receive buffer, out of which nothing is taken but by `Read`: what the target sends piles up."""
    listener: str = ""
    """The name of the target's listener, where it is not the usual one."""


class Write(msgspec.Struct, frozen=True, gc=False):
    """Send these bytes; where datagrams are spoken they are one."""

    connection: str
    data: bytes
    apart: float | None = None
    """Where the delivery asks for it: they leave in segments of their own, and nothing follows for so many seconds."""
    ends: bool = False
    """Our side ends right after them: its end is in one segment with the last of them."""


class Read(msgspec.Struct, frozen=True, gc=False):
    """Wait until anything comes, at most `timeout` seconds; of datagrams, one."""

    connection: str
    timeout: float


class Look(Read, frozen=True, gc=False):
    """Take what has come already; that nothing has is no event of the trace."""

    timeout: float = 0.0


class Shut(msgspec.Struct, frozen=True, gc=False):
    """End the connection: its sending side only, wholly, or by a reset."""

    connection: str
    how: str
    """`half`, `close` or `reset`."""


class Secure(msgspec.Struct, frozen=True, gc=False):
    """Begin TLS and finish the handshake; what is written and read after it is inside."""

    connection: str
    timeout: float


class Sleep(msgspec.Struct, frozen=True, gc=False):
    """Let `seconds` pass."""

    seconds: float


class ReadUsage(msgspec.Struct, frozen=True, gc=False):
    """Say what the target's process takes now: a JSON object of figures, or nothing where it is not ours."""


class LimitDescriptors(ReadUsage, frozen=True, gc=False):
    """Let the process open `spare` descriptors more than it has now, None: as many as before; then as `ReadUsage`."""

    spare: int | None


Action = Open | Write | Read | Shut | Secure | Sleep | ReadUsage


class Answer(msgspec.Struct, frozen=True, gc=False):
    """What became of an action: the kind of event, its bytes, and the time since the case began, in seconds."""

    kind: Kind
    now: float
    data: bytes = b""
