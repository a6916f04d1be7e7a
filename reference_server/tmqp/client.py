"""A client whose hello was accepted; it ends with its connection."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wireproof.reference_server.tmqp.channel import Channel

__all__ = ["Client", "Clients"]


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


class Clients:
    """The connected clients in the order in which they came; of those with one id, the first is found by it (E68)."""

    def __init__(self) -> None:
        self._all: dict[Client, None] = {}
        self._of: dict[bytes, list[Client]] = {}

    def add(self, client: Client) -> None:
        """Take a client that was accepted."""
        self._all[client] = None
        self._of.setdefault(client.id, []).append(client)

    def remove(self, client: Client) -> None:
        """Forget a client whose connection has ended."""
        self._all.pop(client, None)
        left = self._of.get(client.id, [])
        if client in left:
            left.remove(client)
        if not left:
            self._of.pop(client.id, None)

    def get(self, id_: bytes) -> Client | None:
        """Return the client of an id."""
        found = self._of.get(id_)
        return found[0] if found else None

    def of(self, id_: bytes) -> Sequence[Client]:
        """Return all clients of an id."""
        return self._of.get(id_, ())

    def values(self) -> Collection[Client]:
        """Return all clients, the first connected first."""
        return self._all.keys()

    def clear(self) -> None:
        """Forget all clients."""
        self._all.clear()
        self._of.clear()

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._of)

    def __contains__(self, id_: bytes) -> bool:
        return id_ in self._of

    def __len__(self) -> int:
        return len(self._all)
