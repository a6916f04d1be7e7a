"""The records of one server: by key, each until its instant.

A record whose instant has come answers as absent whether or not the scheduler has removed it yet, and its key is free
at once. Every change goes through here, so the counts are those of the records held.
"""

from __future__ import annotations

from collections.abc import Iterator

from wireproof.reference_server.clock import Clock
from wireproof.reference_server.scheduler import Scheduler
from wireproof.reference_server.throttr.records import Buffer, Record

__all__ = ["Store"]


class Store:
    """Records by key. Instants are monotonic ns and may be any integer: products of amount and unit never wrap."""

    def __init__(self, clock: Clock) -> None:
        self.records: dict[bytes, Record] = {}
        """What is held, due or not: a reader must compare `due` with now, or use `find`."""
        self._scheduler: Scheduler[Record] = Scheduler(clock, self.remove)
        self._reschedule = self._scheduler.reschedule
        self.buffers = 0
        self.buffer_bytes = 0

    def __len__(self) -> int:
        """Records held, those included that are due and not yet removed: `purge_due` first for an exact count."""
        return len(self.records)

    def find(self, key: bytes, now: int) -> Record | None:
        """Return the live record under `key`."""
        record = self.records.get(key)
        return record if record is not None and record.due > now else None

    def add(self, record: Record, due: int) -> None:
        """Hold `record` until `due`; one whose time is up makes room, and no live one may be under its key."""
        held = self.records.get(record.key)
        if held is not None:
            self.remove(held)
        self.records[record.key] = record
        if isinstance(record, Buffer):
            self.buffers += 1
            self.buffer_bytes += len(record.value)
        self._scheduler.schedule(record, due)

    def overwrite(self, record: Buffer, ttl_type: int, value: bytes, due: int) -> None:
        """Give a buffer another value and expiry; a hot path, so it writes only what changes."""
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
        """Let `record` expire at `due` instead."""
        record.forget_answer()
        self._reschedule(record, due)

    def remove(self, record: Record) -> None:
        """Hold `record` no longer."""
        self._scheduler.cancel(record)
        del self.records[record.key]
        if isinstance(record, Buffer):
            self.buffers -= 1
            self.buffer_bytes -= len(record.value)

    def purge_due(self, now: int) -> None:
        """Remove what is due and was not removed yet."""
        for record in self._scheduler.overdue(now):
            self.remove(record)

    def live(self, now: int) -> Iterator[Record]:
        """Go through the live records, oldest first."""
        return (record for record in self.records.values() if record.due > now)

    def close(self) -> None:
        """Forget everything and disarm the timer."""
        self._scheduler.close()
        self.records.clear()
        self.buffers = self.buffer_bytes = 0
