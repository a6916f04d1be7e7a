"""The behaviour of a server under each profile, as data: one field for each difference (see docs/errata.md).

The layouts are in `wireproof.protocols.throttr.profiles`. No code tests the name of a profile: a later one is
`replace(RULES[earlier], ...)`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

__all__ = ["RULES", "Rules"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The behaviour of one profile; defaults are the document's, as the errata read it."""

    query_finds_buffers: bool = False
    """T18: QUERY of a buffer answers quota 0."""
    get_finds_counters: bool = False
    """T18: GET of a counter answers an empty value."""
    set_overwrites: bool = False
    """T19: SET on a live buffer replaces it."""
    increase_wraps: bool = False
    """T15: a quota INCREASE beyond N bytes is taken modulo 2^(8N)."""
    unknown_change_ok: bool = False
    """T14: UPDATE with a change byte outside its table answers 01 and does nothing."""
    unknown_ttl_type: Literal["refuse", "seconds"] = "refuse"
    """T17: how INSERT and SET treat a TTL type outside its table; "seconds" stores and echoes it, and UPDATE treats
    every amount of such a TTL as no time."""
    auto_subscribe: bool = False
    """T35: a connection starts subscribed to `*` and to its own id in hexadecimal."""
    deliver_to_publisher: bool = False
    """T12: a subscribed publisher receives its own message, before its status byte."""
    duplicate_subscriptions: bool = False
    """T29: subscribing twice gives two copies."""
    totals_live: bool = True
    """T27: STAT's totals are live; otherwise they move at the minute snapshot."""
    reads_counted: Literal["retrievals", "touches"] = "retrievals"
    """4.9: QUERY and GET only, or also UPDATE, STAT, LIST, STATS and PURGE of an existing record."""
    unknown_type: Literal["close", "silent"] = "close"
    """T30: after an unknown request type, close the connection or read on without ever answering."""
    list_row_discount: int = 0
    """4.4: bytes by which a LIST row weighs less than it occupies."""
    channel_names_weigh: bool = True
    """4.4: names count towards the size of a CHANNELS fragment."""
    channel_writes_counted: bool = True
    """METRICS-11: a subscriber's own publications count as WRITE BYTES of its subscription."""
    published_counted: Literal["always", "to own channels"] = "always"
    """4.6: when PUBLISHED BYTES of a connection grows."""
    bytes_of_closed_connections: bool = True
    """4.5: INFO's bytes read and written include closed connections."""
    bytes_per_minute: bool = True
    """4.5: INFO's bytes per minute are counted; otherwise 0."""


_DOCUMENT = Rules()

RULES = {
    "7.1.0": _DOCUMENT,
    "7.3.2": replace(
        _DOCUMENT,
        query_finds_buffers=True,
        get_finds_counters=True,
        set_overwrites=True,
        increase_wraps=True,
        unknown_change_ok=True,
        unknown_ttl_type="seconds",
        auto_subscribe=True,
        deliver_to_publisher=True,
        duplicate_subscriptions=True,
        totals_live=False,
        reads_counted="touches",
        unknown_type="silent",
        list_row_discount=2,
        channel_names_weigh=False,
        channel_writes_counted=False,
        published_counted="to own channels",
        bytes_of_closed_connections=False,
        bytes_per_minute=False,
    ),
}
