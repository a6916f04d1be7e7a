"""The receiving side of a stream: bytes in, one contiguous `bytes` to decode from, linear cost.

A chunk that holds whole frames is decoded where it lies (no copy). The rest of an unfinished frame, and chunks that
come before what is there was read, are gathered in a `bytearray` and opened once as many bytes are there as the
decoder asked for: every byte is copied a bounded number of times, and what is kept never exceeds the frame limit plus
one chunk as long as events are read.
"""

from __future__ import annotations


class Buffer:
    """`data[at:end]` is what can be decoded now; `base + at` is its offset in the stream."""

    __slots__ = ("at", "base", "data", "end", "gathered", "need")

    def __init__(self) -> None:
        self.data = b""
        self.at = 0
        self.end = 0
        self.base = 0
        self.gathered = bytearray()
        """What follows `data[at:end]` in the stream."""
        self.need = 1
        """How many bytes must be gathered before another look at them is worth while."""

    def __len__(self) -> int:
        """Bytes received and not yet decoded."""
        return self.end - self.at + len(self.gathered)

    @property
    def offset(self) -> int:
        """Offset in the stream of the next byte to decode."""
        return self.base + self.at

    def feed(self, chunk: bytes) -> None:
        """Add a chunk, as it came from the stream."""
        if self.at < self.end or self.gathered:
            self.gathered += chunk
        else:
            self._open(chunk)

    def want(self, need: int) -> None:
        """Put `data[at:end]` back: the frame there needs `need` bytes in total."""
        self.gathered[:0] = self.data[self.at : self.end]
        self.need = need
        self._open(b"")

    def refill(self) -> bool:
        """Open what was gathered if it is as much as was wanted; False when more must come."""
        if len(self.gathered) < self.need:
            return False
        self._open(bytes(self.gathered))
        self.gathered.clear()
        self.need = 1
        return True

    def release(self) -> None:
        """Keep nothing of what was decoded, once nothing else is open: a frame may have been large."""
        self._open(b"")

    def drop(self) -> None:
        """Forget everything that was received and not decoded."""
        self.gathered.clear()
        self._open(b"")

    def _open(self, data: bytes) -> None:
        self.base += self.at
        self.data, self.at, self.end = data, 0, len(data)
