"""The options of a Throttr server beyond those of all servers: none; every limit applies."""

from __future__ import annotations

from wireproof.reference_server.options import Option

__all__ = ["LIMITS", "OPTIONS", "PORTIONS"]

OPTIONS: tuple[Option, ...] = ()
LIMITS = (
    "max_frame",
    "high_water",
    "push_limit",
    "max_subscriptions",
    "max_connections",
    "idle_timeout",
    "linger",
)
"""Fields of `Limits` that apply."""
PORTIONS = {"fragments.FRAGMENT_BYTES": 64, "record_requests.SHORT": 2, "session.STRIDE": 16}
"""See `portions_of`."""
