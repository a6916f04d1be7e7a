"""A channel: its members in the order in which they joined, and its queues by id."""

from __future__ import annotations

from wireproof.reference_server.tmqp.client import Client
from wireproof.reference_server.tmqp.queue import Queue
from wireproof.reference_server.tmqp.settings import ChannelSettings

__all__ = ["Channel"]


class Channel:
    """One channel; its name is compared without regard to case."""

    def __init__(self, name: bytes, settings: ChannelSettings) -> None:
        self.name, self.settings = name, settings
        self.key = name.lower()
        self.members: dict[Client, None] = {}
        self.queues: dict[int, Queue] = {}
        self.is_removed = False

    def join(self, client: Client) -> None:
        """Add a member."""
        self.members[client] = client.channels[self] = None

    def leave(self, client: Client) -> None:
        """Remove a member."""
        del self.members[client]
        del client.channels[self]

    @property
    def is_idle(self) -> bool:
        """Whether it has neither members nor stored messages."""
        return not self.members and not any(queue.stored for queue in self.queues.values())
