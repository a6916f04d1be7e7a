"""Faults of answers in several fragments: LIST, STATS, CONNECTIONS and CHANNELS. One fragment alone stays right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from wireproof.mutants.throttr.server.mutant import HandlerPatch, mutant
from wireproof.mutants.throttr.server.patches import (
    Ask,
    Kinds,
    both,
    changed,
    swapped,
    with_found,
    with_reply,
    with_rows,
)
from wireproof.protocols.throttr.replies import (
    ChannelsReply,
    ChannelsRow,
    ConnectionsReply,
    ListReply,
    ListRow,
    StatsReply,
    StatsRow,
)
from wireproof.protocols.throttr.requests import Channels, Connections, List, Stats

__all__ = ["MUTANTS"]

ALL: Kinds = (List, Stats, Connections, Channels)
RECORDS: Kinds = (List, Stats)
NAMED: Kinds = (List, Stats, Channels)
REPLIES = (ListReply, StatsReply, ConnectionsReply, ChannelsReply)
HEADER = 16


def _u64(value: int) -> bytes:
    return value.to_bytes(8, "little")


@dataclass(slots=True)
class _Part:
    """One fragment as it goes out."""

    number: int
    count: int
    heads: list[bytes]
    names: list[bytes]

    def header(self) -> bytes:
        return _u64(self.number) + _u64(self.count)

    def body(self) -> bytes:
        return b"".join(self.heads) + b"".join(self.names)

    def __bytes__(self) -> bytes:
        return self.header() + self.body()


def _parted(reply: Any, ask: Ask) -> tuple[bytes, list[_Part]]:
    """Return what the answer begins with, before its count, and its fragments."""
    codec, kind = ask.state.codec, type(reply)
    lead = codec.layout(kind).lead
    start = len(lead) + 8 + HEADER

    def row_bytes(fragment: Any, row: Any) -> tuple[bytes, bytes]:
        name = getattr(row, "key", getattr(row, "channel", b""))
        data = codec.encode(kind((changed(fragment, rows=(row,)),)))[start:]
        return data[: len(data) - len(name)], name

    parts = []
    for fragment in reply.fragments:
        rows = [row_bytes(fragment, row) for row in fragment.rows]
        parts.append(_Part(fragment.fragment, len(rows), [head for head, _ in rows], [name for _, name in rows]))
    return lead, parts


def _written(kinds: Kinds, write: Callable[[list[_Part]], bytes], least: int = 2) -> HandlerPatch:
    """Write the count and fragments of answers that have at least so many by `write`."""

    def on_reply(reply: Any, ask: Ask) -> Any:
        if not isinstance(reply, REPLIES) or len(reply.fragments) < least:
            return reply
        lead, parts = _parted(reply, ask)
        return lead + write(parts)

    return with_reply(kinds, on_reply)


def _edited(kinds: Kinds, edit: Callable[[list[_Part]], object], least: int = 2) -> HandlerPatch:
    """Let `edit` change the fragments of answers that have at least so many."""

    def write(parts: list[_Part]) -> bytes:
        edit(parts)
        return _u64(len(parts)) + b"".join(map(bytes, parts))

    return _written(kinds, write, least)


def _renumbered(number: Callable[[int, list[_Part]], int]) -> HandlerPatch:
    """Number each fragment `number(its number from 1, fragments)`."""

    def edit(parts: list[_Part]) -> None:
        for place, part in enumerate(parts, 1):
            part.number = number(place, parts)

    return _edited(ALL, edit)


def _exchange(parts: list[_Part]) -> None:
    for part in parts:
        part.number, part.count = part.count, part.number


def _lose_row(part: _Part, place: int) -> None:
    del part.heads[place], part.names[place]
    part.count -= 1


def _repeat_at_cut(parts: list[_Part]) -> None:
    """Begin each later fragment with the row that ends the one before."""
    for before, part in pairwise(parts):
        part.heads.insert(0, before.heads[-1])
        part.names.insert(0, before.names[-1])
        part.count += 1


def _lose_at_cut(parts: list[_Part]) -> None:
    for part in parts[1:]:
        _lose_row(part, 0)


def _count_all(parts: list[_Part]) -> None:
    total = sum(part.count for part in parts)
    for part in parts:
        part.count = total


def _reverse_later_names(reply: Any, ask: Ask) -> Any:
    """Give the rows of each fragment but the first the names of its rows in the opposite order."""
    parts = [reply.fragments[0]] if reply.fragments else []
    for part in reply.fragments[1:]:
        pairs = zip(part.rows, reversed(part.rows), strict=True)
        parts.append(changed(part, rows=tuple(changed(row, key=other.key) for row, other in pairs)))
    return changed(reply, fragments=tuple(parts))


def _terminate_names(parts: list[_Part]) -> None:
    for part in parts:
        part.names = [name + b"\0" for name in part.names]


def _uncount_last_row(parts: list[_Part]) -> None:
    parts[-1].count -= 1


def _limit(parts: list[_Part], rows: int) -> None:
    """Keep so many rows."""
    for part in parts:
        while part.count > max(rows, 0):
            _lose_row(part, -1)
        rows -= part.count


def _all_rows_first(parts: list[_Part]) -> bytes:
    rows = b"".join(part.header() + b"".join(part.heads) for part in parts)
    return _u64(len(parts)) + rows + b"".join(name for part in parts for name in part.names)


def _row_by_row(part: _Part) -> bytes:
    pairs = zip(part.heads, part.names, strict=True)
    return part.header() + b"".join(head + name for head, name in pairs)


def _with_count(parts: list[_Part], count: int) -> bytes:
    return _u64(count) + b"".join(map(bytes, parts))


def _ghost(kind: type[Any], row: Any) -> HandlerPatch:
    """Answer a row where there is none."""
    return with_rows(kind, lambda rows, ask: rows or [row])


# fmt: off
MUTANTS = (
    mutant("fragments-one-uncounted", "The count of several fragments leaves the last one out.",
          "FRAGMENT-1", handlers=_written(NAMED, lambda parts: _with_count(parts, len(parts) - 1))),
    mutant("fragments-end-with-a-zero", "A zero byte follows the last of several fragments.",
          "FRAGMENT-1", handlers=_written(NAMED, lambda parts: _with_count(parts, len(parts)) + b"\0")),
    mutant("fragments-names-at-the-end", "The names of all fragments stand behind the rows of all fragments.",
          "FRAGMENT-2", "FRAGMENT-7", "LIST-12", "STATS-10", handlers=_written(NAMED, _all_rows_first)),
    mutant("fragments-numbered-once", "Only the first of several fragments has a number.",
          "FRAGMENT-2", "FRAGMENT-3", handlers=_written(NAMED, lambda parts: _with_count(
              parts[:1], len(parts)) + b"".join(_u64(part.count) + part.body() for part in parts[1:]))),
    mutant("fragments-count-before-number", "The row count stands before the number of a fragment.",
          "FRAGMENT-3", "FRAGMENT-4", handlers=_edited(RECORDS, _exchange, least=1)),
    mutant("fragments-numbered-big-endian", "Fragment numbers are big-endian.",
          "FRAGMENT-3", "FRAGMENT-5", "FRAMING-1", handlers=_renumbered(lambda place, parts: swapped(place, 8))),
    mutant("fragments-all-number-1", "Each fragment has number 1.",
          "FRAGMENT-5", "FRAGMENT-3", handlers=_renumbered(lambda place, parts: 1)),
    mutant("fragments-numbered-backwards", "Fragment numbers fall from the first to the last.",
          "FRAGMENT-5", handlers=_renumbered(lambda place, parts: len(parts) + 1 - place)),
    mutant("fragments-numbered-by-rows", "A fragment has the number of its first row.",
          "FRAGMENT-5", "FRAGMENT-3",
          handlers=_renumbered(lambda place, parts: sum(part.count for part in parts[: place - 1]) + 1)),
    mutant("fragments-last-numbered-0", "The last of several fragments has number 0.",
          "FRAGMENT-5", handlers=_renumbered(lambda place, parts: place % len(parts))),
    mutant("fragments-count-all-rows", "Each of several fragments tells the rows of the whole answer.",
          "FRAGMENT-4", "FRAGMENT-2", handlers=_edited(RECORDS, _count_all)),
    mutant("fragments-last-row-uncounted", "The row count of the last of several fragments leaves a row out.",
          "FRAGMENT-4", "FRAGMENT-1", handlers=_edited(RECORDS, _uncount_last_row)),
    mutant("fragments-names-reversed-later", "From the second fragment on, names stand in the opposite order.",
          "FRAGMENT-7", "LIST-12", "STATS-10",
          handlers=with_found(RECORDS, _reverse_later_names)),
    mutant("fragments-names-row-by-row-later", "From the second fragment on, each row is followed by its name.",
          "FRAGMENT-7", "FRAGMENT-2", handlers=_written(NAMED, lambda parts: _with_count(
              parts[:1], len(parts)) + b"".join(map(_row_by_row, parts[1:])))),
    mutant("fragments-names-terminated", "In several fragments a zero byte follows each name.",
          "FRAGMENT-7", "FRAGMENT-2", "FRAGMENT-1", handlers=_edited(RECORDS, _terminate_names)),
    mutant("fragments-second-lost", "The second fragment is never sent.",
          "FRAGMENT-8", "FRAGMENT-5", "LIST-13", "STATS-11", "CONNECTIONS-27", "CHANNELS-12",
          handlers=_edited(ALL, lambda parts: parts.pop(1))),
    mutant("fragments-only-the-first", "Only the first fragment is sent.",
          "FRAGMENT-8", "LIST-13", "STATS-11", "CONNECTIONS-27", "CHANNELS-12",
          handlers=_edited(ALL, lambda parts: parts.__delitem__(slice(1, None)))),
    mutant("fragments-row-lost-at-the-cut", "The row that does not fit into a fragment is lost.",
          "FRAGMENT-8", "LIST-13", "STATS-11", "CONNECTIONS-27", "CONNECTION-9", "CHANNELS-12",
          handlers=_edited(ALL, _lose_at_cut)),
    mutant("fragments-row-twice-at-the-cut", "Each later fragment begins with the row that ended the one before.",
          "FRAGMENT-8", "LIST-13", "STATS-11", "CONNECTIONS-27", "CONNECTION-9", "CHANNELS-12",
          handlers=_edited(ALL, _repeat_at_cut)),
    mutant("channels-end-with-a-zero", "A zero byte follows the last of several fragments of CHANNELS.",
          "FRAGMENT-1", handlers=_written(Channels, lambda parts: _with_count(parts, len(parts)) + b"\0")),
    mutant("connections-of-3-fragments", "CONNECTIONS has at most 24 rows.",
          "FRAGMENT-8", "CONNECTIONS-27", handlers=_edited(Connections, lambda parts: _limit(parts, 24))),
    mutant("fragments-empty-with-a-row", "LIST, STATS and CHANNELS of nothing have a row of zeros.",
          "FRAGMENT-14", "LIST-16", "STATS-13", "CHANNELS-14", handlers=both(
              _ghost(List, ListRow(b"", 0, 0, 0, 0)), _ghost(Stats, StatsRow(b"", 0, 0, 0, 0)),
              _ghost(Channels, ChannelsRow(b"", 0, 0, 0)))),
    mutant("fragments-of-255-rows-in-all", "An answer has at most 255 rows.",
          "FRAGMENT-8", "LIST-13", "STATS-11", "CHANNELS-12", handlers=_edited(ALL, lambda parts: _limit(parts, 255))),
)
