"""Mutants of LIST, STATS and STAT."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from wireproof.mutants.throttr.server.mutant import HandlerPatch, ServerMutant, mutant
from wireproof.mutants.throttr.server.patches import (
    Ask,
    both,
    changed,
    field_kind,
    lead,
    showing,
    with_answer,
    with_found,
    with_handler,
    with_reply,
    with_request,
    with_rows,
)
from wireproof.mutants.throttr.server.shared import Remembering, eating_again, keeping, own
from wireproof.protocols.fields import U16, U32, Blob, Repeated
from wireproof.protocols.messages import Request
from wireproof.protocols.throttr import TTLType
from wireproof.protocols.throttr.replies import (
    ListFragment,
    ListReply,
    ListRow,
    StatReply,
    StatsFragment,
    StatsReply,
    StatsRow,
    Status,
)
from wireproof.protocols.throttr.requests import Insert, List, Purge, Query, Set, Stat, Stats
from wireproof.reference_server.throttr.records import Buffer, Counter, Record
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import ACCEPTED, DENIED, Handler, State

__all__ = ["MUTANTS"]

LISTINGS: Mapping[type[Request], tuple[Any, Any, Any]] = {
    List: (ListReply, ListFragment, ListRow),
    Stats: (StatsReply, StatsFragment, StatsRow),
}
CLAUSES: Mapping[type[Request], Mapping[str, int]] = {
    List: {"type": 1, "bare": 2, "led": 3, "row": 4, "size": 5, "names": 12, "all": 13, "purged": 14, "empty": 16},
    Stats: {"type": 1, "bare": 2, "led": 3, "row": 4, "size": 5, "names": 10, "all": 11, "purged": 11, "empty": 13},
}


def _shifted(rows: list[Any], key: Callable[[Any], Any]) -> Iterable[Any]:
    """Give each row the name of the row at its place when sorted by `key`."""
    names = [row.key for row in sorted(rows, key=key)]
    return [changed(row, key=name) for row, name in zip(rows, names, strict=True)]


def _cut(size: int) -> Callable[[list[Any], Ask], Iterable[Any]]:
    return lambda rows, ask: [changed(row, key=row.key[:size]) for row in rows]


def _without(*kinds: type) -> Callable[[list[Any], Ask], Iterable[Any]]:
    return lambda rows, ask: [row for row in rows if not isinstance(ask.state.store.records.get(row.key), kinds)]


def _and_rows_of(notes: str, row: Any) -> Callable[[list[Any], Ask], Iterable[Any]]:
    """Add a row like `row` for each noted key that has none."""

    def change(rows: list[Any], ask: Ask) -> Iterable[Any]:
        named = {row.key for row in rows}
        return rows + [changed(row, key=key) for key in getattr(ask.state, notes) if key not in named]

    return change


def _doubled(rows: list[Any], ask: Ask) -> Iterable[Any]:
    """Add each row once more whose key was noted."""
    return rows + [row for row in rows if row.key in ask.state.asked]  # type: ignore[attr-defined]


def _own(rows: list[Any], ask: Ask) -> Iterable[Any]:
    return [row for row in rows if own(row.key, ask.session, ask.state)]


def _ascending(rows: list[Any], ask: Ask) -> Iterable[Any]:
    """Leave out what sorts before the row before it."""
    return [row for place, row in enumerate(rows) if not place or rows[place - 1].key < row.key]


def _printable(key: bytes) -> bytes:
    return bytes(byte if 0x20 < byte < 0x7F else 0x3F for byte in key)


def _one(kind: Any, what: str, description: str, *clauses: str, **patches: Any) -> ServerMutant:
    named = (clause if "-" in clause else f"{kind.NAME}-{CLAUSES[kind][clause]}" for clause in clauses)
    return mutant(f"{kind.NAME.lower()}-{what}", description, *named, **patches)


def _of_layout(kind: Any) -> Iterable[ServerMutant]:
    """How it is asked and laid out."""
    one = partial(_one, kind)
    reply, fragment, row = LISTINGS[kind]
    return (
        one("by-another-type-byte", f"{kind.NAME} is known by another type byte.",
            "type", "bare", "led", profile=lead(kind, 0x0A if kind is Stats else 0x27)),
        one("eats-a-byte", f"{kind.NAME} takes the byte behind it when it comes again in one segment.",
            "type", "FRAMING-3", "ROBUSTNESS-7", handlers=eating_again(kind)),
        one("with-a-status", f"The answer to {kind.NAME} begins with a status byte.",
            "bare", "FRAMING-9", profile=lead(reply, 1)),
        one("without-status", f"The answer to {kind.NAME} has no status byte.",
            "led", "FRAMING-10", profile=lead(reply)),
        *(
            one(f"count-of-4-bytes-{shape}", f"The fragment count of {kind.NAME} is 4 bytes.",
                shape, profile=field_kind(reply, "fragments", Repeated(fragment, U32)))
            for shape in ("bare", "led")
        ),
        one("key-size-of-2-bytes", f"The key size of a {kind.NAME} row is 2 bytes.",
            "row", "size", profile=field_kind(row, "key", Blob(U16))),
    )  # fmt: skip


def _of_names(kind: Any) -> Iterable[ServerMutant]:
    """The names behind the rows."""
    one = partial(_one, kind)
    rows = partial(with_rows, kind)
    return (
        one("names-reversed", f"{kind.NAME} writes the names from the last row to the first.",
            "names", "FRAGMENT-7", handlers=rows(lambda found, ask: _shifted(found, lambda one: -found.index(one)))),
        one("names-sorted", f"{kind.NAME} writes the names in their own order, not in that of the rows.",
            "names", "FRAGMENT-7", handlers=rows(lambda found, ask: _shifted(found, lambda one: one.key))),
        one("names-cut-at-100", f"{kind.NAME} names at most 100 bytes of a key.",
            "size", "names", "all", handlers=rows(_cut(100))),
        one("names-padded-to-4", f"{kind.NAME} pads a key below 4 bytes with zeros and counts them.",
            "size", "names", "all",
            handlers=rows(lambda found, ask: [changed(one, key=one.key.ljust(4, b"\0")) for one in found])),
        one("names-cut-at-254", f"{kind.NAME} names at most 254 bytes of a key.",
            "size", "names", "all", handlers=rows(_cut(254))),
        one("names-stop-at-a-zero-byte", f"{kind.NAME} names a key up to its first zero byte.",
            "names", "all",
            handlers=rows(lambda found, ask: [changed(one, key=one.key.partition(b"\0")[0]) for one in found])),
        one("names-in-lower-case", f"{kind.NAME} names keys in lower case.",
            "all", "names", handlers=rows(lambda found, ask: [changed(one, key=one.key.lower()) for one in found])),
        one("names-in-printable-ascii", f"{kind.NAME} names a key with ? for all but printable ASCII.",
            "names", "all",
            handlers=rows(lambda found, ask: [changed(one, key=_printable(one.key)) for one in found])),
    )  # fmt: skip


def _of_rows(kind: Any) -> Iterable[ServerMutant]:
    """Which rows there are."""
    one = partial(_one, kind)
    rows = partial(with_rows, kind)
    return (
        one("without-buffers", f"{kind.NAME} leaves buffers out.",
            "all", handlers=rows(_without(Buffer))),
        one("without-counters", f"{kind.NAME} leaves counters out.",
            "all", handlers=rows(_without(Counter))),
        one("without-the-newest", f"{kind.NAME} leaves the newest of several records out.",
            "all", handlers=rows(lambda found, ask: found[:-1] if len(found) > 1 else found)),
        one("loses-what-is-not-ascending", f"{kind.NAME} loses a record whose key sorts before that of the one before.",
            "all", handlers=rows(_ascending)),
        one("at-most-20", f"{kind.NAME} has at most 20 rows.",
            "all", "FRAGMENT-8", handlers=rows(lambda found, ask: found[:20])),
        one("first-row-twice", f"{kind.NAME} of more than one record begins with one row twice.",
            "all", handlers=rows(lambda found, ask: found[:1] + found if len(found) > 1 else found)),
    )  # fmt: skip


def _of_ghosts(kind: Any) -> Iterable[ServerMutant]:
    """Rows of what is not there, and none of what is."""
    one = partial(_one, kind)
    rows = partial(with_rows, kind)
    row = LISTINGS[kind][2]
    ghost = row(b"ghost", *[0] * (len(row.__struct_fields__) - 1))
    return (
        one("of-the-asking-connection", f"{kind.NAME} names only what the asking connection stored.",
            "all", "RECORD-7", state=Remembering,
            handlers=both(keeping("owners", (Insert, Set), ACCEPTED), rows(_own))),
        one("of-keys-asked-for", f"{kind.NAME} names keys that QUERY or STAT asked for in vain.",
            "all", state=Remembering,
            handlers=both(keeping("asked", (Query, Stat), DENIED), rows(_and_rows_of("asked", ghost)))),
        one("of-refused-inserts", f"{kind.NAME} has a second row for a key that INSERT was refused on.",
            "all", "RECORD-2", state=Remembering,
            handlers=both(keeping("asked", (Insert,), DENIED), rows(_doubled))),
        one("of-purged-records", f"{kind.NAME} still names what was purged.",
            "purged", "empty", state=Remembering,
            handlers=both(keeping("gone", (Purge,), ACCEPTED), rows(_and_rows_of("gone", ghost)))),
        one("empty-has-a-row", f"{kind.NAME} of no records has one row.",
            "empty", "FRAGMENT-14", handlers=rows(lambda found, ask: found or [ghost])),
    )  # fmt: skip


LISTINGS_MUTANTS = tuple(
    one for kind in (List, Stats) for group in (_of_layout, _of_names, _of_rows, _of_ghosts) for one in group(kind)
)


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
_STATS = (
    mutant("stats-not-cleared", "The integers of STATS are left over memory until the first minute is over.", *INTEGERS, "METRICS-9",
           handlers=_row(Stats, lambda row, ask: row if ask.state.minutes.index else changed(row, **{one: 182130867283365 for one in FIELDS}))),
    mutant("stats-totals-not-those-of-stat", "The totals of STATS move at another time than those of STAT.", "METRICS-9",
           handlers=with_handler(Stats, _with_other_totals)),
    mutant("stats-counts-minutes-only", "STATS tells what happened in the last minute as totals, too.", "STATS-8", "STATS-9", "METRICS-9",
           handlers=_row(Stats, lambda row, ask: changed(row, total_reads=row.reads_per_minute, total_writes=row.writes_per_minute))),
)
# fmt: on
ROWS_MUTANTS = _LIST + _STATS


STAT_INTEGERS = ("STAT-5", "STAT-6", "STAT-7", "STAT-8")
NOTHING = StatReply(0, 0, 0, 0)


def _stat_exchanged(*pairs: tuple[str, str]) -> HandlerPatch:
    """Answer with the fields of each pair in each other's place."""

    def change(reply: Any, ask: Ask) -> Any:
        return changed(reply, **{one: getattr(reply, other) for pair in pairs for one, other in (pair, pair[::-1])})

    return with_found(Stat, change)


