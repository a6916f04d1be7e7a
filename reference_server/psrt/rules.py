"""The behaviour of a server under each profile, as data: one field for each difference of the released server.

The defaults are the document's, as the errata read it (docs/errata.md). No code tests the name of a profile.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = ["RULES", "Rules"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The behaviour of one profile."""

    end_frees_token: bool = True
    """P16: when a client ends its data socket, another one may use the token. Otherwise the end is not noticed,
    and once the connection is gone the token is refused forever."""
    beacon_by_silence: bool = True
    """P17: a beacon is sent half the client's timeout after the last byte. Otherwise it is sent on each tick of that
    length if nothing was sent for as long."""
    idle_counts_for_operation: bool = False
    """P20: the timeout of an operation begins with the end of the one before. Otherwise with its first byte."""
    datagram_priority_ends_topic: bool = False
    """P14: a datagram with priority 00 is invalid."""
    long_datagrams_are_cut: bool = False
    """P28: a datagram longer than the buffer is truncated and published. Otherwise it is refused."""
    keeps_equal_masks: bool = True
    """Section 2: `a/#` stays subscribed when `a/#/z`, which means the same, is removed."""


_DOCUMENT = Rules()

RULES = {
    "1": _DOCUMENT,
    "psrtd-0.3": replace(
        _DOCUMENT,
        end_frees_token=False,
        beacon_by_silence=False,
        idle_counts_for_operation=True,
        datagram_priority_ends_topic=True,
        long_datagrams_are_cut=True,
        keeps_equal_masks=False,
    ),
}
