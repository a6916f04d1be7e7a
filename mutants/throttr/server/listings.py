"""Faults of both answers that name every record: LIST (rows of its own in `rows`) and STATS."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from wireproof.mutants.throttr.server.memory import Remembering, eating_again, keeping, own
from wireproof.mutants.throttr.server.mutant import ServerMutant, mutant
from wireproof.mutants.throttr.server.patches import Ask, both, changed, field_kind, lead, with_rows
from wireproof.protocols.fields import U16, U32, Blob, Repeated
from wireproof.protocols.messages import Request
from wireproof.protocols.throttr.replies import ListFragment, ListReply, ListRow, StatsFragment, StatsReply, StatsRow
from wireproof.protocols.throttr.requests import Insert, List, Purge, Query, Set, Stat, Stats
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


MUTANTS = tuple(
    one for kind in (List, Stats) for group in (_of_layout, _of_names, _of_rows, _of_ghosts) for one in group(kind)
)
