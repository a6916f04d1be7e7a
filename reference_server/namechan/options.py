"""The options of a namechan server beyond those of all servers."""

from __future__ import annotations

from wireproof.reference_server.options import Option

__all__ = ["LIMITS", "OPTIONS", "PORTIONS", "SMALL_OPTIONS"]

OPTIONS = (
    Option(
        "queue",
        "texts",
        (),
        "A queue as NAME:broadcast|round_robin:transient|persistent[:strong|weak|async]; may be repeated.",
    ),
    Option("data", "folder", None, "Folder of what is persistent. Default: temporary, gone when the server ends."),
    Option(
        "ping_interval",
        "seconds",
        50.0,
        "Seconds between two pings; after two without a line a client is dropped.",
        least=0.001,
    ),
    Option("handshake_timeout", "seconds", 2.0, "Seconds in which a client must have sent its version.", least=0.001),
    Option("max_line", "whole", 64 << 10, "Bytes of the longest line; a longer one ends the connection.", least=1024),
    Option("max_kept", "whole", 10_000, "Messages that a transient round-robin queue keeps while nobody subscribes."),
    Option("auto_create", "switch", False, "A topic that is not there is made as a transient broadcast queue."),
    Option("hook", "switch", False, "Listen at a free port beside for a harness, which creates queues and publishes."),
    Option("publish_command_socket", "file", None, "The same at a UNIX socket of this path."),
)
LIMITS = ("high_water", "push_limit", "max_subscriptions", "max_connections", "linger")
"""Fields of `Limits` that apply."""
SMALL_OPTIONS: dict[str, int] = {"max_kept": 2}
"""See `small_options_of`."""
PORTIONS = {"session.TURN": 2, "state.MOST_UNSAVED": 1, "store.CHUNK": 2, "store.CHUNK_BYTES": 8}
"""See `portions_of`."""
