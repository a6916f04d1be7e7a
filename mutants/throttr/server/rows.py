"""Faults of single rows: what LIST tells of a record and what STATS tells of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from wireproof.mutants.throttr.server.mutant import HandlerPatch, mutant
from wireproof.mutants.throttr.server.patches import Ask, changed, with_handler, with_rows
from wireproof.protocols.throttr import TTLType
from wireproof.protocols.throttr.requests import List, Stats
from wireproof.reference_server.throttr.records import Record
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import Handler, State

__all__ = ["MUTANTS"]


def _row(kind: type, change: Callable[[Any, Ask], Any]) -> HandlerPatch:
    """Answer `change(row, ask)` for each row."""
    return with_rows(kind, lambda rows, ask: [change(row, ask) for row in rows])


def _record(row: Any, ask: Ask) -> Record:
    """Return the record that a row tells of."""
    found: Record = ask.state.store.records[row.key]
    return found


def _bytes_used(change: Callable[[int, Any, Ask], int]) -> HandlerPatch:
    """Answer `change(bytes used, row, ask)`."""
    return _row(List, lambda row, ask: changed(row, bytes_used=change(row.bytes_used, row, ask) & ask.state.value_max))


def _of_counters(change: Callable[[Record, Ask], int]) -> HandlerPatch:
    return _bytes_used(lambda used, row, ask: used if _record(row, ask).key_type else change(_record(row, ask), ask))


def _of_buffers(change: Callable[[Record], int]) -> HandlerPatch:
    return _bytes_used(lambda used, row, ask: change(_record(row, ask)) if _record(row, ask).key_type else used)


def _exchanged(*pairs: tuple[str, str]) -> HandlerPatch:
    """Answer STATS rows with the fields of each pair in each other's place."""

    def change(row: Any, ask: Ask) -> Any:
        return changed(row, **{one: getattr(row, other) for pair in pairs for one, other in (pair, pair[::-1])})

    return _row(Stats, change)


def _with_other_totals(correct: Handler, state: State) -> Handler:
    """Let totals be live where they should stand still until the minute is over, and the other way round."""

    def handle(request: Any, session: ThrottrSession, now: int) -> bytes:
        right = state.rules
        state.rules = replace(right, totals_live=not right.totals_live)
        try:
            return correct(request, session, now)
        finally:
            state.rules = right

    return handle


FIELDS = ("reads_per_minute", "writes_per_minute", "total_reads", "total_writes")
INTEGERS = ("STATS-6", "STATS-7", "STATS-8", "STATS-9")
WIDE = ("uint16", "uint32", "uint64")
# fmt: off
_LIST = (
    mutant("list-kinds-swapped", "LIST tells counters as 01 and buffers as 00.", "LIST-6", profiles=("7.3.2",),
           handlers=_row(List, lambda row, ask: changed(row, key_type=1 - row.key_type))),
    mutant("list-kinds-from-1", "LIST tells counters as 01 and buffers as 02.", "LIST-6", profiles=("7.3.2",),
           handlers=_row(List, lambda row, ask: changed(row, key_type=row.key_type + 1))),
    mutant("list-ttl-type-always-seconds", "LIST tells every TTL type as seconds.", "LIST-7",
           handlers=_row(List, lambda row, ask: changed(row, ttl_type=TTLType.SECONDS))),
    mutant("list-ttl-type-of-buffers-forgotten", "LIST tells the TTL type of every buffer as hours.", "LIST-7",
           handlers=_row(List, lambda row, ask: changed(row, ttl_type=TTLType.HOURS) if row.key_type else row)),
    mutant("list-time-point-drifts", "The time point that LIST tells moves on with time.", "LIST-8",
           handlers=_row(List, lambda row, ask: changed(row, time_point=row.time_point + ask.now))),
    mutant("list-bytes-used-low-byte", "LIST tells only the low byte of bytes used.", "LIST-10", "LIST-11", profiles=("7.3.2",), variants=WIDE,
           handlers=_bytes_used(lambda used, row, ask: used & 0xFF)),
    mutant("list-counter-uses-8-bytes", "LIST tells 8 bytes used for a counter at every width.", "LIST-11", variants=("uint8", "uint16", "uint32"),
           handlers=_of_counters(lambda record, ask: 8)),
    mutant("list-buffer-uses-even-bytes", "LIST rounds the bytes that a buffer uses up to an even number.", "LIST-11", "LIST-10",
           handlers=_of_buffers(lambda record: len(record.value) + len(record.value) % 2)),
    mutant("list-buffer-uses-7-bits", "LIST tells the bytes that a buffer uses without their bit 7.", "LIST-11", "LIST-10",
           handlers=_of_buffers(lambda record: len(record.value) & ~0x80)),
)
# fmt: on
# fmt: off
_STATS = (
    mutant("stats-not-cleared", "The integers of STATS are left over memory until the first minute is over.", *INTEGERS, "METRICS-9",
           handlers=_row(Stats, lambda row, ask: row if ask.state.minutes.index else changed(row, **{one: 182130867283365 for one in FIELDS}))),
    mutant("stats-totals-not-those-of-stat", "The totals of STATS move at another time than those of STAT.", "METRICS-9",
           handlers=with_handler(Stats, _with_other_totals)),
    mutant("stats-counts-minutes-only", "STATS tells what happened in the last minute as totals, too.", "STATS-8", "STATS-9", "METRICS-9",
           handlers=_row(Stats, lambda row, ask: changed(row, total_reads=row.reads_per_minute, total_writes=row.writes_per_minute))),
)
# fmt: on
MUTANTS = _LIST + _STATS
