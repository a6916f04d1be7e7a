"""Faults that show under one delivery only: with whole requests in segments of their own all is well."""

from __future__ import annotations

from typing import Any

from wireproof.mutants.throttr.server.mutant import mutant
from wireproof.protocols.throttr import RequestType
from wireproof.reference_server.throttr.session import ThrottrSession

__all__ = ["MUTANTS"]

MS = 1_000_000
SLOW_NS = 500 * MS


class _Slow(ThrottrSession):
    """Forgets a request that is not whole after half a second."""

    _since = 0

    def data_received(self, data: bytes) -> None:
        """See `Session`."""
        now = self._state.clock.monotonic_ns()
        if not self._tail:
            self._since = now
        elif now - self._since > SLOW_NS:
            self._tail.clear()
        super().data_received(data)


class _ChannelLater(ThrottrSession):
    """Answers a CHANNEL that comes alone 5 ms later, and not at all once the client has ended its side."""

    def __init__(self, state: Any, dispatch: Any, peer: Any, write: Any, close: Any) -> None:
        super().__init__(state, dispatch, peer, self._written, close)
        self._out = write
        self._due: list[bytes] = []
        self._waits_for_channel = False

    def data_received(self, data: bytes) -> None:
        """See `Session`."""
        self._send()
        self._waits_for_channel = (
            data[0] == RequestType.CHANNEL and len(data) == 2 + data[1:2][0] if data[1:] else False
        )
        super().data_received(data)
        self._waits_for_channel = False

    def _written(self, data: bytes) -> None:
        if self._waits_for_channel:
            self._due.append(data)
            self._state.clock.call_at(self._state.clock.monotonic_ns() + 5 * MS, self._send)
        else:
            self._send()
            self._out(data)

    def _send(self) -> None:
        due, self._due = self._due, []
        if due and not self.closed:
            self._out(b"".join(due))

    def eof_received(self) -> None:
        """See `Session`."""
        self._due.clear()
        super().eof_received()


# fmt: off
MUTANTS = (
    mutant("slow-requests-forgotten", "A request that takes more than half a second to come is forgotten.", "ROBUSTNESS-6", session=_Slow),
    mutant("channel-unanswered-at-half-close", "CHANNEL is not answered when the client ends its side right behind it.", "ROBUSTNESS-9",
           session=_ChannelLater),
)  # fmt: skip
# fmt: on
