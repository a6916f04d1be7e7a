"""Mutants of LIST, STATS and STAT."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from wireproof.mutants.edits import Edit, before, edit, first
from wireproof.mutants.server import Ask, HandlerPatch, Kinds, both, changed, field_kind, with_answer
from wireproof.mutants.throttr.server.mutant import ServerMutant, mutant
from wireproof.mutants.throttr.server.patches import (
    V732,
    WIDE,
    eating_again,
    showing,
    stored_by_others,
    with_found,
    with_rows,
)
from wireproof.protocols.fields import U16, U32, Blob, Repeated
from wireproof.protocols.messages import Request
from wireproof.protocols.throttr import TTLType
from wireproof.protocols.throttr.replies import ListFragment, ListReply, ListRow, StatsFragment, StatsReply, StatsRow
from wireproof.protocols.throttr.requests import Insert, List, Purge, Query, Stat, Stats
from wireproof.reference_server.throttr.records import Buffer, Counter
from wireproof.reference_server.throttr.state import ACCEPTED, DENIED

__all__ = ["MUTANTS"]

LISTINGS: Mapping[type[Request], tuple[Any, Any, Any]] = {
    List: (ListReply, ListFragment, ListRow),
    Stats: (StatsReply, StatsFragment, StatsRow),
}
CLAUSES: Mapping[type[Request], Mapping[str, int]] = {
    List: {"type": 1, "bare": 2, "led": 3, "row": 4, "size": 5, "names": 12, "all": 13, "purged": 14, "empty": 16},
    Stats: {"type": 1, "bare": 2, "led": 3, "row": 4, "size": 5, "names": 10, "all": 11, "purged": 11, "empty": 13},
}
FIELDS = ("reads_per_minute", "writes_per_minute", "total_reads", "total_writes")


def _renamed(key: Callable[[bytes], bytes]) -> Callable[[list[Any], Ask], list[Any]]:
    return lambda rows, ask: [changed(row, key=key(row.key)) for row in rows]


def _shifted(rows: list[Any], key: Callable[[Any], Any]) -> list[Any]:
    """Give each row the name of the row at its place when sorted by `key`."""
    return [changed(row, key=other.key) for row, other in zip(rows, sorted(rows, key=key), strict=True)]


def _without(kind: type) -> Callable[[list[Any], Ask], list[Any]]:
    return lambda rows, ask: [row for row in rows if not isinstance(ask.state.store.records.get(row.key), kind)]


def _noting(kinds: Kinds, answer: bytes) -> HandlerPatch:
    """Note the keys of requests that are answered so."""

    def change(right: bytes, ask: Ask) -> bytes:
        vars(ask.state).setdefault("noted", {}).update({ask.request.key: None} if right == answer else {})
        return right

    return with_answer(kinds, change)


def _noted(ask: Ask) -> Collection[bytes]:
    return vars(ask.state).get("noted", ())  # type: ignore[no-any-return]


def _is_own(key: bytes, ask: Ask) -> bool:
    """Say whether the asking connection stored the record; after `stored_by_others`."""
    return vars(ask.state).get("stored", {}).get(key, (None,))[0] is ask.session


def _row(kind: type, change: Callable[[Any, Ask], Any]) -> HandlerPatch:
    """Answer `change(row, ask)` for each row."""
    return with_rows(kind, lambda rows, ask: [change(row, ask) for row in rows])


def _used(used: str) -> Edit:
    """Let LIST show as bytes used what is an expression of used, record and value_size."""
    return before("Listings._list_rows", "size = len(key)", f"used = {used}")


# fmt: off
class _Listing:
    """The mutants of LIST or STATS."""

    def __init__(self, kind: Any) -> None:
        self.kind, self.row = kind, LISTINGS[kind][2]

    def one(self, what: str, description: str, clauses: str, **patches: Any) -> ServerMutant:
        """Return one mutant; `clauses` are keys of `CLAUSES`, or clauses of other groups."""
        name = self.kind.NAME
        named = (one if "-" in one else f"{name}-{CLAUSES[self.kind][one]}" for one in clauses.split())
        return mutant(f"{name.lower()}-{what}", description, " ".join(named), **patches)

    def rows(self, change: Callable[[list[Any], Ask], Iterable[Any]], *noting: HandlerPatch) -> Mapping[str, Any]:
        """Return the patch that answers `change(rows, ask)`."""
        return {"handlers": both(*noting, with_rows(self.kind, change))}

    def ghost(self, key: bytes) -> Any:
        """Return the row of a record that is not there."""
        return self.row(key, *[0] * (len(self.row.__struct_fields__) - 1))

    def with_noted(self, rows: list[Any], ask: Ask) -> list[Any]:
        """Return the rows with one for each key that was noted and is not among them."""
        return rows + [self.ghost(key) for key in _noted(ask) if key not in {row.key for row in rows}]

    def layouts(self) -> Iterator[ServerMutant]:
        """Yield what goes wrong in how rows and names are written."""
        reply, fragment, row = LISTINGS[self.kind]
        yield self.one("eats-a-byte", f"{self.kind.NAME} takes the byte after it when it comes again in one segment.",
                  "type FRAMING-3 ROBUSTNESS-7", handlers=eating_again(self.kind))
        for shape in ("bare", "led"):
            yield self.one(f"count-of-4-bytes-{shape}", f"The fragment count of {self.kind.NAME} is 4 bytes.", shape,
                      profile=field_kind(reply, "fragments", Repeated(fragment, U32)))
        yield self.one("key-size-of-2-bytes", f"The key size of a {self.kind.NAME} row is 2 bytes.", "row size",
                  profile=field_kind(row, "key", Blob(U16)))
        yield self.one("names-reversed", f"{self.kind.NAME} writes the names from the last row to the first.", "names FRAGMENT-7",
                  **self.rows(lambda found, ask: _shifted(found, lambda one: -found.index(one))))
        yield self.one("names-sorted", f"{self.kind.NAME} writes the names in their own order, not in that of the rows.",
                  "names FRAGMENT-7", **self.rows(lambda found, ask: _shifted(found, lambda one: one.key)))
        yield self.one("names-cut-at-100", f"{self.kind.NAME} names at most 100 bytes of a key.", "size names all",
                  **self.rows(_renamed(lambda key: key[:100])))
        yield self.one("names-padded-to-4", f"{self.kind.NAME} pads a key below 4 bytes with zeros and counts them.", "size names all",
                  **self.rows(_renamed(lambda key: key.ljust(4, b"\0"))))
        yield self.one("names-stop-at-a-zero-byte", f"{self.kind.NAME} names a key up to its first zero byte.", "names all",
                  **self.rows(_renamed(lambda key: key.partition(b"\0")[0])))
        yield self.one("names-in-lower-case", f"{self.kind.NAME} names keys in lower case.", "all names", **self.rows(_renamed(bytes.lower)))
        yield self.one("names-in-printable-ascii", f"{self.kind.NAME} names a key with ? for all but printable ASCII.", "names all",
                  **self.rows(_renamed(lambda key: bytes(byte if 0x20 < byte < 0x7F else 0x3F for byte in key))))

    def records(self) -> Iterator[ServerMutant]:
        """Yield what goes wrong in which records are named."""
        yield self.one("without-buffers", f"{self.kind.NAME} leaves buffers out.", "all", **self.rows(_without(Buffer)))
        yield self.one("without-counters", f"{self.kind.NAME} leaves counters out.", "all", **self.rows(_without(Counter)))
        yield self.one("without-the-newest", f"{self.kind.NAME} leaves the newest of several records out.", "all",
                  **self.rows(lambda found, ask: found[:-1] if len(found) > 1 else found))
        yield self.one("loses-what-is-not-ascending", f"{self.kind.NAME} loses a record whose key sorts before that of the one before.", "all",
                  **self.rows(lambda found, ask: [one for place, one in enumerate(found) if not place or found[place - 1].key < one.key]))
        yield self.one("at-most-20", f"{self.kind.NAME} has at most 20 rows.", "all FRAGMENT-8", **self.rows(lambda found, ask: found[:20]))
        yield self.one("first-row-twice", f"{self.kind.NAME} of more than one record begins with one row twice.", "all",
                  **self.rows(lambda found, ask: found[:1] + found if len(found) > 1 else found))
        yield self.one("of-the-asking-connection", f"{self.kind.NAME} names only what the asking connection stored.", "all RECORD-7",
                  **self.rows(lambda found, ask: [one for one in found if _is_own(one.key, ask)], stored_by_others((), b"")))
        yield self.one("of-keys-asked-for", f"{self.kind.NAME} names keys that QUERY or STAT asked for in vain.", "all",
                  **self.rows(self.with_noted, _noting((Query, Stat), DENIED)))
        yield self.one("of-refused-inserts", f"{self.kind.NAME} has a second row for a key that INSERT was refused on.", "all RECORD-2",
                  **self.rows(lambda found, ask: found + [one for one in found if one.key in _noted(ask)], _noting(Insert, DENIED)))
        yield self.one("of-purged-records", f"{self.kind.NAME} still names what was purged.", "purged empty",
                  **self.rows(self.with_noted, _noting(Purge, ACCEPTED)))
        yield self.one("empty-has-a-row", f"{self.kind.NAME} of no records has one row.", "empty FRAGMENT-14",
                  **self.rows(lambda found, ask: found or [self.ghost(b"ghost")]))
# fmt: on


MUTANTS: tuple[ServerMutant, ...] = (
    *(one for kind in (List, Stats) for one in (*_Listing(kind).layouts(), *_Listing(kind).records())),
    mutant("list-kinds-swapped", "LIST reports counters as 01 and buffers as 00.", "LIST-6", profiles=V732,
           handlers=_row(List, lambda row, ask: changed(row, key_type=1 - row.key_type))),
    mutant("list-kinds-from-1", "LIST reports counters as 01 and buffers as 02.", "LIST-6", profiles=V732,
           handlers=_row(List, lambda row, ask: changed(row, key_type=row.key_type + 1))),
    mutant("list-ttl-type-always-seconds", "LIST reports every TTL type as seconds.", "LIST-7",
           handlers=_row(List, lambda row, ask: changed(row, ttl_type=TTLType.SECONDS))),
    mutant("list-ttl-type-of-buffers-forgotten", "LIST reports the TTL type of every buffer as hours.", "LIST-7",
           handlers=_row(List, lambda row, ask: changed(row, ttl_type=TTLType.HOURS) if row.key_type else row)),
    mutant("list-time-point-drifts", "The time point that LIST reports moves on with time.", "LIST-8",
           handlers=_row(List, lambda row, ask: changed(row, time_point=row.time_point + ask.now))),
    mutant("list-time-point-of-the-first-list", "The time point that LIST reports stays what it was first reported as.", "LIST-8",
           handlers=_row(List, lambda row, ask: changed(row, time_point=vars(ask.state).setdefault("points", {}).setdefault(
               row.key, row.time_point)))),
    mutant("list-bytes-used-low-byte", "LIST reports only the low byte of bytes used.", "LIST-10 LIST-11",
           _used("used & 0xFF"), profiles=V732, variants=WIDE),
    mutant("list-counter-uses-8-bytes", "LIST reports 8 bytes used for a counter at every width.", "LIST-11",
           _used("used if record.key_type else 8"), variants=("uint8", "uint16", "uint32")),
    mutant("list-buffer-uses-even-bytes", "LIST rounds the bytes that a buffer uses up to an even number.",
           "LIST-11 LIST-10", _used("used + (record.key_type and used % 2)")),
    mutant("list-bytes-of-the-first-value", "LIST reports the bytes that a buffer used before it was set again.", "LIST-11",
           first("Store.overwrite", "vars(self).setdefault('sizes', {}).setdefault(record.key, len(record.value))"),
           _used("vars(self._state.store).get('sizes', {}).get(record.key, used)"), profiles=V732),
    mutant("list-buffer-uses-7-bits", "LIST reports the bytes that a buffer uses without their bit 7.", "LIST-11 LIST-10",
           _used("used & ~0x80 if record.key_type else used")),
    mutant("stats-not-cleared", "The integers of STATS are left over memory until the first minute is over.",
           "STATS-6 STATS-7 STATS-8 STATS-9 METRICS-9",
           handlers=_row(Stats,
                         lambda row, ask: row if ask.state.minutes.index else changed(row, **{one: 182130867283365 for one in FIELDS}))),
    mutant("stats-totals-not-those-of-stat", "The totals of STATS move at another time than those of STAT.",
           "METRICS-9", edit("Listings._stats_rows", "live = self._state", "live = not self._state")),
    mutant("stats-counts-minutes-only", "STATS reports what happened in the last minute as totals, too.",
           "STATS-8 STATS-9 METRICS-9",
           handlers=_row(Stats,
                         lambda row, ask: changed(row, total_reads=row.reads_per_minute, total_writes=row.writes_per_minute))),
    mutant("stat-key-size-signed", "STAT takes a key size above 127 for a negative one: no such key.", "STAT-2",
           first("RecordRequests.stat", "if len(key) > 127: return DENIED")),
    mutant("stat-key-below-3-missed", "STAT takes a key of one byte or two for none.", "STAT-2",
           first("RecordRequests.stat", "key = key if len(key) > 2 else b''")),
    mutant("stat-key-size-reserved", "STAT takes the key sizes 7f and ff for something else: no such key.", "STAT-2",
           first("RecordRequests.stat", "if len(key) in (127, 255): return DENIED")),
    mutant("stat-key-up-to-a-zero-byte", "STAT reads a key up to its first zero byte.", "STAT-3 RECORD-4",
           first("RecordRequests.stat", r"key = key.partition(b'\0')[0]")),
    mutant("stat-key-trimmed", "STAT leaves blanks and line ends off a key.", "STAT-3 RECORD-4",
           first("RecordRequests.stat", "key = key.strip()")),
    mutant("stat-eats-a-byte", "STAT takes the byte after its key when it comes again in one segment.",
           "STAT-3 FRAMING-3 ROBUSTNESS-7", handlers=eating_again(Stat)),
    mutant("stat-minute-exchanged", "STAT reports the writes of the last minute before its reads.",
           "STAT-5 STAT-6 METRICS-9",
           handlers=with_found(Stat,
                               lambda reply, ask: changed(reply, reads_per_minute=reply.writes_per_minute, writes_per_minute=reply.reads_per_minute))),
    mutant("stat-of-own-records", "STAT finds only what the asking connection stored.", "STAT-9 RECORD-7",
           handlers=stored_by_others(Stat, DENIED)),
    mutant("stat-by-prefix", "STAT of no record answers for one whose key begins so.", "STAT-10 RECORD-3",
           before("RecordRequests.stat", "return DENIED",
                  "if any(one.key.startswith(key) for one in self._store.live(self._state.now)): return self._pack_stat(0, 0, 0, 0)")),
    mutant("stat-behind-stat-without-status", "STAT right after another STAT is answered without its status byte.",
           "STAT-4",
           edit("_handler.handle", "return call(*msgspec.structs.astuple(request))",
                "answer, last = call(*msgspec.structs.astuple(request)), vars(session).get('last')",
                "if request.NAME != 'STAT': return answer",
                "session.last, at = (session._data, session._at), session._at - len(request.key) - 2",
                "return answer[1:] or answer if last and last[0] is session._data and last[1] == at else answer")),
    mutant("stat-writes-of-the-minute-not-cleared", "STAT reports unused memory as the writes of the minute.",
           "STAT-6 METRICS-9", handlers=showing(Stat, writes_per_minute=lambda writes, ask: 0xA5A5A5)),
    mutant("stat-makes-records-brief", "STAT leaves its record one second to live.", "STAT-11",
           before("RecordRequests.stat", "if self._touches:",
                  "self._store.move(record, self._state.now + 1_000_000_000)")),
)  # fmt: skip
