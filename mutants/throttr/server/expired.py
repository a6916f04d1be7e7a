"""Mutants that still find what expired, or let it be in the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from wireproof.mutants.throttr.server.mutant import HandlerPatch, mutant
from wireproof.mutants.throttr.server.patches import Ask, changed, with_answer, with_found, with_handler, with_rows
from wireproof.protocols.throttr import Attribute, Change
from wireproof.protocols.throttr.replies import GetReply, ListRow, QueryReply, StatReply, StatsRow
from wireproof.protocols.throttr.requests import Get, Info, Insert, List, Purge, Query, Set, Stat, Stats, Update
from wireproof.reference_server.clock import Clock
from wireproof.reference_server.throttr.records import Buffer, Counter, Record
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import ACCEPTED, DENIED, Handler, State
from wireproof.reference_server.throttr.store import Store

__all__ = ["MUTANTS"]

When = Callable[[Record, Ask], bool]


class Graves(Store):
    """Keeps what expired until its key is used again; what was purged is gone."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.graves: dict[bytes, Record] = {}
        self.clock = clock

    def remove(self, record: Record) -> None:
        super().remove(record)
        if record.due <= self.clock.monotonic_ns():
            self.graves[record.key] = record

    def add(self, record: Record, due: int) -> None:
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


SECOND = 1_000_000_000


def _lately(span: int) -> Callable[[Record, Ask], bool]:
    """Whether it expired less than `span` ns ago."""
    return lambda record, ask: ask.now < record.due + span


def _once(record: Record, ask: Ask) -> bool:
    """Whether nobody asked since it expired; from now on, somebody did."""
    first = record.minute >= 0
    record.minute = -1
    return first


def _revive(answer: bytes, record: Record, ask: Ask) -> bytes:
    """Let an UPDATE of the TTL give an expired record another life."""
    request: Update = ask.request
    if request.attribute != Attribute.TTL or request.change == Change.DECREASE:
        return answer
    ask.state.store.graves.pop(record.key, None)  # type: ignore[attr-defined]
    ask.state.store.add(record, ask.now + SECOND)
    return ACCEPTED


def _row(kind: type, record: Record, ask: Ask) -> Any:
    if kind is List:
        return ListRow(record.key, record.key_type, record.ttl_type, ask.state.wall(record.due), ask.state.value_size)
    return StatsRow(record.key, *record.metrics(ask.state.minutes.index, live=True))


def _listing_dead(kind: type) -> HandlerPatch:
    return with_rows(kind, lambda rows, ask: rows + [_row(kind, record, ask) for record in buried(ask)])


def _counting_dead(**fields: Callable[[Record, Ask], int]) -> HandlerPatch:
    """Count expired records, each by what a function says of it, in fields of INFO."""

    def change(reply: Any, ask: Ask) -> Any:
        more = {name: sum(count(record, ask) for record in buried(ask)) for name, count in fields.items()}
        return changed(reply, **{name: getattr(reply, name) + number for name, number in more.items()})

    return with_found(Info, change)


def _refusing(kinds: Any, when: Callable[[Record, Ask], bool]) -> HandlerPatch:
    """Refuse to store under the key of an expired record."""

    def make(correct: Handler, state: State) -> Handler:
        def handle(request: Any, session: ThrottrSession, now: int) -> bytes:
            ask = Ask(request, session, now, state)
            record = dead(ask)
            return DENIED if record is not None and when(record, ask) else correct(request, session, now)

        return handle

    return with_handler(kinds, make)


def _inheriting(kinds: Any, inherit: Callable[[Any, Any, Ask], object]) -> HandlerPatch:
    """Call `inherit(new record, expired one, ask)` when a record is stored under the key of an expired one."""

    def make(correct: Handler, state: State) -> Handler:
        def handle(request: Any, session: ThrottrSession, now: int) -> bytes:
            ask = Ask(request, session, now, state)
            record = dead(ask)
            answer = correct(request, session, now)
            if record is not None and answer == ACCEPTED:
                inherit(state.store.records[request.key], record, ask)
            return answer

        return handle

    return with_handler(kinds, make)


def _old_quota(record: Any, old: Record, ask: Ask) -> None:
    if isinstance(record, Counter) and isinstance(old, Counter):
        record.quota = old.quota


def _old_value(record: Any, old: Record, ask: Ask) -> None:
    if isinstance(record, Buffer):
        value = record.value + old.value[len(record.value) :]
        ask.state.store.overwrite(record, record.ttl_type, value, record.due)


