"""A Throttr server in simulation and clients that talk to it in messages: no socket, and time that stands still."""

from __future__ import annotations

from typing import Any

from wireproof.protocols import NEED_DATA, Message, Push, Reply, Request
from wireproof.protocols.throttr import PROFILES, ClientConnection, Codec
from wireproof.reference_server.clock import VirtualClock
from wireproof.reference_server.registry import create_service
from wireproof.reference_server.service import Limits, Peer, seeded_ids

SECOND = 1_000_000_000
COMBINATIONS = [(profile, width) for profile in PROFILES for width in PROFILES[profile].variants]
TCP = Peer("tcp", "127.0.0.1", 40000)


class Client:
    """One connection; everything the server writes is decoded at once."""

    def __init__(self, server: Server, peer: Peer) -> None:
        self.codec = server.codec
        self.connection = ClientConnection(server.codec)
        self.written: list[bytes] = []
        self.pushes: list[Push] = []
        self.closed = False
        self.session: Any = server.service.connect(peer, self.written.append, self._close)

    def _close(self) -> None:
        self.closed = True

    def send(self, data: bytes) -> bytes:
        """Send bytes; return what the server wrote since, undecoded."""
        self.session.data_received(data)
        return self.take()

    def take(self) -> bytes:
        """Return what the server wrote since the last look."""
        data = b"".join(self.written)
        self.written.clear()
        return data

    def asks(self, *requests: Request) -> list[Reply]:
        """Send requests in one segment; return their replies and keep the pushes."""
        data = b"".join(self.connection.send(request) for request in requests)
        self.session.data_received(data)
        replies = self.read()
        assert len(replies) == len(requests)
        return replies

    def ask(self, request: Request) -> Any:
        """Send a request; return its reply."""
        return self.asks(request)[0]

    def ok(self, request: Request) -> bool:
        """Send a request; return its status."""
        status: bool = self.ask(request).ok
        return status

    def read(self) -> list[Any]:
        """Decode what was written; return the replies and keep the pushes."""
        self.connection.receive_data(self.take() or b"") if self.written else None
        replies: list[Message] = []
        while not isinstance(event := self.connection.next_event(), type(NEED_DATA)):
            (self.pushes if isinstance(event, Push) else replies).append(event)  # type: ignore[arg-type]
        return replies


class Server:
    """A server under one profile and width on a virtual clock."""

    def __init__(self, profile: str = "7.1.0", width: str = "uint16", **limits: Any) -> None:
        self.clock = VirtualClock()
        self.codec = Codec.of(PROFILES[profile], width)
        self.service: Any = create_service(
            "throttr", profile=profile, variant=width, clock=self.clock, ids=seeded_ids(7), limits=Limits(**limits)
        )
        self.n = PROFILES[profile].variants[width].sizes["value"]
        self.maximum = (1 << (8 * self.n)) - 1

    def client(self, peer: Peer = TCP) -> Client:
        """Connect."""
        return Client(self, peer)

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.clock.advance(round(seconds * SECOND))
