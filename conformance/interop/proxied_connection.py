"""One connection of a client through the proxy: its bytes, and what both sides say in them."""

from __future__ import annotations

import asyncio

from wireproof.conformance.model.trace import Kind
from wireproof.protocols import Push, Reply, Request, Role
from wireproof.protocols.dissect import Dissection

__all__ = ["ProxiedConnection"]


class ProxiedConnection:
    """A connection of a client and the one to the server that belongs to it."""

    def __init__(self, name: str, dissection: Dissection) -> None:
        self.name = name
        self.dissection = dissection
        self.writers: tuple[asyncio.StreamWriter, ...] = ()
        self.sent = bytearray()
        """All that the client sent."""
        self.received = bytearray()
        """All that the server sent."""
        self.over: Kind | None = None
        """How it ended, from which side."""
        self.requests: list[Request] = []
        """Requests, replies and pushes, until they are taken from here."""
        self.replies: list[tuple[Reply, int]] = []
        """With the offset at which each begins."""
        self.pushes: list[tuple[Push, int]] = []

    @property
    def broken(self) -> bool:
        """Whether one direction cannot be read any further."""
        return any(one.error is not None for one in (self.dissection.of_client, self.dissection.of_server))

    def crossed(self, sender: Role, data: bytes) -> None:
        """Take bytes of one side."""
        (self.sent if sender is Role.CLIENT else self.received).extend(data)
        for frame in [] if self.broken else self.dissection.feed(sender, data):
            match frame.message:
                case Request():
                    self.requests.append(frame.message)
                case Push():
                    self.pushes.append((frame.message, frame.span[0]))
                case Reply():
                    self.replies.append((frame.message, frame.span[0]))