def _key(change: Callable[[bytes], bytes]) -> HandlerPatch:
    """Look the record up under `change(key)`."""
    return with_request(Stat, lambda request, ask: changed(request, key=change(request.key)))


def _refusing(kind: type[Record]) -> HandlerPatch:
    """Answer 00 for records of one kind."""

    def change(answer: bytes, ask: Ask) -> bytes:
        return DENIED if isinstance(ask.state.store.records.get(ask.request.key), kind) else answer

    return with_answer(Stat, change)


def _touching(touch: Callable[[Any, Ask], object]) -> HandlerPatch:
    """Do `touch(record, ask)` to a record that was found."""

    def change(answer: bytes, ask: Ask) -> bytes:
        if answer != DENIED:
            touch(ask.state.store.records[ask.request.key], ask)
        return answer

    return with_answer(Stat, change)


def _if_own(answer: bytes, ask: Ask) -> bytes:
    return answer if own(ask.request.key, ask.session, ask.state) else DENIED


def _when_missing(is_found: Callable[[Ask], bool]) -> HandlerPatch:
    """Answer four zeros for no record where `is_found`."""
    return with_reply(Stat, lambda reply, ask: NOTHING if isinstance(reply, Status) and is_found(ask) else reply)


def _begins_so(ask: Ask) -> bool:
    return any(record.key.startswith(ask.request.key) for record in ask.state.store.live(ask.now))


