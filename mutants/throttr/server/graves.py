"""A server that still knows records whose time is up, and what lets a request find them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from wireproof.mutants.throttr.server.mutant import HandlerPatch
from wireproof.mutants.throttr.server.patches import Ask, with_answer
from wireproof.protocols.throttr.replies import GetReply, QueryReply
from wireproof.protocols.throttr.requests import Get, Query
from wireproof.reference_server.clock import Clock
from wireproof.reference_server.throttr.records import Buffer, Counter, Record
from wireproof.reference_server.throttr.state import DENIED, State
from wireproof.reference_server.throttr.store import Store

__all__ = ["Graves", "Haunted", "When", "answering", "buried", "dead", "with_dead"]

When = Callable[[Record, Ask], bool]


class Graves(Store):
    """Keeps what expired until its key is used again; what was purged is gone."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.graves: dict[bytes, Record] = {}
        self.clock = clock

    def remove(self, record: Record) -> None:
        """See `Store`."""
        super().remove(record)
        if record.due <= self.clock.monotonic_ns():
            self.graves[record.key] = record

    def add(self, record: Record, due: int) -> None:
        """See `Store`."""
        super().add(record, due)
        self.graves.pop(record.key, None)

    def dead(self, now: int) -> Iterator[Record]:
        """Go through what expired."""
        yield from self.graves.values()
        yield from (record for record in self.records.values() if record.due <= now)


class Haunted(State):
    """A server with graves."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.store = Graves(self.clock)


def _graves(ask: Ask) -> Graves:
    store = ask.state.store
    assert isinstance(store, Graves)
    return store


def buried(ask: Ask) -> list[Record]:
    """Return all that expired."""
    return list(_graves(ask).dead(ask.now))


def dead(ask: Ask) -> Record | None:
    """Return what expired under the key asked about, unless a live record is there."""
    store = _graves(ask)
    record = store.records.get(ask.request.key)
    if record is None:
        return store.graves.get(ask.request.key)
    return record if record.due <= ask.now else None


def with_dead(kinds: Any, change: Callable[[bytes, Record, Ask], bytes]) -> HandlerPatch:
    """Answer `change(right answer, dead record, ask)` where the record asked about expired."""

    def on_answer(answer: bytes, ask: Ask) -> bytes:
        record = dead(ask)
        return answer if record is None else change(answer, record, ask)

    return with_answer(kinds, on_answer)


def answering(kind: type, when: When = lambda record, ask: True) -> HandlerPatch:
    """Let QUERY or GET answer for what expired, with no time left, where `when` says so."""

    def change(answer: bytes, record: Record, ask: Ask) -> bytes:
        if not when(record, ask):
            return answer
        if kind is Query and isinstance(record, Counter):
            return ask.state.codec.encode(QueryReply(record.quota, record.ttl_type, 0))
        if kind is Get and isinstance(record, Buffer):
            return ask.state.codec.encode(GetReply(record.ttl_type, 0, record.value))
        return DENIED

    return with_dead(kind, change)
