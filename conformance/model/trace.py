"""What crossed the wire, with times: the evidence behind a verdict, and all that a replay needs."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Kind(StrEnum):
    """What happened on a connection."""

    OPENED = "opened"
    SENT = "sent"
    RECEIVED = "received"
    SECURED = "secured"
    """TLS was begun: what is sent and received from then on is inside, and noted as it is there."""
    HALF_CLOSED = "half-closed"
    CLOSED = "closed"
    """By the harness."""
    ENDED = "ended"
    """By the target: end of stream."""
    RESET = "reset"
    """By the target: the connection was reset or refused."""
    SILENT = "silent"
    """Nothing came within the deadline."""
    WAITED = "waited"
    """The case let time pass."""
    DRIVER = "told"
    """A command to the driver of an SDK, a line of JSON."""
    REPORTED = "reported"
    """What the driver of an SDK reported, a line of JSON."""
    MEASURED = "measured"
    """What the target's process takes, as a JSON object; nothing where it is unknown."""


class TraceEvent(msgspec.Struct, frozen=True, gc=False):
    """One thing that happened: when (microseconds since the case began), on which connection, which bytes."""

    at_us: int
    connection: str
    kind: Kind
    data: bytes = b""
    link: str = ""
    """What is spoken on the connection that was opened, unless it is the default."""


class Trace(list[TraceEvent]):
    """The events of one play of a case, in order."""

    def received(self, connection: str) -> bytes:
        """Return everything that came on a connection, joined."""
        return b"".join(one.data for one in self if one.connection == connection and one.kind is Kind.RECEIVED)
