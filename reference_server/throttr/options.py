"""The options of a Throttr server beyond those of all servers: none; every limit applies."""

from __future__ import annotations

from wireproof.reference_server.options import Option

__all__ = ["LIMITS", "OPTIONS", "PORTIONS", "SMALL_OPTIONS"]

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
SMALL_OPTIONS: dict[str, int] = {}
"""Options with which a short conversation reaches a limit; the model follows them."""
PORTIONS = {"fragments.FRAGMENT_BYTES": 64, "record_requests.SHORT": 2, "session.STRIDE": 16}
"""Module and name of how much is done at a time, or kept for speed -> a size of which short conversations have more.

No answer depends on it, so a fuzzer that makes it small changes nothing but the ways through the code."""
