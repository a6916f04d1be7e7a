"""One connection of a client through the proxy: its bytes, and what both sides say in them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from wireproof.conformance.model.trace import Kind
from wireproof.protocols import Push, Reply, Request, Role
from wireproof.protocols.dissect import Dissection, Frame

__all__ = ["ProxiedConnection"]


class ProxiedConnection:
    """A connection of a client and the one to the server that belongs to it."""

    def __init__(self, name: str, make_dissection: Callable[[str], Dissection], link: str | None = "") -> None:
        """`make_dissection` is given the name of the link; `link`: None while its first bytes have not decided it."""
        self.name = name
        self.link: str | None = None
        self._make_dissection = make_dissection
        self.dissection: Dissection
        self.early = bytearray()
        """What the client sent before it was known what is spoken."""
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
        self.frames: list[Frame] = []
        """The same in order, all of them."""
        if link is not None:
            self.begin(link)

    @property
    def client(self) -> str:
        """The name under which the client was asked to connect."""
        return self.name.partition("#")[0]

    @property
    def broken(self) -> bool:
        """Whether one direction cannot be read any further."""
        return self.link is not None and any(
            one.error is not None for one in (self.dissection.of_client, self.dissection.of_server)
        )

    def begin(self, link: str) -> None:
        """Say what is spoken on it."""
        self.link, self.dissection = link, self._make_dissection(link)

    def crossed(self, sender: Role, data: bytes) -> None:
        """Take bytes of one side, once it is known what is spoken."""
        (self.sent if sender is Role.CLIENT else self.received).extend(data)
        for frame in [] if self.broken else self.dissection.feed(sender, data):
            self.frames.append(frame)
            match frame.message:
                case Request():
                    self.requests.append(frame.message)
                case Push():
                    self.pushes.append((frame.message, frame.span[0]))
                case Reply():
                    self.replies.append((frame.message, frame.span[0]))
