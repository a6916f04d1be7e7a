"""The interface between transports and semantics: bytes in, bytes out, without sockets and without a protocol.

A `Service` is one server instance of a protocol; `connect` returns a `Session` for each peer. The transport calls the
session with what it read and with changes of its state; the session answers through two callables. Everything is
synchronous and single-threaded, so the same service runs on sockets and in simulation.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self

if TYPE_CHECKING:
    from wireproof.protocols.profile import Profile
    from wireproof.reference_server.clock import Clock
    from wireproof.reference_server.options import Option
    from wireproof.reference_server.patch import Patch

__all__ = ["DIALLED", "Ids", "Limits", "Peer", "Service", "Session", "Trace", "Write", "seeded_ids"]

Write = Callable[[bytes], None]
Close = Callable[[], None]
Secure = Callable[[bytes], None]
Ids = Callable[[], bytes]
"""Returns a new connection id, 16 bytes, at each call."""
Trace = Callable[[str], None]
"""Receives one line for each message decoded or sent."""

KIB, MIB = 1 << 10, 1 << 20
DIALLED = "dialled"


@dataclass(frozen=True, slots=True)
class Peer:
    """The other end of a connection."""

    family: Literal["tcp", "unix", "udp"] = "tcp"
    host: str = "127.0.0.1"
    port: int = 0
    secure: Secure | None = field(default=None, compare=False, repr=False)
    """Switches this stream to TLS. Its argument is what arrived after the request for TLS, the first bytes of the
    handshake. From then on the session reads and writes plaintext. None: this stream cannot switch to TLS."""
    listener: str = ""
    """The listener that it came by, of `Service.listeners`; `DIALLED` where the server connected to it."""

    def __str__(self) -> str:
        """Return the form for logs."""
        return "unix" if self.family == "unix" else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Limits:
    """Resource limits of one server; sizes in bytes, times in seconds."""

    max_frame: int = MIB
    """The largest request. A size field above it closes the connection after earlier requests are answered."""
    high_water: int = 64 * KIB
    """Unsent bytes of a connection beyond which the server neither reads from it nor works for it."""
    push_limit: int = 8 * MIB
    """Pushed bytes that may wait for a slow reader; beyond, it is disconnected, and no push is skipped."""
    max_subscriptions: int = 10_000
    """Subscriptions of one connection; beyond, they are refused."""
    max_connections: int = 0
    """Open connections; beyond, new ones are closed immediately. 0 = as many as the system allows."""
    idle_timeout: float = 0.0
    """A connection that sends nothing for this long is closed. 0 = never."""
    linger: float = 2.0
    """A closing connection without progress for this long is aborted."""
    handshake: float = 5.0
    """A TLS handshake that takes longer ends the connection."""


class Session(ABC):
    """The state of one connection. After it has called `close` it ignores everything but `connection_lost`."""

    @abstractmethod
    def data_received(self, data: bytes) -> None:
        """Handle what the transport read (never empty) and answer through `write`, normally with one call."""

    @abstractmethod
    def eof_received(self) -> None:
        """Handle the end of the peer's stream: answer everything pending, then call `close`."""

    @abstractmethod
    def connection_lost(self) -> None:
        """Handle the loss of the transport; nothing can be written any more. May be called twice."""

    @abstractmethod
    def pause_writing(self) -> None:
        """The write buffer is full: write nothing and handle nothing until `resume_writing`."""

    @abstractmethod
    def resume_writing(self) -> None:
        """The write buffer has room: continue where `pause_writing` stopped."""

    @property
    def unwritten(self) -> int:
        """Bytes that wait to be written; none do between two calls while the write buffer has room."""
        return 0


class SlowWork(NamedTuple):
    """What takes long."""

    work: Callable[[], object]
    """Done in a thread."""
    keep: Callable[[], object]
    """Called by the loop afterwards."""


class Service(ABC):
    """One server instance of a protocol: the state all its connections share."""

    state_class: ClassVar[Callable[..., Any]]
    """What all connections share: (profile, variant, clock, ids, limits, options, rules)."""
    rules: ClassVar[Mapping[str, Any]]
    """Profile -> its rules, a dataclass."""
    options: ClassVar[Sequence[Option]]
    """The options that only servers of this protocol have."""
    touched: frozenset[str] | None = None
    """Names of the only requests in which a patch can show; None = any request. Mutation testing reads it."""

    @abstractmethod
    def __init__(self, state: Any, trace: Trace | None = None, patch: Patch | None = None) -> None:
        """`trace` receives a line for each decoded exchange; `patch` replaces parts of the server."""

    @classmethod
    def create(
        cls,
        profile: Profile,
        variant: str,
        *,
        clock: Clock,
        ids: Ids,
        limits: Limits,
        trace: Trace | None = None,
        patch: Patch | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Self:
        """Return a server of `profile` under `variant`; `options` that are not given have their defaults.

        Raises ValueError for what options name and cannot be used, a file for example.
        """
        rules, given = cls.rules[profile.name], {one.name: one.default for one in cls.options} | dict(options or {})
        if patch is None:
            return cls(cls.state_class(profile, variant, clock, ids, limits, given, rules), trace)
        state_class, spoken = patch.state or cls.state_class, patch.patched_profile(profile)
        changed, rules = {**given, **patch.options}, replace(rules, **patch.rules)
        return cls(state_class(spoken, variant, clock, ids, limits, changed, rules), trace, patch)

    @abstractmethod
    def connect(self, peer: Peer, write: Write, close: Close) -> Session:
        """Return the session of a new connection. `write` sends bytes in order; `close` ends the stream after them."""

    def datagram(self, peer: Peer, data: bytes) -> bytes | None:
        """Return the answer to one datagram; None if there is none."""
        return None

    def slow_work(self, data: bytes) -> SlowWork | None:
        """Return what would take `datagram` long and may be done before it; None where nothing does."""
        return None

    def forget_slow_work(self) -> None:  # noqa: B027 - most services have no slow work
        """Forget what slow work has found, so that it is done again; services of one process may share it."""

    @property
    def listeners(self) -> Mapping[str, int | Path]:
        """Name -> port of listeners beside the usual one, on the same host, 0: any free port; or a UNIX socket."""
        return {}

    @property
    def dials(self) -> Sequence[tuple[str, int]]:
        """Hosts and ports that the server connects to by itself, and again after a connection is lost."""
        return ()

    @property
    def can_reload(self) -> bool:
        """Whether the server has files that `reload` reads again."""
        return False

    def reload(self) -> None:
        """Read the server's files again; log an invalid file and keep its previous content.

        Raises NotImplementedError if there are no files (see `can_reload`).
        """
        raise NotImplementedError("nothing to reload")

    def miscounted(self) -> str:
        """Return which number, kept beside what it counts, is wrong, "" if none is. Takes time, so tests ask only."""
        return ""

    @abstractmethod
    def close(self) -> None:
        """Cancel every timer and drop the state; sessions must not be used afterwards."""


def seeded_ids(seed: int) -> Ids:
    """Return a source of connection ids that depends only on the seed."""
    source = random.Random(seed)
    return lambda: source.randbytes(16)
