"""The file of counters that an instrumented target and the fuzzer share, and what was seen in it."""

# Protocol. `WIREPROOF_COVERAGE` names a file of `SIZE` bytes, which the fuzzer makes before it starts the target. The
# target maps it shared and counts up the byte of each edge that it takes: an edge is a pair of places in its code
# that follow each other, the byte is any fixed number of the edge below `SIZE`. A counter stays at 255. The fuzzer sets
# all counters to zero before a play and reads them after it. Nothing else is written, so a target needs no lock, and
# several of its processes may share the file. It is AFL's shared map, as a file.
#
# Counts. One more round of a loop is nothing new; twice as many are. So counts are compared in the eight classes of
# AFL: 1, 2, 3, 4 to 7, 8 to 15, 16 to 31, 32 to 127, more. Each class is a bit.

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType

__all__ = ["SIZE", "VARIABLE", "Counters", "SeenEdges", "shared_counters"]

VARIABLE = "WIREPROOF_COVERAGE"
"""The environment variable that names the file."""
SIZE = 1 << 16
"""Counters of one byte each."""
ZEROS = bytes(SIZE)
CLASSES = ((1, 1), (2, 2), (3, 4), (4, 8), (8, 16), (16, 32), (32, 64), (128, 128))
"""Least count -> its bit."""
CLASS_OF = bytes(max((bit for least, bit in CLASSES if count >= least), default=0) for count in range(256))


class Counters:
    """One mapped file of counters; use it as a context manager."""

    def __init__(self, path: Path) -> None:
        """Map the file, which is made or enlarged where needed. Raises `OSError`."""
        self.path = path
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if os.fstat(descriptor).st_size < SIZE:
                os.ftruncate(descriptor, SIZE)
            self._map = mmap.mmap(descriptor, SIZE)
        finally:
            os.close(descriptor)

    def __enter__(self) -> Counters:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._map.close()

    def clear(self) -> None:
        """Set all counters to zero."""
        self._map[:] = ZEROS

    def classes(self) -> bytes:
        """Return the class of each counter's count, 0 for an edge that was not taken."""
        return self._map[:].translate(CLASS_OF)


class SeenEdges:
    """The edges that were taken so far, and in which classes of counts."""

    def __init__(self) -> None:
        self.latest: list[int] = []
        """The edges that the last new play was the first to take; none if only their counts were new."""
        self._seen = 0
        self._number = 0

    def __len__(self) -> int:
        return self._number

    def is_new(self, classes: bytes) -> bool:
        """Add the edges of a play, as `Counters.classes` returns them; return whether any, or its class, is new."""
        taken = int.from_bytes(classes, "little")
        if not taken & ~self._seen:
            return False
        before = self._seen.to_bytes(SIZE, "little")
        self.latest = [at for at, (now, then) in enumerate(zip(classes, before, strict=True)) if now and not then]
        self._seen |= taken
        self._number += len(self.latest)
        return True


@contextmanager
def shared_counters() -> Iterator[Counters]:
    """Yield the counters of the file that `WIREPROOF_COVERAGE` names, or of a new one that it names for the block.

    Raises `OSError` if the file cannot be mapped.
    """
    if named := os.environ.get(VARIABLE):
        with Counters(Path(named)) as counters:
            yield counters
        return
    with TemporaryDirectory(prefix="wireproof-coverage-") as folder, Counters(Path(folder, "counters")) as counters:
        os.environ[VARIABLE] = str(counters.path)
        try:
            yield counters
        finally:
            del os.environ[VARIABLE]
