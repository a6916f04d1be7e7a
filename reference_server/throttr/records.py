"""Records: a counter or a buffer under a key, with its expiry instant and its metrics.

A record is live while `now < due`: whoever finds one that is not must treat it as absent. The answer to its own
request, QUERY of a counter or GET of a buffer, is kept until it would read differently: the next step of the TTL, the
end of the minute that reads are counted in, or a change.
"""

from __future__ import annotations

from typing import ClassVar

from protocols.throttr import KeyType
from reference_server.scheduler import Bucket

__all__ = ["Buffer", "Counter", "Record"]


class Record:
    """What both kinds have; hashed by identity, as the scheduler asks."""

    __slots__ = (
        "answer", "bucket", "due", "key", "minute", "reads", "reads_before", "reads_last", "ttl_type", "writes",
        "writes_before", "writes_last",
    )  # fmt: skip

    key_type: ClassVar[int]
    """Its KEY TYPE (T28)."""
    quota: int = 0
    value: bytes = b""
    query_until: int = 0
    get_until: int = 0
    """While `now` is before it, `answer` is what QUERY (GET) answers."""

    def __init__(self, key: bytes, ttl_type: int, minute: int) -> None:
        self.key = key
        self.ttl_type = ttl_type
        """The byte as it was sent."""
        self.due = 0
        self.bucket: Bucket | None = None
        self.answer = b""
        self.minute = minute
        """The minute last counted in."""
        self.reads, self.writes = 0, 1
        self.reads_before, self.writes_before = 0, 0
        """The totals at the start of `minute`."""
        self.reads_last, self.writes_last = 0, 0
        """What was counted in the minute before `minute`."""

    def forget_answer(self) -> None:
        """Something that its own request shows has changed."""
        raise NotImplementedError

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


class Counter(Record):
    """A quota."""

    __slots__ = ("query_until", "quota")

    key_type = int(KeyType.COUNTER)

    def __init__(self, key: bytes, ttl_type: int, minute: int, quota: int) -> None:
        super().__init__(key, ttl_type, minute)
        self.quota = quota
        self.query_until = 0

    def forget_answer(self) -> None:
        """See `Record`."""
        self.query_until = 0


class Buffer(Record):
    """A value."""

    __slots__ = ("get_until", "value")

    key_type = int(KeyType.BUFFER)

    def __init__(self, key: bytes, ttl_type: int, minute: int, value: bytes) -> None:
        super().__init__(key, ttl_type, minute)
        self.value = value
        self.get_until = 0

    def forget_answer(self) -> None:
        """See `Record`."""
        self.get_until = 0
