"""The options of a PSRT server beyond those of all servers, with the defaults of the upstream server."""

from __future__ import annotations

from wireproof.reference_server.options import Option

__all__ = ["LIMITS", "OPTIONS", "PORTIONS", "SMALL_OPTIONS"]

OPTIONS = (
    Option("timeout", "seconds", 5.0, "Seconds to wait for a greeting, a login and each operation.", least=0.001),
    Option("max_topic_depth", "whole", 32, "The most `/` in a topic; deeper ones are answered ERROR."),
    Option("max_topic_length", "whole", 1_000_000, "Bytes of the topics of one SUBSCRIBE or UNSUBSCRIBE.", least=1),
    Option("max_pub_size", "whole", 1_100_000, "Bytes of topic and message of one PUBLISH.", least=1),
    Option("max_topics", "whole", 100_000, "Subscriptions of one client; beyond, they are answered ERROR."),
    Option(
        "max_masks",
        "whole",
        1024,
        "Those of one client with wildcards; beyond, they are answered ERROR. A message may visit each of them.",
    ),
    Option(
        "data_queue", "whole", 1024, "Messages that may wait for a slow data socket; beyond, it is closed.", least=1
    ),
    Option("udp_frame_size", "whole", 4096, "Bytes of the longest datagram that is accepted.", least=5),
    Option("anonymous", "switch", True, "Accept clients that log in without a name."),
    Option("allow_no_tls", "switch", True, "Accept clients that do not switch to TLS."),
    Option("replication", "switch", True, "Accept replicated messages (PUBLISH_REPL)."),
    Option(
        "users",
        "file",
        None,
        "Passwords: lines of `htpasswd -B`. Without any account file everybody may do everything.",
    ),
    Option("acl", "file", None, "Rights (YAML): login -> {sub: [masks], pub: [masks], admin: bool, replicator: bool}."),
    Option("keys", "file", None, "Keys of encrypted datagrams (YAML): login -> 64 hexadecimal digits."),
)
LIMITS = ("high_water", "push_limit", "max_connections", "linger")
"""Fields of `Limits` that apply."""
SMALL_OPTIONS: dict[str, int] = {"max_topics": 4, "max_masks": 2}
"""See `small_options_of`."""
PORTIONS = {"accounts.MOST_WRONG": 1}
"""See `portions_of`."""
