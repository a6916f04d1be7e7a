"""How long a connection of a play sent nothing although no step waits: the target may have ended it."""

from __future__ import annotations

from collections.abc import Iterable

from wireproof.conformance.model.trace import Kind, TraceEvent

__all__ = ["longest_silence"]

SPEAKS = frozenset({Kind.OPENED, Kind.SENT})
WAITS = frozenset({Kind.SILENT, Kind.WAITED})
ENDS = frozenset({Kind.CLOSED, Kind.ENDED, Kind.RESET, Kind.HALF_CLOSED})


def longest_silence(trace: Iterable[TraceEvent], now_us: int) -> float:
    """Return the most seconds between two writes of one connection, or since its last one.

    Time in which a step let time pass, or waited for an answer in vain, does not count.
    """
    spoke: dict[str, int] = {}
    """Connection -> when it spoke last; not those that ended, nor those during whose silence something waited."""
    longest = 0
    for event in trace:
        if event.kind in WAITS:
            spoke.clear()
            continue
        before = spoke.pop(event.connection, None) if event.kind in SPEAKS | ENDS else None
        if before is not None:
            longest = max(longest, event.at_us - before)
        if event.kind in SPEAKS:
            spoke[event.connection] = event.at_us
    return max([longest, *(now_us - at for at in spoke.values())]) / 1e6
