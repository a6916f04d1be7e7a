"""Channels and their subscriptions; a channel exists exactly while somebody is subscribed to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wireproof.reference_server.throttr.session import ThrottrSession

__all__ = ["Channels", "Subscription"]


class Subscription:
    """One connection's subscription to one channel; there may be two of these where the profile counts both (T29)."""

    __slots__ = ("read_bytes", "session", "since", "write_bytes")

    def __init__(self, session: ThrottrSession, since: int) -> None:
        self.session = session
        self.since = since
        """Nanoseconds since the Unix epoch."""
        self.read_bytes = 0
        """Payload bytes delivered to it."""
        self.write_bytes = 0
        """Payload bytes its connection published to the channel."""


class Channels:
    """Every channel by name, with its subscriptions in the order of SUBSCRIBE."""

    def __init__(self) -> None:
        self._channels: dict[bytes, dict[Subscription, None]] = {}
        self.subscriptions = 0
        """Their number over all channels."""

    def __len__(self) -> int:
        """Return the number of channels."""
        return len(self._channels)

    def __iter__(self) -> Iterator[tuple[bytes, tuple[Subscription, ...]]]:
        """Yield names and subscriptions in ascending order of the name."""
        return ((name, tuple(self._channels[name])) for name in sorted(self._channels))

    def of(self, name: bytes) -> tuple[Subscription, ...]:
        """Return the subscriptions of a channel; an empty tuple if there is no such channel."""
        return tuple(self._channels.get(name, ()))

    def add(self, name: bytes, session: ThrottrSession, since: int) -> None:
        """Add a subscription of `session` to a channel; `since` in ns since the Unix epoch."""
        subscription = Subscription(session, since)
        self._channels.setdefault(name, {})[subscription] = None
        session.subscriptions.setdefault(name, []).append(subscription)
        session.subscribed += 1
        self.subscriptions += 1

    def remove(self, name: bytes, session: ThrottrSession) -> bool:
        """Remove every subscription of `session` to a channel; return False if it has none."""
        held = session.subscriptions.pop(name, None)
        if held is None:
            return False
        channel = self._channels[name]
        for subscription in held:
            del channel[subscription]
        if not channel:
            del self._channels[name]
        session.subscribed -= len(held)
        self.subscriptions -= len(held)
        return True

    def miscounted(self) -> str:
        """Return which count of subscriptions is wrong, "" if none."""
        held = [one for some in self._channels.values() for one in some]
        if len(held) != self.subscriptions:
            return f"{self.subscriptions} subscriptions are counted, {len(held)} are held"
        sessions = {one.session: sum(other.session is one.session for other in held) for one in held}
        wrong = next((one for one, number in sessions.items() if one.subscribed != number), None)
        return "" if wrong is None else f"{wrong.subscribed} subscriptions of a session are counted"

    def leave(self, session: ThrottrSession) -> None:
        """Remove every subscription of a connection that is gone."""
        for name in list(session.subscriptions):
            self.remove(name, session)
