"""A service that says everything again, and certificates for it: what transports are tested with."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from pathlib import Path

from wireproof.reference_server.service import Peer, Service, Session, Write

GO_SECURE = b"!"
"""Begins TLS; what follows it is the first of the handshake."""
GREETING = b"hello"
"""What is said first inside."""


class Parrot(Session):
    """Says everything again."""

    def __init__(self, peer: Peer, write: Write, close: Callable[[], None]) -> None:
        self.peer, self.write, self.close = peer, write, close
        self.is_secure = self.ended = self.lost = False

    def data_received(self, data: bytes) -> None:
        if data.startswith(GO_SECURE) and self.peer.secure is not None and not self.is_secure:
            self.is_secure = True
            self.peer.secure(data[1:])
            self.write(GREETING)
        else:
            self.write(data)

    def eof_received(self) -> None:
        self.ended = True
        self.write(b".")
        self.close()

    def connection_lost(self) -> None:
        self.lost = True

    def pause_writing(self) -> None:
        pass

    def resume_writing(self) -> None:
        pass


class Parrots(Service):
    """A server of them."""

    def __init__(self) -> None:
        self.sessions: list[Parrot] = []
        self.datagrams: list[tuple[Peer, int]] = []

    def connect(self, peer: Peer, write: Write, close: Callable[[], None]) -> Parrot:
        self.sessions.append(Parrot(peer, write, close))
        return self.sessions[-1]

    def datagram(self, peer: Peer, data: bytes) -> bytes | None:
        self.datagrams.append((peer, len(data)))
        return data[:1000] if data != b"quiet" else None

    def close(self) -> None:
        pass


def client_context(certificate: Path) -> ssl.SSLContext:
    """A client that trusts the certificate."""
    return ssl.create_default_context(cafile=str(certificate))
