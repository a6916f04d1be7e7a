"""Servers that are right as long as requests come whole, one segment each: every one is wrong under some deliveries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.conformance.scripted import make_symbols
from wireproof.conformance.suite.field_boundaries import boundaries_of
from wireproof.reference_server.clock import Clock
from wireproof.reference_server.registry import create_service
from wireproof.reference_server.service import Close, Peer, Service, Session, Write, seeded_ids

SYMBOLS = make_symbols()
SLOWLY_NS = 5_000_000


class Torn(Session):
    """A session around a right one; what it changes is in the classes below."""

    def __init__(self, inner: Session, service: TornService, write: Write, close: Close) -> None:
        self.inner, self.service, self.write, self.shut = inner, service, write, close

    def data_received(self, data: bytes) -> None:
        self.inner.data_received(data)

    def eof_received(self) -> None:
        self.inner.eof_received()

    def connection_lost(self) -> None:
        self.inner.connection_lost()

    def pause_writing(self) -> None:
        self.inner.pause_writing()

    def resume_writing(self) -> None:
        self.inner.resume_writing()


class Piecemeal(Torn):
    """Drops what is not made of whole requests: takes a segment for a message."""

    def data_received(self, data: bytes) -> None:
        if boundaries_of(SYMBOLS, data).whole:
            self.inner.data_received(data)


class LoneByte(Torn):
    """Loses what comes a byte alone, more than `SLOWLY_NS` after what came before it."""

    last = -SLOWLY_NS

    def data_received(self, data: bytes) -> None:
        now = self.service.clock.monotonic_ns()
        slow, self.last = now - self.last > SLOWLY_NS, now
        if not (slow and len(data) == 1 and now > 0):
            self.inner.data_received(data)


class FirstOnly(Torn):
    """Answers the first request of three or more in one segment, and forgets the others."""

    def data_received(self, data: bytes) -> None:
        ends = [
            end
            for end in (*boundaries_of(SYMBOLS, data).boundaries, len(data))
            if boundaries_of(SYMBOLS, data[:end]).whole
        ]
        self.inner.data_received(data[: ends[0]] if len(ends) > 2 else data)


class Hasty(Torn):
    """Answers a little later, and drops the answers that are due when the client sends no more."""

    def __init__(self, inner: Session, service: TornService, write: Write, close: Close) -> None:
        super().__init__(inner, service, write, close)
        self.held: list[bytes] = []

    def later(self, data: bytes) -> None:
        self.held.append(data)
        self.service.clock.call_at(self.service.clock.monotonic_ns() + 1_000_000, self.flush)

    def flush(self) -> None:
        if self.held:
            self.write(b"".join(self.held))
            self.held.clear()

    def eof_received(self) -> None:
        self.held.clear()
        self.inner.eof_received()


class Impatient(Torn):
    """Ends the connection of who sends a request a byte at a time: the bytes a and t, as the cases about that do."""

    def data_received(self, data: bytes) -> None:
        if data in (b"a", b"t"):
            self.inner.connection_lost()
            self.shut()
        else:
            self.inner.data_received(data)


class TornService(Service):
    """A reference server, with sessions of one of these kinds."""

    def __init__(
        self,
        kind: Callable[[Session, TornService, Write, Close], Torn],
        clock: Clock,
        protocol: str = "throttr",
        **spoken: Any,
    ) -> None:
        self.clock = clock
        self.kind = kind
        self.inner = create_service(protocol, clock=clock, ids=seeded_ids(1), **spoken)

    def connect(self, peer: Peer, write: Write, close: Close) -> Session:
        torn: list[Torn] = []

        def written(data: bytes) -> None:
            later = getattr(torn[0], "later", None) if torn else None
            (later or write)(data)

        torn.append(self.kind(self.inner.connect(peer, written, close), self, write, close))
        return torn[0]

    def close(self) -> None:
        self.inner.close()


def torn(kind: Any) -> Callable[[Any], TornService]:
    """Return what makes such services for a simulation."""
    return lambda clock: TornService(kind, clock, profile="7.1.0", variant="uint16")
