"""Which fields of replies two right servers may fill otherwise: instants, identities, memory, rates, totals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from wireproof.protocols.fields import Repeated, Rows
from wireproof.protocols.messages import Message, declared_layout
from wireproof.protocols.throttr.enums import NANOSECONDS_PER_UNIT
from wireproof.protocols.throttr.replies import ConnectionsReply, InfoReply

__all__ = ["MASKED", "NAMED_BY", "TIME_LEFT", "own_names"]

NAMED_BY = frozenset({"key", "channel"})
"""Fields that name a record or a channel."""
TIME_LEFT: Mapping[str, tuple[str, Mapping[int, int]]] = {
    "ttl": ("ttl_type", {int(unit): length for unit, length in NANOSECONDS_PER_UNIT.items()})
}
"""Field that shrinks as time passes -> the field with its unit, and the nanoseconds of each unit."""


def own_names(profile: str, id: bytes) -> tuple[bytes, ...]:
    """Return the channels that a connection is subscribed to from its beginning (T35)."""
    return () if profile == "7.1.0" else (b"*", id.hex().encode())


def _fields(message: type[Message]) -> Iterator[str]:
    for name, kind in declared_layout(message).items():
        if isinstance(kind, Rows):
            yield from _fields(kind.row)
        elif isinstance(kind, Repeated):
            yield from _fields(kind.part)
        else:
            yield name


MASKED = frozenset(
    {
        *_fields(InfoReply),
        *_fields(ConnectionsReply),
        *("time_point", "subscribed_at", "connection_id", "fragment"),
        *("reads_per_minute", "writes_per_minute", "read_bytes", "write_bytes"),
    }
)
"""Everything about the instance or a connection, instants, ids, and what is counted a minute or in bytes of others."""
