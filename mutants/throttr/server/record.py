"""Faults of records: what kind a record is of, whose it is, and what leaves it alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wireproof.mutants.throttr.server.keys import refusing
from wireproof.mutants.throttr.server.memory import Remembering, keeping, own
from wireproof.mutants.throttr.server.mutant import HandlerPatch, mutant
from wireproof.mutants.throttr.server.patches import Ask, Kinds, both, held, showing, with_answer
from wireproof.protocols.throttr.requests import Get, Insert, Purge, Query, Set, Stat, Unsubscribe, Update
from wireproof.reference_server.throttr.records import Buffer, Counter, Record
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import ACCEPTED, DENIED

__all__ = ["MUTANTS"]


def _then(kinds: Kinds, act: Callable[[Ask], object], if_answered: bytes = ACCEPTED) -> HandlerPatch:
    """Do `act(ask)` behind a request answered so."""

    def change(answer: bytes, ask: Ask) -> bytes:
        if answer == if_answered:
            act(ask)
        return answer

    return with_answer(kinds, change)


def _drop(ask: Ask, record: Record | None) -> None:
    if record is not None:
        ask.state.store.remove(record)


def _drop_named(ask: Ask) -> None:
    """Remove the record named like the channel asked about."""
    _drop(ask, ask.state.store.find(ask.request.channel, ask.now))


def _end_channel(ask: Ask) -> None:
    """End every subscription to the channel named like the key asked about."""
    for subscription in ask.state.channels.of(ask.request.key):
        ask.state.channels.remove(ask.request.key, subscription.session)


def _has_channel(ask: Ask) -> bool:
    return bool(ask.state.channels.of(ask.request.key))


class Mortal(Remembering):
    """A server on which what was noted goes with the connection that stored it."""

    def forget(self, session: ThrottrSession) -> None:
        """See `State`."""
        super().forget(session)
        for key, owner in self.owners.items():
            record = self.store.find(key, self.now)
            if owner == session.id and record is not None:
                self.store.remove(record)


class Caching(ThrottrSession):
    """A connection that keeps the quotas that it was told, until it asks to change them."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.kept: dict[bytes, int] = {}


def _kept(quota: int, ask: Ask) -> int:
    assert isinstance(ask.session, Caching)
    return ask.session.kept.setdefault(ask.request.key, quota)


def _uncache(answer: bytes, ask: Ask) -> bytes:
    assert isinstance(ask.session, Caching)
    ask.session.kept.pop(ask.request.key, None)
    return answer


def _not_own(ask: Ask) -> bool:
    return held(ask) is not None and not own(ask.request.key, ask.session, ask.state)


def _as_counter(ask: Ask) -> None:
    """Make a counter of a buffer."""
    record = held(ask)
    if isinstance(record, Buffer):
        due = record.due
        ask.state.store.remove(record)
        ask.state.store.add(Counter(record.key, record.ttl_type, record.minute, quota=len(record.value)), due)


def _as_buffer(ask: Ask) -> None:
    """Make a buffer of a counter."""
    record = held(ask)
    if isinstance(record, Counter):
        due = record.due
        ask.state.store.remove(record)
        value = record.quota.to_bytes(ask.state.value_size, "little")
        ask.state.store.add(Buffer(record.key, record.ttl_type, record.minute, value=value), due)


def _shorten_newest(ask: Ask) -> None:
    """Take from what was stored last half of the time it has left."""
    record = next(reversed(list(ask.state.store.live(ask.now))), None)
    if record is not None:
        ask.state.store.move(record, ask.now + (record.due - ask.now) // 2)


# fmt: off
MUTANTS = (
    mutant("refused-update-makes-counters", "UPDATE of the quota of a buffer is refused and makes a counter of it.", "RECORD-1", "RECORD-9",
           "UPDATE-21", handlers=_then(Update, _as_counter, DENIED)),
    mutant("refused-insert-makes-buffers", "INSERT on a counter is refused and makes a buffer of it.", "RECORD-1", "RECORD-9", "INSERT-9",
           handlers=_then(Insert, _as_buffer, DENIED)),
    mutant("records-of-the-connection", "Only the connection that stored a record finds it.", "RECORD-7", "INSERT-8", "SET-12", "PURGE-5", "PURGE-6",
           "STAT-9", state=Remembering,
           handlers=both(refusing((Query, Update, Purge, Get, Stat), _not_own), keeping("owners", (Insert, Set), ACCEPTED))),
    mutant("buffers-go-with-their-connection", "A buffer is gone when the connection that stored it is.", "RECORD-7", state=Mortal,
           handlers=keeping("owners", (Set,), ACCEPTED)),
    mutant("connections-cache-quotas", "A connection is told the quota it was told before, unless it changed it itself.", "RECORD-7", "UPDATE-14",
           "QUERY-6", session=Caching, handlers=both(showing(Query, quota=_kept), with_answer((Insert, Set, Update, Purge), _uncache))),
    mutant("unsubscribe-purges", "UNSUBSCRIBE removes the record named like the channel.", "RECORD-8", handlers=_then(Unsubscribe, _drop_named)),
    mutant("purge-ends-channels", "PURGE of a record ends the subscriptions to the channel named like it.", "RECORD-8",
           handlers=_then(Purge, _end_channel)),
    mutant("insert-refuses-names-of-channels", "INSERT of a key that names a channel is refused.", "RECORD-8", "RECORD-4",
           handlers=refusing(Insert, _has_channel)),
    mutant("refused-update-shortens-the-newest", "A refused UPDATE halves the time left to the newest record.", "RECORD-9", "UPDATE-21",
           handlers=_then(Update, _shorten_newest, DENIED)),
)
# fmt: on
