"""Records: a counter or a buffer under a key, with its expiry instant and its metrics.

A record is live while `now < due`; a caller must treat others as absent. The answer to its own request, QUERY of a
counter or GET of a buffer, is cached until it would differ: the next step of the TTL, the end of the minute in which
reads are counted, or a change. The garbage collector does not track records: with a million of them it would block the
server for half a second.
"""

from __future__ import annotations

from typing import ClassVar, TypeVar

import msgspec

from wireproof.protocols.throttr import KeyType
from wireproof.reference_server.scheduler import Bucket

__all__ = ["Buffer", "Counter", "Record"]


class Record(msgspec.Struct, eq=False, gc=False):
    """The common fields of both kinds; hashed by identity, as the scheduler requires."""

    key_type: ClassVar[int] = -1
    """Its KEY TYPE (T28)."""
    quota: ClassVar[int] = 0
    value: ClassVar[bytes] = b""
    query_until: ClassVar[int] = 0
    get_until: ClassVar[int] = 0
    """The instant before which `answer` is the cached answer to QUERY (GET)."""

    key: bytes
    ttl_type: int
    """The byte of the request, unchanged."""
    minute: int
    """The minute of the last count."""
    due: int = 0
    bucket: Bucket | None = None
    answer: bytes = b""
    reads: int = 0
    writes: int = 1
    reads_before: int = 0
    writes_before: int = 0
    """The totals at the start of `minute`."""
    reads_last: int = 0
    writes_last: int = 0
    """The counts of the minute before `minute`."""

    def forget_answer(self) -> None:
        """Drop the cached answer because a value that it shows has changed.

        Raises `NotImplementedError` in the base class.
        """
        raise NotImplementedError

    def roll(self, minute: int) -> None:
        """Begin to count in `minute`, which is later than the record's."""
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
        """Return reads and writes of the last full minute and in total: live, or as the minute began (T27)."""
        if minute != self.minute:
            self.roll(minute)
        if live:
            return self.reads_last, self.writes_last, self.reads, self.writes
        return self.reads_last, self.writes_last, self.reads_before, self.writes_before


T = TypeVar("T", bound=Record)


def _assigned_plainly(cls: type[T]) -> type[T]:
    """Give `cls` the attribute assignment of `object`, which takes a third of the time.

    That of msgspec's structs also checks whether the garbage collector must track the value; here it never must.
    """
    cls.__setattr__ = object.__setattr__  # type: ignore[method-assign]
    cls.__delattr__ = object.__delattr__  # type: ignore[method-assign]
    return cls


@_assigned_plainly
class Counter(Record, eq=False, gc=False, kw_only=True):
    """A quota."""

    key_type: ClassVar[int] = int(KeyType.COUNTER)

    quota: int  # type: ignore[misc]
    query_until: int = 0  # type: ignore[misc]

    def forget_answer(self) -> None:
        """Drop the cached answer."""
        self.query_until = 0


@_assigned_plainly
class Buffer(Record, eq=False, gc=False, kw_only=True):
    """A value."""

    key_type: ClassVar[int] = int(KeyType.BUFFER)

    value: bytes  # type: ignore[misc]
    get_until: int = 0  # type: ignore[misc]

    def forget_answer(self) -> None:
        """Drop the cached answer."""
        self.get_until = 0
