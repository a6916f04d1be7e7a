"""Faults of answers in several fragments: LIST, STATS, CONNECTIONS and CHANNELS. One fragment alone stays right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from wireproof.mutants.throttr.server.mutant import HandlerPatch, mutant
from wireproof.mutants.throttr.server.patches import (
    Ask,
    Kinds,
    changed,
    with_found,
    with_reply,
)
from wireproof.protocols.throttr.replies import (
    ChannelsReply,
    ConnectionsReply,
    ListReply,
    StatsReply,
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


def _lose_row(part: _Part, place: int) -> None:
    del part.heads[place], part.names[place]
    part.count -= 1


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


def _limit(parts: list[_Part], rows: int) -> None:
    """Keep so many rows."""
    for part in parts:
        while part.count > max(rows, 0):
            _lose_row(part, -1)
        rows -= part.count


def _with_count(parts: list[_Part], count: int) -> bytes:
    return _u64(count) + b"".join(map(bytes, parts))


# fmt: off
MUTANTS = (
    mutant("fragments-all-number-1", "Each fragment has number 1.", "FRAGMENT-5", "FRAGMENT-3", handlers=_renumbered(lambda place, parts: 1)),
    mutant("fragments-count-all-rows", "Each of several fragments tells the rows of the whole answer.", "FRAGMENT-4", "FRAGMENT-2",
           handlers=_edited(RECORDS, _count_all)),
    mutant("fragments-names-reversed-later", "From the second fragment on, names stand in the opposite order.", "FRAGMENT-7", "LIST-12", "STATS-10",
           handlers=with_found(RECORDS, _reverse_later_names)),
    mutant("fragments-second-lost", "The second fragment is never sent.", "FRAGMENT-8", "FRAGMENT-5", "LIST-13", "STATS-11", "CONNECTIONS-27",
           "CHANNELS-12", handlers=_edited(ALL, lambda parts: parts.pop(1))),
    mutant("channels-end-with-a-zero", "A zero byte follows the last of several fragments of CHANNELS.", "FRAGMENT-1",
           handlers=_written(Channels, lambda parts: _with_count(parts, len(parts)) + b"\0")),
    mutant("connections-of-3-fragments", "CONNECTIONS has at most 24 rows.", "FRAGMENT-8", "CONNECTIONS-27",
           handlers=_edited(Connections, lambda parts: _limit(parts, 24))),
    mutant("fragments-of-255-rows-in-all", "An answer has at most 255 rows.", "FRAGMENT-8", "LIST-13", "STATS-11", "CHANNELS-12",
           handlers=_edited(ALL, lambda parts: _limit(parts, 255))),
)
# fmt: on
