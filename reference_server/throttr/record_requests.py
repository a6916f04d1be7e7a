"""Handlers of INSERT, QUERY, UPDATE, PURGE, SET, GET and STAT.

Bytes are decoded directly into these calls: they take the fields of the request in wire order and return the bytes of
the answer. The present instant is `State.now`.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from wireproof.protocols.messages import Request
from wireproof.protocols.runs import DeclinedError
from wireproof.protocols.throttr import Attribute, Change
from wireproof.protocols.throttr.enums import NANOSECONDS_PER_UNIT, TTLType
from wireproof.protocols.throttr.replies import GetReply, QueryReply, StatReply
from wireproof.protocols.throttr.requests import Get, Insert, Purge, Query, Set, Stat, Update
from wireproof.reference_server.throttr.records import Buffer, Counter, Record
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import ACCEPTED, DENIED, Calls, Handler, Handlers, State

__all__ = ["RecordRequests"]

_UNITS: dict[int, int] = {int(kind): ns for kind, ns in NANOSECONDS_PER_UNIT.items()}
SHOWN_UNIT = [_UNITS.get(byte, _UNITS[TTLType.SECONDS]) for byte in range(256)]
"""TTL type byte -> ns of the unit that a TTL is stored and echoed in; unknown ones are seconds where legal (T17)."""
KNOWN_UNIT = [_UNITS.get(byte, 0) for byte in range(256)]
"""The same with 0 for unknown types: UPDATE treats amounts of such a TTL as no time (T17)."""
SHORT = 128
"""Bytes of the longest value that GET answers without checking the write buffer."""


class RecordRequests:
    """The calls of requests about one record. The echoed TTL is the remaining time, rounded down to its unit."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._rules = state.rules
        self._store = state.store
        self._get = state.store.records.get
        self._minutes = state.minutes
        self._max = state.value_max
        self._units = KNOWN_UNIT if state.rules.unknown_ttl_type == "refuse" else SHOWN_UNIT
        """TTL type byte -> ns of its unit in INSERT and SET; 0 if they refuse it."""
        self._last_ttl = self._last_type = self._last_now = -1
        self._last_due = 0
        """The expiry of a SET with that TTL, cached because consecutive SETs mostly have the same."""
        self._overwrites = state.rules.set_overwrites
        self._touches = state.rules.reads_counted == "touches"
        self._pack_query = state.packer(QueryReply)
        self._pack_get = state.packer(GetReply)
        self._pack_stat = state.packer(StatReply)

    def calls(self) -> Calls:
        """Return request class -> call, for short answers, the most frequent first."""
        return {**self._all(), Get: self.get_short}

    def handlers(self) -> Handlers:
        """Return request class -> handler, for requests that are decoded already."""
        return {request: _handler(call) for request, call in self._all().items()}

    def _all(self) -> Calls:
        return {
            Get: self.get,
            Query: self.query,
            Set: self.set,
            Insert: self.insert,
            Update: self.update,
            Purge: self.purge,
            Stat: self.stat,
        }

    def insert(self, quota: int, ttl_type: int, ttl: int, key: bytes) -> bytes:
        """Store a counter; refuse if a live record has the key (T19)."""
        held, now, unit = self._get(key), self._state.now, self._units[ttl_type]
        if (held is not None and held.due > now) or not unit:
            return DENIED
        self._store.add(Counter(key, ttl_type, self._minutes.index, quota=quota), now + ttl * unit)
        return ACCEPTED

    def query(self, key: bytes) -> bytes:
        """Answer a counter's quota and TTL."""
        record = self._get(key)
        if record is None:
            return DENIED
        if self._state.now < record.query_until:
            record.reads += 1
            return record.answer
        if record.due <= self._state.now or not (isinstance(record, Counter) or self._rules.query_finds_buffers):
            return DENIED
        record.read(self._minutes.index)
        ttl, until = self._remaining(record)
        answer = self._pack_query(record.quota, record.ttl_type, ttl & self._max)
        if isinstance(record, Counter):
            record.answer, record.query_until = answer, until
        return answer

    def get(self, key: bytes) -> bytes:
        """Answer a buffer's TTL and value."""
        record = self._store.find(key, self._state.now)
        if record is None or not (isinstance(record, Buffer) or self._rules.get_finds_counters):
            return DENIED
        record.read(self._minutes.index)
        ttl, until = self._remaining(record)
        value = record.value
        answer = self._pack_get(record.ttl_type, ttl & self._max, len(value)) + value
        if isinstance(record, Buffer) and len(value) <= SHORT:
            record.answer, record.get_until = answer, until
        return answer

    def get_short(self, key: bytes) -> bytes:
        """Answer as `get` does. Raises DeclinedError for a long value, without an effect."""
        record = self._get(key)
        if record is None:
            return DENIED
        if self._state.now < record.get_until:
            record.reads += 1
            return record.answer
        if len(record.value) > SHORT:
            raise DeclinedError
        return self.get(key)

    def _remaining(self, record: Record) -> tuple[int, int]:
        """Return the remaining time in the record's unit, rounded down, and the instant until which it is valid."""
        unit, due = SHOWN_UNIT[record.ttl_type], record.due
        left = (due - self._state.now) // unit
        return left, min(due - left * unit + 1, due, self._minutes.next_ns)

    def set(self, ttl_type: int, ttl: int, key: bytes, value: bytes) -> bytes:
        """Store a buffer; the profile decides about a live one (T19)."""
        held, now = self._get(key), self._state.now
        if ttl != self._last_ttl or ttl_type != self._last_type or now is not self._last_now:
            unit = self._units[ttl_type]
            if not unit:
                return DENIED
            self._last_ttl, self._last_type, self._last_now = ttl, ttl_type, now
            self._last_due = now + ttl * unit
        if held is None or held.due <= now:
            self._store.add(Buffer(key, ttl_type, self._minutes.index, value=value), self._last_due)
        elif not self._overwrites or type(held) is not Buffer:
            return DENIED
        else:
            self._store.overwrite(held, ttl_type, value, self._last_due)
            if held.minute != self._minutes.index:
                held.roll(self._minutes.index)
            held.writes += 1
        return ACCEPTED

    def update(self, attribute: int, change: int, value: int, key: bytes) -> bytes:
        """Change a quota or a TTL."""
        record = self._store.find(key, self._state.now)
        if record is None:
            return DENIED
        if self._touches:
            record.read(self._minutes.index)
        if attribute == Attribute.QUOTA and isinstance(record, Counter):
            done = self._change_quota(record, change, value)
        elif attribute == Attribute.TTL:
            done = self._change_ttl(record, change, value * KNOWN_UNIT[record.ttl_type])
        else:
            return DENIED
        if done:
            record.wrote(self._minutes.index)
        return ACCEPTED if done else DENIED

    def _change_quota(self, record: Counter, change: int, value: int) -> bool:
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
        record.forget_answer()
        return True

    def _change_ttl(self, record: Record, change: int, span: int) -> bool:
        match change:
            case Change.PATCH:
                due = self._state.now + span
            case Change.INCREASE:
                due = record.due + span
            case Change.DECREASE:
                due = record.due - span
            case _:
                return self._rules.unknown_change_ok
        self._store.move(record, due)
        return True

    def purge(self, key: bytes) -> bytes:
        """Remove a record."""
        record = self._store.find(key, self._state.now)
        if record is None:
            return DENIED
        self._store.remove(record)
        return ACCEPTED

    def stat(self, key: bytes) -> bytes:
        """Answer the metrics of a record as they were before this request."""
        record = self._store.find(key, self._state.now)
        if record is None:
            return DENIED
        answer = self._pack_stat(*record.metrics(self._minutes.index, live=self._rules.totals_live))
        if self._touches:
            record.read(self._minutes.index)
        return answer


def _handler(call: Callable[..., bytes]) -> Handler:
    def handle(request: Request, session: ThrottrSession, now: int) -> bytes:
        return call(*msgspec.structs.astuple(request))

    return handle
