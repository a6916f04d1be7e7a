"""Limits of what reading a stream may take: counted, not timed, so the same input gives the same result."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager

from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.protocols import Connection, Message
from wireproof.protocols.frames import FrameContext

__all__ = ["check_released", "check_want", "counted", "measured"]

OPENED_A_BYTE, OPENED = 6, 64
"""Bytes shown to a decoder for each byte that came: a frame is inspected once for each length it announces."""
MEMORY_A_BYTE, MEMORY = 1024, 64 * 1024
"""Bytes of memory for each byte that came: a message of one byte is an object, its span, and a list entry."""


def check_want(need: int, there: int, limit: int) -> None:
    """Check that a decoder wants more bytes than `there` and at most `limit`. Raises `InvariantError`."""
    if need <= there:
        raise InvariantError("consumption is monotone", f"{need} bytes wanted of {there} there", "want")
    if need > limit:
        raise InvariantError("memory is linear in the input", f"{need} bytes wanted, {limit} are allowed", "limit")


def check_released(connection: Connection) -> None:
    """Check that nothing is kept once all that came was read, and more must come. Raises `InvariantError`."""
    kept = len(connection._buffer.data)
    if kept and not connection.buffered:
        detail = f"{kept} bytes are kept of frames that were read"
        raise InvariantError("memory is linear in the input", detail, "kept")


class _Counted:
    """Wraps a connection's decoder and counts the bytes that it is shown for the first time."""

    def __init__(self, connection: Connection) -> None:
        self._decode = connection._decode_next
        self._shown: bytes = b""
        self.opened = 0
        connection._decode_next = self  # type: ignore[method-assign]

    def __call__(self, data: bytes, at: int, end: int, context: FrameContext) -> tuple[Message | None, int]:
        if data is not self._shown:
            self._shown, self.opened = data, self.opened + len(data)
        message, stop = self._decode(data, at, end, context)
        if message is None:
            check_want(stop, end - at, context.limit)
        return message, stop


@contextmanager
def counted(connection: Connection, size: int) -> Iterator[None]:
    """Read a stream of `size` bytes inside. Raises `InvariantError` if bytes are copied too many times."""
    decoder = _Counted(connection)
    yield
    if decoder.opened > OPENED_A_BYTE * size + OPENED:
        detail = f"{decoder.opened} bytes laid before the decoder of {size} that came"
        raise InvariantError("time is linear in the input", detail, "opened")


@contextmanager
def measured(size: int) -> Iterator[None]:
    """Read a stream of `size` bytes inside. Raises `InvariantError` unless memory is linear in it."""
    if tracemalloc.is_tracing():
        yield
        return
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    if peak > MEMORY_A_BYTE * size + MEMORY:
        detail = f"{peak} bytes of memory taken for {size} that came"
        raise InvariantError("memory is linear in the input", detail, "peak")
