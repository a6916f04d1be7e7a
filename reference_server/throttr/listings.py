"""Handlers of LIST and STATS: a snapshot of every live record, in fragments.

The cost is linear in the records, about a second for a million, and nobody else is served meanwhile. So rows are packed
directly by the structs of their layouts, without message objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from wireproof.protocols.frames import header_struct
from wireproof.protocols.messages import Message
from wireproof.protocols.throttr.replies import ListFragment, ListReply, ListRow, StatsFragment, StatsReply, StatsRow
from wireproof.protocols.throttr.requests import List, Stats
from wireproof.reference_server.throttr.fragments import cut
from wireproof.reference_server.throttr.records import Buffer
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import U64_MAX, Handlers, State

__all__ = ["Listings", "row_size"]

Row = tuple[bytes, bytes]
"""(fixed part, name), encoded."""


def row_size(state: State, row: type[Message]) -> int:
    """Return the bytes of a row before its name, without the lead that the row has as a reply of its own."""
    layout = state.codec.layout(row)
    return layout.fixed_size - len(layout.lead)


class Listings:
    """The handlers of LIST and STATS."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._touches = state.rules.reads_counted == "touches"
        self._list_weight = row_size(state, ListRow) - state.rules.list_row_discount
        self._stats_weight = row_size(state, StatsRow)
        self._pack_list_row, self._pack_stats_row = state.packer(ListRow), state.packer(StatsRow)
        self._join_list = _joiner(state, ListReply, ListFragment)
        self._join_stats = _joiner(state, StatsReply, StatsFragment)

    def handlers(self) -> Handlers:
        """Return request class -> handler."""
        return {List: self.list, Stats: self.stats}

    def list(self, request: List, session: ThrottrSession, now: int) -> bytes:
        """Answer a row for each live record."""
        answer = self._join_list(self._list_rows(now))
        self._count_reads(now)
        return answer

    def stats(self, request: Stats, session: ThrottrSession, now: int) -> bytes:
        """Answer the metrics of each live record."""
        answer = self._join_stats(self._stats_rows(now))
        self._count_reads(now)
        return answer

    def _list_rows(self, now: int) -> Iterator[tuple[int, Row]]:
        pack, weight, value_size, offset = (
            self._pack_list_row, self._list_weight, self._state.value_size, self._state.wall_offset,
        )  # fmt: skip
        for record in self._state.store.live(now):
            key, time_point = record.key, record.due + offset
            used = len(record.value) if isinstance(record, Buffer) else value_size
            size = len(key)
            if time_point > U64_MAX:
                time_point = U64_MAX
            yield weight + size, (pack(size, record.key_type, record.ttl_type, time_point, used), key)

    def _stats_rows(self, now: int) -> Iterator[tuple[int, Row]]:
        pack, weight, minute = self._pack_stats_row, self._stats_weight, self._state.minutes.index
        live = self._state.rules.totals_live
        for record in self._state.store.live(now):
            size = len(record.key)
            yield weight + size, (pack(size, *record.metrics(minute, live=live)), record.key)

    def _count_reads(self, now: int) -> None:
        """Count one read for each listed record, if the profile counts it (4.9)."""
        if self._touches:
            minute = self._state.minutes.index
            for record in self._state.store.live(now):
                record.read(minute)


def _joiner(
    state: State, reply: type[Message], fragment: type[Message]
) -> Callable[[Iterable[tuple[int, Row]]], bytes]:
    """Return a function that encodes rows as a reply: the count, then each fragment's header, rows and names."""
    pack_reply = state.packer(reply)
    pack_fragment = header_struct(state.codec.layout(fragment), state.codec.profile.byte_order).pack

    def join(rows: Iterable[tuple[int, Row]]) -> bytes:
        parts = [b""]
        number = 0
        for number, part in cut(rows):
            heads, names = zip(*part, strict=True)
            parts += (pack_fragment(number, len(part)), *heads, *names)
        parts[0] = pack_reply(number)
        return b"".join(parts)

    return join
