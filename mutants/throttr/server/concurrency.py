"""Mutants that show only while several connections use one record at the same time: everything sequential is right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wireproof.mutants.throttr.server.mutant import ServerMutant, mutant
from wireproof.mutants.throttr.server.patches import with_handler
from wireproof.mutants.throttr.server.races import (
    HESITANT,
    MILLISECOND,
    Crowd,
    Hiding,
    beginning,
    decreases,
    finishing,
    hidden_updates,
)
from wireproof.protocols.messages import Request
from wireproof.protocols.throttr import Attribute, Change
from wireproof.protocols.throttr.requests import Insert, Set, Update
from wireproof.reference_server.throttr.record_requests import SHOWN_UNIT
from wireproof.reference_server.throttr.records import Buffer, Counter, Record
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import Handler

__all__ = ["MUTANTS"]


def _race(
    name: str,
    description: str,
    kind: type[Request],
    begins: Callable[[Crowd, Any], Any],
    finish: Callable[[Crowd, Any, Any], bool],
) -> ServerMutant:
    """Return a mutant of requests of `kind` that are begun at one instant and done at another."""
    patches = {"state": beginning(begins, kind), "handlers": finishing(kind, finish)}
    return mutant(name, description, "CONCURRENCY-1 CONCURRENCY-3", HESITANT, **patches)


def _decrease_of(state: Crowd, request: Update) -> tuple[Counter, int] | None:
    """Remember the counter and its quota, where a DECREASE is possible."""
    record = state.counter(request.key) if decreases(request) else None
    return (record, record.quota) if record is not None and record.quota >= request.value else None


def _writes_back(state: Crowd, request: Update, begun: tuple[Counter, int]) -> bool:
    record, quota = begun
    if state.counter(request.key) is record:
        record.quota = quota
    return False


def _takes_what_is_left(state: Crowd, request: Update, begun: tuple[Counter, int]) -> bool:
    record, _ = begun
    if state.counter(request.key) is not record or record.quota >= request.value:
        return False
    record.quota = 0
    record.forget_answer()
    return True


def _ttl_of(state: Crowd, request: Update) -> tuple[Record, int] | None:
    """Remember when a record is due that is to live longer or shorter."""
    record = state.held(request.key)
    moves = request.attribute == Attribute.TTL and request.change in (Change.INCREASE, Change.DECREASE)
    return (record, record.due) if moves and record is not None else None


def _moves_from_there(state: Crowd, request: Update, begun: tuple[Record, int]) -> bool:
    record, due = begun
    if state.held(request.key) is record:
        state.store.move(record, due)
    return False


def _held(state: Crowd, request: Any) -> Record | None:
    return state.held(request.key)


def _nothing_there(state: Crowd, request: Insert) -> bool | None:
    return True if state.held(request.key) is None else None


def _takes_the_place(state: Crowd, request: Insert, begun: bool) -> bool:
    record = state.held(request.key)
    if record is not None:
        state.store.remove(record)
    return False


def _half_set(state: Crowd, request: Set) -> Buffer | None:
    """Set the TTL at once, the value in a while: what was there before, or none."""
    record, due = state.held(request.key), _due(state, request)
    if record is None:
        fresh = Buffer(request.key, request.ttl_type, state.minutes.index, value=b"")
        state.store.add(fresh, due)
        return fresh
    if not isinstance(record, Buffer) or not state.rules.set_overwrites:
        return None
    state.store.overwrite(record, request.ttl_type, record.value, due)
    return record


def _other_half(state: Crowd, request: Set, record: Buffer) -> bool:
    if state.held(request.key) is not record:
        return False
    state.store.overwrite(record, request.ttl_type, request.value, _due(state, request))
    return True


def _due(state: Crowd, request: Set) -> int:
    return state.clock.monotonic_ns() + request.ttl * SHOWN_UNIT[request.ttl_type]


def _twice(correct: Handler, state: Any) -> Handler:
    def handle(request: Update, session: ThrottrSession, now: int) -> bytes:
        record = state.counter(request.key)
        crowded = state.crowded(session, request.key)
        if crowded and record is not None and decreases(request) and record.quota >= 2 * request.value:
            correct(request, session, now)
        return correct(request, session, now)

    return handle


# fmt: off
MUTANTS = (
    mutant("slow-in-a-crowd",
           "A request about a record takes a millisecond while several connections use it; others go first. Legal.", "",
           HESITANT, state=beginning(lambda state, request: True, Request)),
    _race("decrease-loses-updates",
          "A DECREASE among others writes back the quota it read, and what changed it in between is lost.",
          Update, _decrease_of, _writes_back),
    _race("decrease-oversold",
          "A DECREASE among others is granted by the quota it read, though others took it in between; 0 is left.",
          Update, _decrease_of, _takes_what_is_left),
    _race("ttl-change-loses-updates",
          "A change of a TTL among others begins from the expiry it read, and what moved it in between is lost.",
          Update, _ttl_of, _moves_from_there),
    mutant("decrease-applied-twice", "A DECREASE is applied twice when several other connections use the counter.",
           "CONCURRENCY-1 CONCURRENCY-3", state=Crowd, handlers=with_handler(Update, _twice)),
    _race("insert-won-twice", "INSERTs of one free key at the same time are all answered 01, the last one stays.",
          Insert, _nothing_there, _takes_the_place),
    _race("set-torn", "A SET among others shows its TTL before its value.", Set, _half_set, _other_half),
    mutant("update-answered-first",
           "Among others, an UPDATE of a quota is answered before other connections can see it.", "CONCURRENCY-3",
           state=Hiding, handlers=hidden_updates(from_others=True, delay=2 * MILLISECOND)),
    mutant("update-overtaken",
           "Among others, an UPDATE of a quota acts after the QUERYs sent after it in the same segment.",
           "CONCURRENCY-2", state=Hiding, handlers=hidden_updates(from_others=False, delay=0)),
)
# fmt: on
