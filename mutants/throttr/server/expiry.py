"""Faults of the instant at which records expire: early, rounded, out of turn, or that of another record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wireproof.mutants.throttr.server.graves import Haunted, answering
from wireproof.mutants.throttr.server.mutant import HandlerPatch, mutant
from wireproof.mutants.throttr.server.patches import Ask, both, with_answer
from wireproof.protocols.throttr.requests import Get, Insert, Query, Set
from wireproof.reference_server.clock import Clock
from wireproof.reference_server.throttr.records import Record
from wireproof.reference_server.throttr.state import ACCEPTED, State
from wireproof.reference_server.throttr.store import Store

__all__ = ["LATE", "MUTANTS", "restamped"]

SECOND = 1_000_000_000
LATE = (*(f"EXPIRY-{number}" for number in range(1, 11)), "EXPIRY-12", "EXPIRY-13", "INFO-21", "INFO-22", "INFO-23")
"""What is false of a server on which records stay too long, whatever is asked about them."""


def restamped(kinds: Any, due: Callable[[Record, Ask], int]) -> HandlerPatch:
    """Let a record just stored expire at `due(record, ask)`, monotonic ns."""

    def change(answer: bytes, ask: Ask) -> bytes:
        if answer == ACCEPTED:
            record = ask.state.store.records[ask.request.key]
            ask.state.store.move(record, due(record, ask))
        return answer

    return with_answer(kinds, change)


class _Watched(Store):
    """A store that does something else to a record at an instant of its own."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.clock = clock


class _Hasty(_Watched):
    """Records go before their instant."""

    def early(self, record: Record, span: int) -> int:
        """Return how much too early, ns, a record goes that was given `span`."""
        return span // 4

    def add(self, record: Record, due: int) -> None:
        """See `Store`."""
        super().add(record, due)
        gone = due - self.early(record, due - self.clock.monotonic_ns())
        if gone < due:
            self.clock.call_at(gone, lambda: self._end(record, due))

    def _end(self, record: Record, due: int) -> None:
        if self.records.get(record.key) is record and record.due == due:
            self.remove(record)


class _ByKey(_Watched):
    """The expiry of a key ends whatever is there then."""

    def add(self, record: Record, due: int) -> None:
        """See `Store`."""
        super().add(record, due)
        self.clock.call_at(due, lambda: self._end(record))

    def _end(self, record: Record) -> None:
        held = self.records.get(record.key)
        if held is not None and held is not record:
            self.remove(held)


class _First(_Watched):
    """A key gives each of its records as long as it gave the first."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.spans: dict[bytes, int] = {}

    def add(self, record: Record, due: int) -> None:
        """See `Store`."""
        now = self.clock.monotonic_ns()
        super().add(record, now + self.spans.setdefault(record.key, due - now))


def _keeping_in(store: type[Store]) -> type[State]:
    """Return a server whose records are kept by `store`."""

    class Keeping(State):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            self.store = store(self.clock)

    return Keeping


def _older_lives(record: Record, ask: Ask) -> bool:
    order: dict[bytes, int] = ask.state.order  # type: ignore[attr-defined]
    return any(order[other.key] < order[record.key] for other in ask.state.store.live(ask.now))


def _younger_lives(record: Record, ask: Ask) -> bool:
    order: dict[bytes, int] = ask.state.order  # type: ignore[attr-defined]
    return any(order[other.key] > order[record.key] for other in ask.state.store.live(ask.now))


class _Ordered(Haunted):
    """A server that knows in which order its records were stored."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.order: dict[bytes, int] = {}


def _numbering(answer: bytes, ask: Ask) -> bytes:
    order: dict[bytes, int] = ask.state.order  # type: ignore[attr-defined]
    if answer == ACCEPTED:
        order[ask.request.key] = ask.now * 1000 + len(order)
    return answer


def _lingering(when: Callable[[Record, Ask], bool]) -> HandlerPatch:
    return both(with_answer((Insert, Set), _numbering), answering(Query, when), answering(Get, when))


STORING = (Insert, Set)
# fmt: off
MUTANTS = (
    mutant("expires-a-quarter-early", "Records go when three quarters of their time are over.", "EXPIRY-11", state=_keeping_in(_Hasty)),
    mutant("expires-in-turn", "QUERY and GET find what expired as long as an older record lives.", "EXPIRY-12", "EXPIRY-1", "EXPIRY-2",
           state=_Ordered, handlers=_lingering(_older_lives)),
    mutant("expires-with-the-newest", "QUERY and GET find what expired as long as a younger record lives.", "EXPIRY-12", "EXPIRY-1", "EXPIRY-2",
           state=_Ordered, handlers=_lingering(_younger_lives)),
    mutant("expires-by-key", "The expiry of a purged record ends the next one of its key.", "EXPIRY-13", "EXPIRY-11", state=_keeping_in(_ByKey)),
    mutant("expires-like-the-first", "A record lives as long as the first of its key was given.", "EXPIRY-13", "EXPIRY-11", "EXPIRY-9", "EXPIRY-10",
           "PURGE-8", state=_keeping_in(_First)),
)
# fmt: on
