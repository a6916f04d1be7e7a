"""A channel: its members in the order in which they joined, and its queues by id."""

from __future__ import annotations

from collections.abc import Callable

from wireproof.reference_server.tmqp.client import Client
from wireproof.reference_server.tmqp.queue import Queue
from wireproof.reference_server.tmqp.settings import ChannelSettings

__all__ = ["Channel"]


class Channel:
    """One channel; its name is compared without regard to case."""

    def __init__(self, name: bytes, settings: ChannelSettings, remove: Callable[[Channel], None]) -> None:
        """`remove` removes the channel from its server."""
        self.name, self.settings, self._remove = name, settings, remove
        self.key = name.lower()
        self.members: dict[Client, None] = {}
        self.queues: dict[int, Queue] = {}
        self.is_removed = False
        self.is_used = False
        """Whether it has had a member or a stored message: one that is made stays until it is used."""

    def join(self, client: Client) -> None:
        """Add a member."""
        self.members[client] = client.channels[self] = None
        self.is_used = True

    def leave(self, client: Client) -> None:
        """Remove a member."""
        del self.members[client]
        del client.channels[self]

    def settle(self) -> None:
        """Go, where options say so and it is empty: a member left, or a stored message is gone."""
        if self.settings.destroy_empty and self.is_used and self.is_idle and not self.is_removed:
            self._remove(self)

    @property
    def is_idle(self) -> bool:
        """Whether it has neither members nor stored messages."""
        return not self.members and not any(queue.stored for queue in self.queues.values())
