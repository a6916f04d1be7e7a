"""What a Throttr server can be told besides what all servers have: nothing; it heeds every limit."""

from __future__ import annotations

from wireproof.reference_server.options import Option

__all__ = ["LIMITS", "OPTIONS"]

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
"""Fields of `Limits` that mean something here."""
