"""Connections that pace what they write, in order and whole: in pieces, late, or together."""

from __future__ import annotations

from typing import Any

from wireproof.reference_server.throttr.session import ThrottrSession

__all__ = ["HalvedSession", "LatePushSession", "LateSession", "SlowSession", "SplitSession", "TogetherSession"]

MS = 1_000_000


class SplitSession(ThrottrSession):
    """Writes each byte by itself, up to 256 of every write: far more would take a loopback seconds."""

    def __init__(self, state: Any, dispatch: Any, peer: Any, write: Any, close: Any) -> None:
        self._bytewise = write
        super().__init__(state, dispatch, peer, self._split, close)

    def _split(self, data: bytes) -> None:
        for at in range(min(256, len(data))):
            self._bytewise(data[at : at + 1])
        if data[256:]:
            self._bytewise(data[256:])


class LateSession(ThrottrSession):
    """Writes `late_ns` after it could, and `pieces` pieces of each write with that much time between them."""

    late_ns, pieces = 5 * MS, 1

    def __init__(self, state: Any, dispatch: Any, peer: Any, write: Any, close: Any) -> None:
        self._out, self._shut = write, close
        self._due: list[bytes] = []
        self._ends = self._armed = False
        super().__init__(state, dispatch, peer, self._later, self._close_later)

    def _later(self, data: bytes) -> None:
        size = -(-len(data) // self.pieces)
        self._due += [data[at : at + size] for at in range(0, len(data), size or 1)]
        self._arm()

    def _arm(self) -> None:
        if not self._armed and (self._due or self._ends):
            self._armed = True
            clock = self._state.clock
            clock.call_at(clock.monotonic_ns() + self.late_ns, self._send)

    def _send(self) -> None:
        self._armed = False
        if self._due:
            self._out(self._taken())
        if self._ends and not self._due:
            self._ends = False
            self._shut()
        self._arm()

    def _taken(self) -> bytes:
        return self._due.pop(0)

    def _close_later(self) -> None:
        self._ends = True
        self._arm()

    def end(self) -> None:
        """See `ThrottrSession`."""
        self._ends = not self.closed
        super().end()

    def connection_lost(self) -> None:
        """See `Session`."""
        super().connection_lost()
        if not self._ends:
            self._due.clear()


class SlowSession(LateSession):
    """Takes 200 ms for what it answers to each segment."""

    late_ns = 200 * MS


class HalvedSession(LateSession):
    """Writes everything in two pieces."""

    late_ns, pieces = 3 * MS, 2


class TogetherSession(LateSession):
    """Gathers what it writes within 20 ms."""

    late_ns = 20 * MS

    def _taken(self) -> bytes:
        data = b"".join(self._due)
        self._due.clear()
        return data


class LatePushSession(ThrottrSession):
    """Writes pushes 20 ms later than it could."""

    _armed = False

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._late: list[bytes] = []

    def flush(self) -> None:
        """See `ThrottrSession`; what is to be written is set aside, so that requests do not wait for it."""
        self._late += self._pushes
        self._pushes.clear()
        if self._late and not self._armed and not self.closed:
            self._armed = True
            clock = self._state.clock
            clock.call_at(clock.monotonic_ns() + 20 * MS, self._flush_late)

    def _flush_late(self) -> None:
        self._armed = False
        if not self.closed:
            self._pushes[:0] = self._late
            self._late.clear()
            super().flush()