def _update_accepted(attribute: Attribute, kind: type[Record]) -> HandlerPatch:
    def change(answer: bytes, record: Record, ask: Ask) -> bytes:
        return ACCEPTED if ask.request.attribute == attribute and isinstance(record, kind) else answer

    return with_dead(Update, change)


def _stat_of_dead(answer: bytes, record: Record, ask: Ask) -> bytes:
    return ask.state.codec.encode(StatReply(*record.metrics(ask.state.minutes.index, live=True)))


def _is(kind: type[Record]) -> Callable[[Record, Ask], bool]:
    return lambda record, ask: isinstance(record, kind)


ASKING = ((Query, "EXPIRY-1"), (Get, "EXPIRY-2"))
# fmt: off
EXPIRED_MUTANTS = (
    *(mutant(f"{kind.NAME.lower()}-answers-once-more", f"The first {kind.NAME} after it expired still finds a record.",
            clause, "TTL-16", state=Haunted, handlers=answering(kind, _once))
      for kind, clause in ASKING),
    *(mutant(f"{kind.NAME.lower()}-half-a-second-late", f"{kind.NAME} answers for half a second after the expiry.",
            clause, "TTL-16", state=Haunted, handlers=answering(kind, _lately(SECOND // 2)))
      for kind, clause in ASKING),
    mutant("update-revives", "UPDATE of the TTL gives an expired record another second.", "EXPIRY-3", state=Haunted,
           handlers=with_dead(Update, _revive)),
    *(mutant(f"update-{attribute.name.lower()}-of-expired-{name}",
            f"UPDATE {attribute.name} of expired {name} answers 01.",
            "EXPIRY-3", state=Haunted, handlers=_update_accepted(attribute, kind))
      for attribute, name, kind in (
          (Attribute.QUOTA, "counters", Counter), (Attribute.TTL, "counters", Counter),
          (Attribute.TTL, "buffers", Buffer))),
    mutant("purge-of-expired", "PURGE of what expired answers 01.", "EXPIRY-4", state=Haunted,
           handlers=with_dead(Purge, lambda answer, record, ask: ACCEPTED)),
    mutant("stat-of-expired", "STAT answers for what expired.", "EXPIRY-5", state=Haunted, handlers=with_dead(Stat, _stat_of_dead)),
    mutant("list-names-the-expired", "LIST names what expired.", "EXPIRY-6", state=Haunted, handlers=_listing_dead(List)),
    mutant("stats-names-the-expired", "STATS names what expired.", "EXPIRY-7", state=Haunted, handlers=_listing_dead(Stats)),
    mutant("info-counts-the-expired", "INFO counts what expired.", "EXPIRY-8", "INFO-21", "INFO-22", "INFO-23", state=Haunted,
           handlers=_counting_dead(keys=lambda record, ask: 1, counters=lambda record, ask: 1 - record.key_type, buffers=lambda record, ask: record.key_type)),
    mutant("info-counts-expired-bytes", "INFO's allocated bytes count what expired.", "EXPIRY-8", state=Haunted,
           handlers=_counting_dead(allocated_bytes_on_counters=lambda record, ask: (1 - record.key_type) * ask.state.value_size, allocated_bytes_on_buffers=lambda record, ask: len(record.value))),
    mutant("insert-refused-after-expiry", "INSERT of a key whose record expired is refused for ten seconds.", "EXPIRY-9", state=Haunted,
           handlers=_refusing(Insert, _lately(10 * SECOND))),
    mutant("insert-refused-after-a-buffer", "INSERT of a key whose buffer expired is refused for ten seconds.", "EXPIRY-9", state=Haunted,
           handlers=_refusing(Insert, _is(Buffer))),
    mutant("insert-takes-an-expired-quota", "INSERT under the key of an expired counter keeps its quota.", "EXPIRY-9", state=Haunted,
           handlers=_inheriting(Insert, _old_quota)),
    mutant("set-refused-after-a-counter", "SET of a key whose counter expired is refused.", "EXPIRY-10", "EXPIRY-13", state=Haunted,
           handlers=_refusing(Set, _is(Counter))),
    mutant("set-keeps-the-end-of-an-expired-value", "SET over a longer value that expired keeps its end.", "EXPIRY-10", state=Haunted,
           handlers=_inheriting(Set, _old_value)),
)
# fmt: on


MUTANTS = (*EXPIRED_MUTANTS,)
