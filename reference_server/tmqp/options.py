"""The options of a TMQP server beyond those of all servers, with the defaults of the released one."""

from __future__ import annotations

from wireproof.reference_server.options import Option

__all__ = ["LIMITS", "OPTIONS", "PORTIONS"]

OPTIONS = (
    Option("request_timeout", "seconds", 4.0, "Seconds in which a client must have sent HELLO.", least=0.001),
    Option("ping_interval", "seconds", 120.0, "Seconds of silence after which a client is pinged.", least=0.001),
    Option("ping_timeout", "seconds", 5.0, "Seconds in which a pinged client must send anything.", least=0.001),
    Option("acknowledge_timeout", "seconds", 15.0, "Seconds to wait for an acknowledgement, if options say nothing."),
    Option("client_limit", "whole", 0, "The most clients at a time; beyond, connections close. 0: no limit."),
    Option("max_channels", "whole", 10_000, "The most channels; beyond, creating one is answered 482.", least=1),
    Option("max_queues", "whole", 100_000, "The most queues; beyond, creating one is answered 482.", least=1),
    Option("max_stored", "whole", 256 << 20, "Bytes that all queues may hold; beyond, pushes are refused.", least=1),
    Option("message_size_limit", "whole", 0, "Bytes of the longest message of a queue. 0: no limit."),
    Option("put_back_limit", "whole", 10, "How often a message may return into its queue."),
    Option("auto_channels", "switch", False, "Create a channel that is joined, or pushed into, and is not there."),
    Option("auto_queues", "switch", False, "Create a queue that is pushed into and is not there."),
    Option("admin", "switch", True, "Allow operations of administrators: to delete, change, list and describe."),
    Option("nodes_socket", "file", None, "Slaves connect at a UNIX socket of this path, not at the config's port."),
    Option("config", "file", None, "Routers, tokens, administrators and the delivery of queues (YAML)."),
)
LIMITS = ("max_frame", "high_water", "push_limit", "max_subscriptions", "max_connections", "linger")
"""Fields of `Limits` that apply."""
PORTIONS = {
    "messaging.SLICE": 2,
    "queue.SLICE": 2,
    "session.DELIVERIES": 2,
    "session.TURN": 2,
    "state.RETIRED": 2,
}
"""See `portions_of`."""
