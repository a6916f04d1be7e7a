"""Faults of single rows: what LIST tells of a record and what STATS tells of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from wireproof.mutants.throttr.server.mutant import HandlerPatch, mutant
from wireproof.mutants.throttr.server.patches import Ask, changed, field_kind, swapped, with_handler, with_rows
from wireproof.protocols.fields import U16, U64
from wireproof.protocols.throttr import TTLType
from wireproof.protocols.throttr.replies import ListRow, StatsRow
from wireproof.protocols.throttr.requests import VALUE, List, Stats
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


class FirstSeen(State):
    """A server that remembers what LIST showed of each record."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.shown: dict[Record, int] = {}


def _first_time_point(row: Any, ask: Ask) -> Any:
    shown: dict[Record, int] = ask.state.shown  # type: ignore[attr-defined]
    return changed(row, time_point=shown.setdefault(_record(row, ask), row.time_point))


def _latest_time_point(row: Any, ask: Ask) -> Any:
    shown: dict[Record, int] = ask.state.shown  # type: ignore[attr-defined]
    record = _record(row, ask)
    shown[record] = max(shown.get(record, 0), row.time_point)
    return changed(row, time_point=shown[record])


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
    mutant("list-bytes-used-of-8-bytes", "Bytes used in a LIST row is 8 bytes at every width.",
          "LIST-4", "LIST-10", variants=("uint8", "uint16", "uint32"),
          profile=field_kind(ListRow, "bytes_used", U64)),
    mutant("list-ttl-type-of-2-bytes", "The TTL type in a LIST row is 2 bytes.",
          "LIST-4", "LIST-7", "LIST-8", "LIST-10", profile=field_kind(ListRow, "ttl_type", U16)),
    mutant("list-kinds-swapped", "LIST tells counters as 01 and buffers as 00.",
          "LIST-6", profiles=("7.3.2",),
          handlers=_row(List, lambda row, ask: changed(row, key_type=1 - row.key_type))),
    mutant("list-kinds-from-1", "LIST tells counters as 01 and buffers as 02.",
          "LIST-6", profiles=("7.3.2",),
          handlers=_row(List, lambda row, ask: changed(row, key_type=row.key_type + 1))),
    mutant("list-ttl-type-always-seconds", "LIST tells every TTL type as seconds.",
          "LIST-7", handlers=_row(List, lambda row, ask: changed(row, ttl_type=TTLType.SECONDS))),
    mutant("list-ttl-type-from-0", "LIST counts the TTL types from 0.",
          "LIST-7", handlers=_row(List, lambda row, ask: changed(row, ttl_type=(row.ttl_type - 1) & 0xFF))),
    mutant("list-ttl-type-of-buffers-forgotten", "LIST tells the TTL type of every buffer as hours.",
          "LIST-7",
          handlers=_row(List, lambda row, ask: changed(row, ttl_type=TTLType.HOURS) if row.key_type else row)),
    mutant("list-kind-behind-ttl-type", "LIST tells the TTL type before the key type.",
          "LIST-7", "LIST-6",
          handlers=_row(List, lambda row, ask: changed(row, ttl_type=row.key_type, key_type=row.ttl_type))),
    mutant("list-time-point-stands", "The time point that LIST tells of a record never changes.",
          "LIST-8", state=FirstSeen,
          handlers=_row(List, _first_time_point)),
    mutant("list-time-point-never-earlier", "The time point that LIST tells grows but never shrinks.",
          "LIST-8", state=FirstSeen,
          handlers=_row(List, _latest_time_point)),
    mutant("list-time-point-drifts", "The time point that LIST tells moves on with time.",
          "LIST-8", handlers=_row(List, lambda row, ask: changed(row, time_point=row.time_point + ask.now))),
    mutant("list-time-point-big-endian", "The time point in a LIST row is big-endian.",
          "LIST-8", "FRAMING-1",
          handlers=_row(List, lambda row, ask: changed(row, time_point=swapped(row.time_point, 8)))),
    mutant("list-bytes-used-big-endian", "Bytes used in a LIST row is big-endian.",
          "LIST-10", "LIST-11", "FRAMING-1", variants=WIDE,
          handlers=_bytes_used(lambda used, row, ask: swapped(used, ask.state.value_size))),
    mutant("list-bytes-used-low-byte", "LIST tells only the low byte of bytes used.",
          "LIST-10", "LIST-11", profiles=("7.3.2",),
          variants=WIDE,
          handlers=_bytes_used(lambda used, row, ask: used & 0xFF)),
    mutant("list-counter-uses-8-bytes", "LIST tells 8 bytes used for a counter at every width.",
          "LIST-11", variants=("uint8", "uint16", "uint32"),
          handlers=_of_counters(lambda record, ask: 8)),
    mutant("list-counter-uses-its-quota", "LIST tells the quota of a counter as the bytes it uses.",
          "LIST-11", handlers=_of_counters(lambda record, ask: record.quota)),
    mutant("list-buffer-uses-its-key-too", "LIST counts the key among the bytes that a buffer uses.",
          "LIST-11", handlers=_of_buffers(lambda record: len(record.value) + len(record.key))),
    mutant("list-buffer-uses-even-bytes", "LIST rounds the bytes that a buffer uses up to an even number.",
          "LIST-11", "LIST-10", handlers=_of_buffers(lambda record: len(record.value) + len(record.value) % 2)),
    mutant("list-buffer-uses-7-bits", "LIST tells the bytes that a buffer uses without their bit 7.",
          "LIST-11", "LIST-10", handlers=_of_buffers(lambda record: len(record.value) & ~0x80)),
)
_STATS = (
    mutant("stats-row-depends-on-width", "Total writes in a STATS row is N bytes.",
          "STATS-4", "STATS-9", variants=("uint16", "uint32"),
          profile=field_kind(StatsRow, "total_writes", VALUE)),
    mutant("stats-reads-and-writes-exchanged", "STATS tells writes where reads belong, per minute and in total.",
          *INTEGERS, handlers=_exchanged(FIELDS[:2], FIELDS[2:])),
    mutant("stats-totals-exchanged", "STATS tells the total of writes before that of reads.",
          *INTEGERS[2:], handlers=_exchanged(FIELDS[2:])),
    mutant("stats-minute-exchanged", "STATS tells the writes of the last minute before its reads.",
          *INTEGERS[:2], handlers=_exchanged(FIELDS[:2])),
    mutant("stats-totals-first", "STATS tells the totals before the last minute.",
          *INTEGERS, handlers=_exchanged(FIELDS[::2], FIELDS[1::2])),
    mutant("stats-big-endian", "The integers of a STATS row are big-endian.",
          *INTEGERS, "FRAMING-1",
          handlers=_row(
              Stats, lambda row, ask: changed(row, **{one: swapped(getattr(row, one), 8) for one in FIELDS}))),
    mutant("stats-not-cleared", "The integers of STATS are left over memory until the first minute is over.",
          *INTEGERS, "METRICS-9", handlers=_row(Stats, lambda row, ask: row if ask.state.minutes.index else changed(
              row, **{one: 0xA5A5A5A5A5A5 for one in FIELDS}))),
    mutant("stats-writes-of-the-minute-not-cleared", "STATS tells memory left over as the writes of the minute.",
          "STATS-7", "METRICS-9", handlers=_row(Stats, lambda row, ask: changed(row, writes_per_minute=0xA5A5A5))),
    mutant("stats-total-of-writes-is-of-reads", "STATS tells the total of reads as that of writes, too.",
          "STATS-9", "METRICS-9", handlers=_row(Stats, lambda row, ask: changed(row, total_writes=row.total_reads))),
    mutant("stats-totals-not-those-of-stat", "The totals of STATS move at another time than those of STAT.",
          "METRICS-9", handlers=with_handler(Stats, _with_other_totals)),
    mutant("stats-counts-minutes-only", "STATS tells what happened in the last minute as totals, too.",
          "STATS-8", "STATS-9", "METRICS-9", handlers=_row(Stats, lambda row, ask: changed(
              row, total_reads=row.reads_per_minute, total_writes=row.writes_per_minute))),
)
# fmt: on
MUTANTS = _LIST + _STATS
