"""What a server does under each profile, as data: one field per behaviour in which the released server differs.

The fields' defaults are the document's, as the errata read it (docs/errata.md). A profile is never asked for by name.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = ["RULES", "Rules"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The behaviour of one profile."""

    end_frees_token: bool = True
    """P16: a data socket that its client ends gives its token free for another one. Otherwise the end is not noticed,
    and once the connection is gone the token is refused for ever."""
    beacon_by_silence: bool = True
    """P17: a beacon comes whenever half the client's timeout passed since the last byte. Otherwise there is one on
    each tick of that length before which nothing was sent for as long."""
    idle_counts_for_operation: bool = False
    """P20: the rest of an operation must come within the timeout of the one before. Otherwise of its first byte."""
    datagram_priority_ends_topic: bool = False
    """P14: priority 00 breaks a datagram."""
    long_datagrams_are_cut: bool = False
    """P28: what is longer than the buffer is cut and published. Otherwise it is refused."""
    keeps_equal_masks: bool = True
    """Section 2: `a/#` stays subscribed when `a/#/z`, which means the same, is taken back."""


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
