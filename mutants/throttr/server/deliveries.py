"""Faults that show under one delivery only: with whole requests in segments of their own all is well."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wireproof.mutants.throttr.server.mutant import mutant
from wireproof.mutants.throttr.server.sessions import Batched, batched
from wireproof.protocols.messages import Request
from wireproof.protocols.throttr import RequestType
from wireproof.protocols.throttr.requests import Query, Subscribe, Update
from wireproof.reference_server.throttr.session import ThrottrSession

__all__ = ["MUTANTS"]

MS = 1_000_000
SLOW_NS = 500 * MS


class _Forgetful(ThrottrSession):
    """Forgets the beginning of a request where `forgets` says so."""

    def data_received(self, data: bytes) -> None:
        """See `Session`."""
        super().data_received(data)
        if self._tail and self.forgets(bytes(self._tail), data):
            self._tail.clear()

    def forgets(self, beginning: bytes, piece: bytes) -> bool:
        """Say whether the beginning, which `piece` ends, is lost."""
        return False


class _SetBehindTTL(_Forgetful):
    """Loses a SET that is cut right behind its TTL, though not within it."""

    def forgets(self, beginning: bytes, piece: bytes) -> bool:
        """See `_Forgetful`."""
        return beginning[0] == RequestType.SET and len(beginning) == 2 + self._state.value_size and len(piece) > 1


class _PurgeBehindSize(_Forgetful):
    """Loses a PURGE that is cut behind the size of its key."""

    def forgets(self, beginning: bytes, piece: bytes) -> bool:
        """See `_Forgetful`."""
        return beginning[0] == RequestType.PURGE and len(beginning) == 2


class _ShortKey(ThrottrSession):
    """Takes what has come of the key of an UPDATE for the whole of it."""

    _missing = 0

    def data_received(self, data: bytes) -> None:
        """See `Session`."""
        data, self._missing = data[self._missing :], max(self._missing - len(data), 0)
        if not data:
            return
        super().data_received(data)
        beginning, header = bytes(self._tail), self._state.codec.layout(Update).fixed_size
        if len(beginning) > header and beginning[0] == RequestType.UPDATE:
            size = beginning[header - 1]
            self._missing = header + size - len(beginning)
            self._tail.clear()
            short = beginning[: header - 1] + bytes([size - self._missing]) + beginning[header:]
            super().data_received(short)


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


def _without_subscribe(session: Batched, requests: Sequence[Request]) -> Sequence[bytes]:
    """Lose a SUBSCRIBE that stands right behind a QUERY."""
    return [
        session.one(request)
        for place, request in enumerate(requests)
        if not (place and isinstance(request, Subscribe) and isinstance(requests[place - 1], Query))
    ]


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


MUTANTS = (
    mutant("set-cut-behind-its-ttl-lost", "A SET of which a segment ends right behind the TTL is lost.", "ROBUSTNESS-6",
          session=_SetBehindTTL, variants=("uint16", "uint32", "uint64")),
    mutant("purge-cut-behind-its-size-lost", "A PURGE of which a segment ends right behind the key size is lost.",
          "ROBUSTNESS-6", session=_PurgeBehindSize),
    mutant("update-key-taken-short", "UPDATE takes what has come of its key for the whole of it.", "ROBUSTNESS-6",
          session=_ShortKey),
    mutant("slow-requests-forgotten", "A request that takes more than half a second to come is forgotten.",
          "ROBUSTNESS-6", session=_Slow),
    mutant("subscribe-behind-query-lost", "A SUBSCRIBE right behind a QUERY in one segment is lost.", "ROBUSTNESS-7",
          "ROBUSTNESS-5", session=batched(_without_subscribe)),
    mutant("channel-unanswered-at-half-close", "CHANNEL is not answered when the client ends its side right behind it.",
          "ROBUSTNESS-9", session=_ChannelLater),
)  # fmt: skip
