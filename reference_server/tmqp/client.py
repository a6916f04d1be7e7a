"""A client whose hello was accepted; it ends with its connection."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wireproof.reference_server.tmqp.channel import Channel

__all__ = ["Client"]


class Client:
    """One client."""

    __slots__ = ("channels", "events", "id", "is_admin", "name", "pulls", "served", "since_ns", "type", "write")

    def __init__(self, id_: bytes, name: bytes, type_: bytes, *, is_admin: bool, since_ns: int) -> None:
        self.id, self.name, self.type, self.is_admin, self.since_ns = id_, name, type_, is_admin, since_ns
        self.channels: dict[Channel, None] = {}
        """The channels that it has joined, in that order."""
        self.events: set[tuple[bytes, bytes, int]] = set()
        """What it is subscribed to: event, channel in lower case, queue."""
        self.write: Callable[[bytes], None] | None = None
        """Sends a frame once the current request is answered; None when the connection is gone."""
        self.pulls = 0
        """Its pulls that are not served yet."""
        self.served: Callable[[], None] | None = None
        """Is called after one of them was served in a later turn of the loop than that of its request."""

    def push(self, frame: bytes) -> None:
        """Send an encoded frame, if the client is still there."""
        if self.write is not None:
            self.write(frame)
