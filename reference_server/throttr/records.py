"""A record: a counter or a buffer under a key, with its expiry instant and its metrics.

It is live while `now < due`: whoever finds one that is not must treat it as absent.
"""

from __future__ import annotations

from protocols.throttr import KeyType
from reference_server.scheduler import Bucket

__all__ = ["Record"]

_COUNTER = int(KeyType.COUNTER)
_BUFFER = int(KeyType.BUFFER)


class Record:
    """One record; hashed by identity, as the scheduler asks."""

    __slots__ = (
        "bucket", "due", "is_buffer", "key", "minute", "quota", "reads", "reads_before", "reads_last", "ttl_type",
        "value", "writes", "writes_before", "writes_last",
    )  # fmt: skip

    def __init__(self, key: bytes, ttl_type: int, *, quota: int = 0, value: bytes | None = None, minute: int) -> None:
        self.key = key
        self.is_buffer = value is not None
        self.quota = quota
        """0 for a buffer, as QUERY of one shows where it is answered (T18)."""
        self.value = value or b""
        self.ttl_type = ttl_type
        """The byte as it was sent."""
        self.due = 0
        self.bucket: Bucket | None = None
        self.minute = minute
        """The minute last counted in."""
        self.reads, self.writes = 0, 1
        self.reads_before, self.writes_before = 0, 0
        """The totals at the start of `minute`."""
        self.reads_last, self.writes_last = 0, 0
        """What was counted in the minute before `minute`."""

    @property
    def key_type(self) -> int:
        """Its KEY TYPE (T28)."""
        return _BUFFER if self.is_buffer else _COUNTER

    def roll(self, minute: int) -> None:
        """Go on counting in `minute`, which is later than the record's."""
        follows = minute == self.minute + 1
        self.reads_last = self.reads - self.reads_before if follows else 0
        self.writes_last = self.writes - self.writes_before if follows else 0
        self.reads_before, self.writes_before, self.minute = self.reads, self.writes, minute

    def read(self, minute: int) -> None:
        """Count one read."""
        if minute != self.minute:
            self.roll(minute)
        self.reads += 1

    def wrote(self, minute: int) -> None:
        """Count one write."""
        if minute != self.minute:
            self.roll(minute)
        self.writes += 1

    def metrics(self, minute: int, *, live: bool) -> tuple[int, int, int, int]:
        """Return reads and writes in the last full minute, then in total: live, or as the minute began (T27)."""
        if minute != self.minute:
            self.roll(minute)
        if live:
            return self.reads_last, self.writes_last, self.reads, self.writes
        return self.reads_last, self.writes_last, self.reads_before, self.writes_before
