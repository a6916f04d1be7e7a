"""The records of one server by key, each until its expiry.

An expired record counts as absent, whether or not the scheduler has removed it yet, and its key is free. Every change
is made here, so the counts are always those of the stored records.
"""

from __future__ import annotations

from collections.abc import Iterator

from wireproof.reference_server.clock import Clock
from wireproof.reference_server.scheduler import Scheduler
from wireproof.reference_server.throttr.records import Buffer, Record

__all__ = ["Store"]


class Store:
    """Records by key. Instants are monotonic ns and may be any integer, so amount times unit never wraps."""

    def __init__(self, clock: Clock) -> None:
        self.records: dict[bytes, Record] = {}
        """All records, expired ones included: compare `due` with the present, or use `find`."""
        self._scheduler: Scheduler[Record] = Scheduler(clock, self.remove)
        self._reschedule = self._scheduler.reschedule
        self.buffers = 0
        self.buffer_bytes = 0

    def __len__(self) -> int:
        """Return the number of records, expired ones included; call `purge_due` before for an exact count."""
        return len(self.records)

    def find(self, key: bytes, now: int) -> Record | None:
        """Return the live record under `key`; None if there is none."""
        record = self.records.get(key)
        return record if record is not None and record.due > now else None

    def add(self, record: Record, due: int) -> None:
        """Store `record` until `due`, in place of an expired one; no live record may have its key."""
        held = self.records.get(record.key)
        if held is not None:
            self.remove(held)
        self.records[record.key] = record
        if isinstance(record, Buffer):
            self.buffers += 1
            self.buffer_bytes += len(record.value)
        self._scheduler.schedule(record, due)

    def overwrite(self, record: Buffer, ttl_type: int, value: bytes, due: int) -> None:
        """Change value and expiry of a buffer; a hot path, so it writes only what differs."""
        if len(value) != len(record.value):
            self.buffer_bytes += len(value) - len(record.value)
        record.value = value
        if record.ttl_type != ttl_type:
            record.ttl_type = ttl_type
        if record.get_until:
            record.get_until = 0
        if due >= record.due:
            record.due = due
        else:
            self._reschedule(record, due)

    def move(self, record: Record, due: int) -> None:
        """Change the expiry of `record` to `due`."""
        record.forget_answer()
        self._reschedule(record, due)

    def remove(self, record: Record) -> None:
        """Remove `record`."""
        self._scheduler.cancel(record)
        del self.records[record.key]
        if isinstance(record, Buffer):
            self.buffers -= 1
            self.buffer_bytes -= len(record.value)

    def purge_due(self, now: int) -> None:
        """Remove the expired records that the scheduler has not removed yet."""
        for record in self._scheduler.overdue(now):
            self.remove(record)

    def live(self, now: int) -> Iterator[Record]:
        """Yield the live records, oldest first."""
        return (record for record in self.records.values() if record.due > now)

    def miscounted(self) -> str:
        """Return which count is not that of the stored records, "" if none."""
        values = [record.value for record in self.records.values() if isinstance(record, Buffer)]
        if (len(values), size := sum(map(len, values))) == (self.buffers, self.buffer_bytes):
            return ""
        return f"{self.buffers} buffers of {self.buffer_bytes} bytes are counted, {len(values)} of {size} are stored"

    def close(self) -> None:
        """Remove everything and cancel the timer."""
        self._scheduler.close()
        self.records.clear()
        self.buffers = self.buffer_bytes = 0
