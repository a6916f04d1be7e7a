"""The receiving side of a stream: bytes in, one contiguous `bytes` to decode from, linear cost.

A chunk that holds whole frames is decoded where it lies (no copy). The rest of an unfinished frame is gathered in a
`bytearray` until as many bytes are there as the decoder asked for, so every byte is copied a bounded number of times
and what is kept never exceeds the frame limit plus one chunk.
"""

from __future__ import annotations


class Buffer:
    """`data[at:end]` is what can be decoded now; `base + at` is its offset in the stream."""

    __slots__ = ("_need", "_tail", "at", "base", "data", "end")

    def __init__(self) -> None:
        self.data = b""
        self.at = 0
        self.end = 0
        self.base = 0
        self._tail = bytearray()
        self._need = 0

    def __len__(self) -> int:
        """Bytes received and not yet decoded."""
        return len(self._tail) if self._need else self.end - self.at

    @property
    def offset(self) -> int:
        """Offset in the stream of the next byte to decode."""
        return self.base + self.at

    def feed(self, chunk: bytes) -> None:
        """Add a chunk, as it came from the stream."""
        if self._need:
            self._tail += chunk
            if len(self._tail) >= self._need:
                self._open(bytes(self._tail))
                self._tail.clear()
        elif self.at == self.end:
            self._open(chunk)
        else:
            self._open(self.data[self.at : self.end] + chunk)

    def want(self, need: int) -> None:
        """Say that the frame at `at` needs `need` bytes in total before another look at it is worth while."""
        if need > self.end - self.at:
            self._tail += memoryview(self.data)[self.at : self.end]
            self._need = need
            self.base += self.at
            self.data, self.at, self.end = b"", 0, 0

    def _open(self, data: bytes) -> None:
        self.base += self.at
        self.data, self.at, self.end = data, 0, len(data)
        self._need = 0
