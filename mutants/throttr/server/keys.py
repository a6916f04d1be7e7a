"""Mutants of keys and of records as such, and those of the demonstration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from wireproof.mutants.throttr.server.mutant import HandlerPatch, ServerMutant, mutant
from wireproof.mutants.throttr.server.patches import (
    Ask,
    Kinds,
    both,
    changed,
    held,
    showing,
    with_answer,
    with_found,
    with_handler,
    with_request,
)
from wireproof.mutants.throttr.server.shared import Remembering, keeping, own
from wireproof.protocols.messages import Request
from wireproof.protocols.throttr import Attribute, Change
from wireproof.protocols.throttr.requests import Get, Insert, Purge, Query, Set, Stat, Unsubscribe, Update
from wireproof.reference_server.clock import Clock
from wireproof.reference_server.throttr.records import Buffer, Counter, Record
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import ACCEPTED, DENIED, Handler, State
from wireproof.reference_server.throttr.store import Store

__all__ = ["MUTANTS"]

NAMED: Mapping[str, tuple[type[Request], str]] = {
    "insert": (Insert, "INSERT-5"),
    "query": (Query, "QUERY-2"),
    "update": (Update, "UPDATE-10"),
    "purge": (Purge, "PURGE-2"),
    "set": (Set, "SET-4"),
    "get": (Get, "GET-2"),
    "stat": (Stat, "STAT-2"),
}
"""Requests that take a key, and what says how its size is told."""
Fold = Callable[[bytes], bytes]


class _Folded(dict[bytes, Record]):
    """Records by what a key is taken for."""

    def __init__(self, fold: Fold) -> None:
        super().__init__()
        self._fold = fold

    def __getitem__(self, key: bytes) -> Record:
        return super().__getitem__(self._fold(key))

    def __setitem__(self, key: bytes, record: Record) -> None:
        super().__setitem__(self._fold(key), record)

    def __delitem__(self, key: bytes) -> None:
        super().__delitem__(self._fold(key))

    def get(self, key: bytes, default: Any = None) -> Any:
        return super().get(self._fold(key), default)


def folding(fold: Fold) -> type[State]:
    """Return a server that takes keys with the same `fold` for one key."""

    class _Store(Store):
        def __init__(self, clock: Clock) -> None:
            super().__init__(clock)
            self.records = _Folded(fold)

    class Folding(State):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            self.store = _Store(self.clock)

    return Folding


def refusing(kinds: Kinds, when: Callable[[Ask], bool]) -> HandlerPatch:
    """Refuse requests of `kinds` where `when(ask)`, before anything is done."""

    def make(correct: Handler, state: State) -> Handler:
        def handle(request: Any, session: ThrottrSession, now: int) -> bytes:
            return DENIED if when(Ask(request, session, now, state)) else correct(request, session, now)

        return handle

    return with_handler(kinds, make)


def _is_text(ask: Ask) -> bool:
    try:
        ask.request.key.decode()
    except UnicodeDecodeError:
        return False
    return True


FOLDS: tuple[tuple[str, str, Fold, tuple[str, ...]], ...] = (
    ("in-any-case", "Letter case makes no difference between keys.", bytes.lower, ("RECORD-3",)),
    (
        "by-200-bytes",
        "Keys are compared by their first 200 bytes.",
        lambda key: key[:200],
        ("RECORD-3", "RECORD-6", "INSERT-5", "SET-4"),
    ),
    (
        "by-230-bytes",
        "Keys below 254 bytes are compared by their first 230.",
        lambda key: key[:230] if len(key) < 254 else key,
        ("RECORD-3",),
    ),
    (
        "by-254-bytes",
        "Keys are compared by their first 254 bytes.",
        lambda key: key[:254],
        ("RECORD-3", "RECORD-6", "INSERT-5", "SET-4"),
    ),
    (
        "without-trailing-zeros",
        "Zero bytes at the end of a key do not count.",
        lambda key: key.rstrip(b"\0"),
        ("RECORD-3", "RECORD-4"),
    ),
    (
        "up-to-a-zero-byte",
        "Keys are compared up to their first zero byte.",
        lambda key: key.partition(b"\0")[0],
        ("RECORD-3", "RECORD-4"),
    ),
    ("trimmed", "Blanks and line ends around a key do not count.", bytes.strip, ("RECORD-3", "RECORD-4")),
    (
        "of-2-bytes-either-way",
        "The order of the bytes of a key of two does not count.",
        lambda key: min(key, key[::-1]) if len(key) == 2 else key,
        ("RECORD-3",),
    ),
    (
        "of-7-bits",
        "Bit 7 of the bytes of a key does not count.",
        lambda key: bytes(byte & 0x7F for byte in key),
        ("RECORD-3", "RECORD-4"),
    ),
)
# fmt: off
KEYS_MUTANTS = (
    *(mutant(f"keys-{name}", description, *clauses, state=folding(fold)) for name, description, fold, clauses in FOLDS),
    *(mutant(f"{name}-refuses-255-bytes", f"{name.upper()} of a key of 255 bytes is refused, as if 254 were the most.",
            "RECORD-6", size, handlers=refusing(kind, lambda ask: len(ask.request.key) == 255))
      for name, (kind, size) in NAMED.items()),
    *(mutant(f"{name}-wants-text", f"{name.upper()} of a key that is not UTF-8 is refused.",
            "RECORD-4", handlers=refusing(kind, lambda ask: not _is_text(ask))) for name, (kind, _) in NAMED.items()),
)
# fmt: on


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
RECORD_MUTANTS = (
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


def _moves_nothing(request: Update, ask: Ask) -> Update:
    if request.attribute == Attribute.TTL:
        return changed(request, change=Change.INCREASE, value=0)
    return request


DEMONSTRATION_MUTANTS = (
    ServerMutant(
        name="quota-low-byte",
        clauses=("THR-QUERY-6",),
        description="QUERY answers only the low byte of the quota, the others as zero.",
        variants=("uint16", "uint32", "uint64"),
        handlers=with_found(Query, lambda reply, ask: changed(reply, quota=reply.quota & 0xFF)),
    ),
    ServerMutant(
        name="ttl-update-ignored",
        clauses=tuple(f"THR-UPDATE-{number}" for number in (25, 26, 27, 6, 7, 8, 30, 31, 32, 33)),
        description="UPDATE of a TTL is accepted and moves nothing.",
        handlers=with_request(Update, _moves_nothing),
    ),
)


MUTANTS = (
    *KEYS_MUTANTS,
    *RECORD_MUTANTS,
    *DEMONSTRATION_MUTANTS,
)
