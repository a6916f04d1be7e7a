"""What LIST and STATS answer: a snapshot of every live record, in fragments.

Its cost is linear in the records and nobody else is served meanwhile: about 1.5 s for a million of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from protocols.messages import Message
from protocols.throttr.replies import (
    ListFragment,
    ListReply,
    ListRow,
    StatsFragment,
    StatsReply,
    StatsRow,
)
from protocols.throttr.requests import List, Stats
from reference_server.throttr.fragments import cut
from reference_server.throttr.records import Buffer, Record
from reference_server.throttr.session import ThrottrSession
from reference_server.throttr.state import Handlers, State

__all__ = ["Listings", "row_size"]


def row_size(state: State, row: type[Message]) -> int:
    """Bytes of a row before its names; what leads it where it is a reply of its own does not count."""
    layout = state.codec.layout(row)
    return layout.fixed_size - len(layout.lead)


class Listings:
    """The handlers of LIST and STATS."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._touches = state.rules.reads_counted == "touches"
        self._list_weight = row_size(state, ListRow) - state.rules.list_row_discount
        self._stats_weight = row_size(state, StatsRow)

    def handlers(self) -> Handlers:
        """Return request class -> handler."""
        return {List: self.list, Stats: self.stats}

    def list(self, request: List, session: ThrottrSession, now: int) -> bytes:
        """Answer a row for each live record."""
        fragments = tuple(ListFragment(*part) for part in cut(self._list_rows(now)))
        return self._state.codec.encode(ListReply(fragments))

    def stats(self, request: Stats, session: ThrottrSession, now: int) -> bytes:
        """Answer the metrics of each live record."""
        fragments = tuple(StatsFragment(*part) for part in cut(self._stats_rows(now)))
        return self._state.codec.encode(StatsReply(fragments))

    def _list_rows(self, now: int) -> Iterator[tuple[int, ListRow]]:
        wall, weight, value_size = self._state.wall, self._list_weight, self._state.value_size
        for record in self._live(now):
            used = len(record.value) if isinstance(record, Buffer) else value_size
            row = ListRow(record.key, record.key_type, record.ttl_type, wall(record.due), used)
            yield weight + len(record.key), row

    def _stats_rows(self, now: int) -> Iterator[tuple[int, StatsRow]]:
        weight, minute, live = self._stats_weight, self._state.minutes.index, self._state.rules.totals_live
        for record in self._live(now):
            yield weight + len(record.key), StatsRow(record.key, *record.metrics(minute, live=live))

    def _live(self, now: int) -> Iterator[Record]:
        """Go through the live records; each counts one read where listing is reading, after it was answered."""
        minute = self._state.minutes.index
        count: Callable[[Record], None] | None = (lambda record: record.read(minute)) if self._touches else None
        for record in self._state.store.live(now):
            yield record
            if count is not None:
                count(record)
