"""The seam between transports and semantics: bytes in, bytes out, no socket and no protocol named.

A `Service` is one server instance of some protocol; `connect` gives a `Session` for each peer. A session is told what
the transport read and how the transport fares; it answers through the two callables it was given. Everything is
synchronous and single-threaded, so the same service runs behind sockets and inside a simulation.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

__all__ = ["Ids", "Limits", "Peer", "Service", "Session", "Trace", "Write", "seeded_ids"]

Write = Callable[[bytes], None]
Close = Callable[[], None]
Secure = Callable[[bytes], None]
Ids = Callable[[], bytes]
"""Gives a connection id, 16 bytes, each time it is called."""
Trace = Callable[[str], None]
"""Takes one line for each message decoded or sent."""

KIB, MIB = 1 << 10, 1 << 20


@dataclass(frozen=True, slots=True)
class Peer:
    """Who is at the other end."""

    family: Literal["tcp", "unix", "udp"] = "tcp"
    host: str = "127.0.0.1"
    port: int = 0
    secure: Secure | None = field(default=None, compare=False, repr=False)
    """Begins TLS on this stream: what it is given came after the request for it and is the first of the handshake.
    From then on the session is given, and writes, what is inside. None: this stream has no TLS to go on with."""

    def __str__(self) -> str:
        """As logs show it."""
        return "unix" if self.family == "unix" else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Limits:
    """What one server may spend; sizes in bytes, times in seconds, 0 = none where it says so."""

    max_frame: int = MIB
    """Largest request; a larger one is announced: what was asked before it is answered, then the connection closes."""
    high_water: int = 64 * KIB
    """Unsent bytes of one connection beyond which it is neither read from nor worked for until they are taken."""
    push_limit: int = 8 * MIB
    """Pushed bytes that may wait for a connection that does not read; beyond, it is disconnected, never skipped."""
    max_subscriptions: int = 10_000
    """Subscriptions of one connection; beyond, they are refused."""
    max_connections: int = 0
    """Connections open at once; beyond, new ones are closed at once. 0 = as many as the system allows."""
    idle_timeout: float = 0.0
    """A connection that sends nothing for this long is closed. 0 = never."""
    linger: float = 2.0
    """A closing connection whose peer takes nothing for this long is cut."""
    handshake: float = 5.0
    """A TLS handshake that is not done after this long ends the connection."""


class Session(ABC):
    """One connection's state. After it called `close` it ignores everything but `connection_lost`."""

    @abstractmethod
    def data_received(self, data: bytes) -> None:
        """Take what the transport read (never empty) and answer through `write`, normally with one call."""

    @abstractmethod
    def eof_received(self) -> None:
        """The peer sends no more: everything due is answered, then `close` is called."""

    @abstractmethod
    def connection_lost(self) -> None:
        """The transport is gone; nothing can be written any more. May be called twice."""

    @abstractmethod
    def pause_writing(self) -> None:
        """The peer takes less than it is given: write nothing and work on nothing until `resume_writing`."""

    @abstractmethod
    def resume_writing(self) -> None:
        """The peer caught up: go on where `pause_writing` stopped."""


class Service(ABC):
    """One server instance of a protocol: the state all its connections share."""

    touched: frozenset[str] | None = None
    """Names of the requests that a deviation handles otherwise, the only ones in which it can show; None = anything."""

    @abstractmethod
    def connect(self, peer: Peer, write: Write, close: Close) -> Session:
        """Begin a session. `write` takes bytes in order; `close` ends the stream once they are sent."""

    def datagram(self, peer: Peer, data: bytes) -> bytes | None:
        """Return the answer to one datagram, None for silence."""
        return None

    @property
    def can_reload(self) -> bool:
        """Whether there is something that `reload` reads again."""
        return False

    def reload(self) -> None:
        """Read again what the server was told in files; what is wrong is logged, and the old stays in force."""
        raise NotImplementedError("nothing to reload")

    @abstractmethod
    def close(self) -> None:
        """Disarm every timer and drop the state; sessions must not be used afterwards."""


def seeded_ids(seed: int) -> Ids:
    """Return a generator of connection ids that is the same for the same seed."""
    source = random.Random(seed)
    return lambda: source.randbytes(16)
