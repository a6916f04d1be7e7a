"""What INSERT, QUERY, UPDATE, PURGE, SET, GET and STAT do to records."""

from __future__ import annotations

from protocols.throttr import Attribute, Change
from protocols.throttr.enums import NANOSECONDS_PER_UNIT, TTLType
from protocols.throttr.replies import GetReply, QueryReply, StatReply
from protocols.throttr.requests import Get, Insert, Purge, Query, Set, Stat, Update
from reference_server.throttr.records import Record
from reference_server.throttr.session import ThrottrSession
from reference_server.throttr.state import ACCEPTED, DENIED, Handlers, State

__all__ = ["RecordRequests"]

_SECOND = NANOSECONDS_PER_UNIT[TTLType.SECONDS]
SHOWN_UNIT = [int(NANOSECONDS_PER_UNIT.get(byte, _SECOND)) for byte in range(256)]  # type: ignore[call-overload]
"""TTL type byte -> ns of the unit that a TTL is stored and echoed in; unknown ones are seconds where legal (T17)."""
CHANGE_UNIT = [int(NANOSECONDS_PER_UNIT.get(byte, 0)) for byte in range(256)]  # type: ignore[call-overload]
"""TTL type byte -> ns of the unit of UPDATE on a TTL; an unknown type makes every amount no time (T17)."""


class RecordRequests:
    """The handlers of requests about one record. The TTL echoed is the remaining time, rounded down to its unit."""

    def __init__(self, state: State) -> None:
        self._rules = state.rules
        self._store = state.store
        self._records = state.store.records
        self._minutes = state.minutes
        self._max = state.value_max
        self._ttl_types = frozenset(TTLType) if state.rules.unknown_ttl_type == "refuse" else frozenset(range(256))
        self._touches = state.rules.reads_counted == "touches"
        self._pack_query = state.packer(QueryReply)
        self._pack_get = state.packer(GetReply)
        self._pack_stat = state.packer(StatReply)

    def handlers(self) -> Handlers:
        """Return request class -> handler."""
        return {
            Insert: self.insert,
            Query: self.query,
            Update: self.update,
            Purge: self.purge,
            Set: self.set,
            Get: self.get,
            Stat: self.stat,
        }

    def insert(self, request: Insert, session: ThrottrSession, now: int) -> bytes:
        """Store a counter; a live record under the key stays (T19)."""
        key, ttl_type = request.key, request.ttl_type
        held = self._records.get(key)
        if (held is not None and held.due > now) or ttl_type not in self._ttl_types:
            return DENIED
        record = Record(key, ttl_type, quota=request.quota, minute=self._minutes.index)
        self._store.add(record, now + request.ttl * SHOWN_UNIT[ttl_type])
        return ACCEPTED

    def query(self, request: Query, session: ThrottrSession, now: int) -> bytes:
        """Answer a counter's quota and TTL."""
        record = self._records.get(request.key)
        if record is None or record.due <= now or (record.is_buffer and not self._rules.query_finds_buffers):
            return DENIED
        if record.minute != self._minutes.index:
            record.roll(self._minutes.index)
        record.reads += 1
        ttl_type = record.ttl_type
        return self._pack_query(record.quota, ttl_type, (record.due - now) // SHOWN_UNIT[ttl_type] & self._max)

    def set(self, request: Set, session: ThrottrSession, now: int) -> bytes:
        """Store a buffer; on a live one, what the profile says (T19)."""
        key, ttl_type = request.key, request.ttl_type
        if ttl_type not in self._ttl_types:
            return DENIED
        due = now + request.ttl * SHOWN_UNIT[ttl_type]
        held = self._records.get(key)
        if held is None or held.due <= now:
            self._store.add(Record(key, ttl_type, value=request.value, minute=self._minutes.index), due)
            return ACCEPTED
        if not held.is_buffer or not self._rules.set_overwrites:
            return DENIED
        self._store.replace_value(held, ttl_type, request.value, due)
        held.wrote(self._minutes.index)
        return ACCEPTED

    def get(self, request: Get, session: ThrottrSession, now: int) -> bytes:
        """Answer a buffer's TTL and value."""
        record = self._records.get(request.key)
        if record is None or record.due <= now or not (record.is_buffer or self._rules.get_finds_counters):
            return DENIED
        if record.minute != self._minutes.index:
            record.roll(self._minutes.index)
        record.reads += 1
        ttl_type, value = record.ttl_type, record.value
        ttl = (record.due - now) // SHOWN_UNIT[ttl_type] & self._max
        return self._pack_get(ttl_type, ttl, len(value)) + value

    def update(self, request: Update, session: ThrottrSession, now: int) -> bytes:
        """Change a quota or a TTL."""
        record = self._store.find(request.key, now)
        if record is None:
            return DENIED
        if self._touches:
            record.read(self._minutes.index)
        if request.attribute == Attribute.QUOTA and not record.is_buffer:
            done = self._change_quota(record, request.change, request.value)
        elif request.attribute == Attribute.TTL:
            done = self._change_ttl(record, request.change, request.value, now)
        else:
            return DENIED
        if done:
            record.wrote(self._minutes.index)
        return ACCEPTED if done else DENIED

    def _change_quota(self, record: Record, change: int, value: int) -> bool:
        match change:
            case Change.PATCH:
                quota = value
            case Change.INCREASE:
                quota = record.quota + value
                if self._rules.increase_wraps:
                    quota &= self._max
            case Change.DECREASE:
                quota = record.quota - value
            case _:
                return self._rules.unknown_change_ok
        if not 0 <= quota <= self._max:
            return False
        record.quota = quota
        return True

    def _change_ttl(self, record: Record, change: int, value: int, now: int) -> bool:
        span = value * CHANGE_UNIT[record.ttl_type]
        match change:
            case Change.PATCH:
                due = now + span
            case Change.INCREASE:
                due = record.due + span
            case Change.DECREASE:
                due = record.due - span
            case _:
                return self._rules.unknown_change_ok
        self._store.move(record, due)
        return True

    def purge(self, request: Purge, session: ThrottrSession, now: int) -> bytes:
        """Remove a record."""
        record = self._store.find(request.key, now)
        if record is None:
            return DENIED
        self._store.remove(record)
        return ACCEPTED

    def stat(self, request: Stat, session: ThrottrSession, now: int) -> bytes:
        """Answer a record's metrics as they were before this request."""
        record = self._store.find(request.key, now)
        if record is None:
            return DENIED
        reply = self._pack_stat(*record.metrics(self._minutes.index, live=self._rules.totals_live))
        if self._touches:
            record.read(self._minutes.index)
        return reply