class Noting(ThrottrSession):
    """A connection that knows where its last STAT ended."""

    last: tuple[bytes, int] = b"", 0


def _behind_another(answer: bytes, ask: Ask) -> bytes:
    session = ask.session
    assert isinstance(session, Noting)
    data, stop = session.last
    session.last = session._data, session._at
    begin = session._at - len(ask.request.key) - 2
    return answer[1:] or answer if data is session._data and stop == begin else answer


# fmt: off
STAT_MUTANTS = (
    mutant("stat-key-size-signed", "STAT takes a key size above 127 for a negative one: no such key.", "STAT-2",
           handlers=with_answer(Stat, lambda answer, ask: DENIED if len(ask.request.key) > 127 else answer)),
    mutant("stat-key-cut-at-254", "STAT reads 254 bytes of a key of 255.", "STAT-2", "STAT-3", handlers=_key(lambda key: key[:254])),
    mutant("stat-key-below-3-missed", "STAT takes a key of one byte or two for none.", "STAT-2",
           handlers=_key(lambda key: key if len(key) > 2 else b"")),
    mutant("stat-key-size-reserved", "STAT takes the key sizes 7f and ff for something else: no such key.", "STAT-2",
           handlers=with_answer(Stat, lambda answer, ask: DENIED if len(ask.request.key) in (127, 255) else answer)),
    mutant("stat-key-up-to-a-zero-byte", "STAT reads a key up to its first zero byte.", "STAT-3", "RECORD-4",
           handlers=_key(lambda key: key.partition(b"\0")[0])),
    mutant("stat-key-trimmed", "STAT leaves blanks and line ends off a key.", "STAT-3", "RECORD-4", handlers=_key(bytes.strip)),
    mutant("stat-eats-a-byte", "STAT takes the byte behind its key when it comes again in one segment.", "STAT-3", "FRAMING-3", "ROBUSTNESS-7",
           handlers=eating_again(Stat)),
    mutant("stat-minute-exchanged", "STAT tells the writes of the last minute before its reads.", *STAT_INTEGERS[:2], "METRICS-9",
           handlers=_stat_exchanged(FIELDS[:2])),
    mutant("stat-of-own-records", "STAT finds only what the asking connection stored.", "STAT-9", "RECORD-7", state=Remembering,
           handlers=both(keeping("owners", (Insert, Set), ACCEPTED), with_answer(Stat, _if_own))),
    mutant("stat-by-prefix", "STAT of no record answers for one whose key begins so.", "STAT-10", "RECORD-3", handlers=_when_missing(_begins_so)),
    mutant("stat-behind-stat-without-status", "STAT right behind another STAT is answered without its status byte.", "STAT-4", session=Noting,
           handlers=with_answer(Stat, _behind_another)),
    mutant("stat-writes-of-the-minute-not-cleared", "STAT tells memory left over as the writes of the minute.", "STAT-6", "METRICS-9",
           handlers=showing(Stat, writes_per_minute=lambda writes, ask: 0xA5A5A5)),
    mutant("stat-makes-records-brief", "STAT leaves its record one second to live.", "STAT-11",
           handlers=_touching(lambda record, ask: ask.state.store.move(record, ask.now + 1_000_000_000))),
)
# fmt: on


MUTANTS = (
    *LISTINGS_MUTANTS,
    *ROWS_MUTANTS,
    *STAT_MUTANTS,
)
