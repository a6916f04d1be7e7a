"""Faults that answer everything right and take too much for it: memory, descriptors, CPU, the time of others."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from wireproof.mutants.throttr.server.mutant import mutant
from wireproof.reference_server.throttr.records import Record
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import State
from wireproof.reference_server.throttr.store import Store

__all__ = ["MUTANTS"]

SPIN = 20_000
"""Steps of idle work at a time, some 2 ms."""


class Eager(ThrottrSession):
    """Takes the memory of a request as soon as its length is known."""

    def _take(self, data: bytes) -> None:
        super()._take(data)
        self._reserve()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._reserve()

    def _reserve(self) -> None:
        self.room = b"\x01" * min(self._need, self._max_frame) if self._tail else b""


class Hoarder(State):
    """Keeps what is no longer there."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.kept: list[object] = []


class LeavesDescriptor(ThrottrSession):
    """Opens a file for each connection and never closes it."""

    def connection_lost(self) -> None:
        if not self.closed:
            self._state.kept.append(os.open(os.devnull, os.O_RDONLY))  # type: ignore[attr-defined]
        super().connection_lost()


class LeavesBuffer(ThrottrSession):
    """Has a buffer for each connection and never gives it back."""

    def connection_lost(self) -> None:
        if not self.closed:
            self._state.kept.append(bytearray(b"\x01") * 4096)  # type: ignore[attr-defined]
        super().connection_lost()


class Graveyard(Store):
    """Removes a record from sight and not from memory."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.buried: list[Record] = []

    def remove(self, record: Record) -> None:
        super().remove(record)
        self.buried.append(record)


class Burying(State):
    """Has a store that never forgets."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.store = Graveyard(self.clock)


class Restless(State):
    """Looks for work all the time; only where a loop runs."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        try:
            self._loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        self._loop.call_soon(self._look)

    def _look(self) -> None:
        for _ in range(SPIN):
            pass
        self._loop.call_soon(self._look)


class OneAtATime(ThrottrSession):
    """Is heard only while it is the oldest open connection."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._unheard: list[bytes] = []
        self._unheard_end = False

    def _has_its_turn(self) -> bool:
        return next(iter(self._state.sessions.values()), self) is self

    def data_received(self, data: bytes) -> None:
        if self._has_its_turn():
            super().data_received(data)
        else:
            self._unheard.append(data)

    def eof_received(self) -> None:
        if self._has_its_turn():
            super().eof_received()
        else:
            self._unheard_end = True

    def connection_lost(self) -> None:
        had_it = not self.closed and self._has_its_turn()
        super().connection_lost()
        following = next(iter(self._state.sessions.values()), None)
        if had_it and isinstance(following, OneAtATime):
            following.begin()

    def begin(self) -> None:
        """Hear what was said while it was not its turn."""
        unheard, self._unheard = self._unheard, []
        for data in unheard:
            if not self.closed:
                super().data_received(data)
        if self._unheard_end and not self.closed:
            super().eof_received()


# fmt: off
MUTANTS = (
    mutant("memory-of-announced-length", "The memory of a request is taken when its length is known, before it came.", "ROBUSTNESS-3", session=Eager,
           variants=("uint16", "uint32", "uint64"), live=True),
    mutant("connection-leaves-descriptor", "Each connection leaves a descriptor open behind it.", "BUDGET-1", state=Hoarder, session=LeavesDescriptor,
           live=True),
    mutant("connection-leaves-buffer", "Each connection leaves a buffer of 4 KiB behind it.", "BUDGET-1", state=Hoarder, session=LeavesBuffer,
           live=True),
    mutant("busy-while-idle", "The server polls for work without a pause.", "BUDGET-2", state=Restless, live=True),
    mutant("expired-stays-in-memory", "Expired records are gone from every answer and stay in memory.", "BUDGET-3", state=Burying, live=True),
    mutant("one-client-at-a-time", "Only the oldest open connection is heard; the others wait for it to end.", "BUDGET-4", "ROBUSTNESS-19",
           session=OneAtATime, live=True),
)
# fmt: on
