"""Mutants of the instant at which records expire, and of the units and extremes of TTLs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wireproof.mutants.throttr.server.expired import Haunted, answering
from wireproof.mutants.throttr.server.mutant import HandlerPatch, mutant
from wireproof.mutants.throttr.server.patches import Ask, both, changed, held, showing, with_answer, with_found
from wireproof.protocols.throttr import Attribute, Change, TTLType
from wireproof.protocols.throttr.enums import NANOSECONDS_PER_UNIT
from wireproof.protocols.throttr.requests import Get, Insert, Query, Set, Update
from wireproof.reference_server.clock import Clock
from wireproof.reference_server.throttr.record_requests import SHOWN_UNIT
from wireproof.reference_server.throttr.records import Record
from wireproof.reference_server.throttr.state import ACCEPTED, State
from wireproof.reference_server.throttr.store import Store

__all__ = ["MUTANTS"]

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
EXPIRY_MUTANTS = (
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


NS, US, MS, S, MIN, H = NANOSECONDS_PER_UNIT.values()
EARLY = ("EXPIRY-11",)
BROAD = ("uint32", "uint64")


def _counted_in(kind: TTLType, unit: int, kinds: Any = STORING) -> HandlerPatch:
    """Let a TTL of type `kind` count `unit` ns each."""

    def due(record: Record, ask: Ask) -> int:
        return ask.now + ask.request.ttl * unit if record.ttl_type == kind else record.due

    return restamped(kinds, due)


def _wrapped(span: int, bits: int, *, signed: bool) -> int:
    """Return a span of time as it comes out in so many bits of ns."""
    span &= (1 << bits) - 1
    return span - (1 << bits) if signed and span >> (bits - 1) else span


def _wrapping(*, signed: bool) -> HandlerPatch:
    """Let amount times unit wrap at 64 bits in INSERT and SET."""
    return restamped(STORING, lambda record, ask: ask.now + _wrapped(record.due - ask.now, 64, signed=signed))


def _wrapping_update(answer: bytes, ask: Ask) -> bytes:
    """Let what is left wrap at 64 bits when UPDATE moves the expiry."""
    record = held(ask)
    if record is not None and answer == ACCEPTED and ask.request.attribute == Attribute.TTL:
        ask.state.store.move(record, ask.now + _wrapped(record.due - ask.now, 64, signed=True))
    return answer


def _wrapping_seconds(record: Record, ask: Ask) -> int:
    """Let the seconds of minutes and hours wrap at 32 bits."""
    unit = NANOSECONDS_PER_UNIT[TTLType(record.ttl_type)]
    return ask.now + (ask.request.ttl * unit // SECOND & 0xFFFFFFFF) * SECOND if unit > SECOND else record.due


class Told(State):
    """A server that remembers what TTL each record was given, and what it last showed."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.given: dict[Record, int] = {}
        self.shown: dict[Record, tuple[int, int]] = {}


def _told(ask: Ask) -> Told:
    assert isinstance(ask.state, Told)
    return ask.state


def _note(answer: bytes, ask: Ask) -> bytes:
    """Remember what a record was given, and forget what was shown of it."""
    record, request = held(ask), ask.request
    if answer == ACCEPTED and record is not None:
        given, before = _told(ask).given, _told(ask).given.get(record, 0)
        _told(ask).shown.pop(record, None)
        if not isinstance(request, Update):
            given[record] = request.ttl
        elif request.attribute == Attribute.TTL:
            moved: dict[int, int] = {Change.INCREASE: before + request.value, Change.DECREASE: before - request.value}
            given[record] = moved.get(request.change, request.value) & ask.state.value_max
    return answer


NOTING = with_answer((*STORING, Update), _note)


def _given(ttl: int, ask: Ask) -> int:
    record = held(ask)
    return ttl if record is None else _told(ask).given.get(record, ttl)


def _shown_before(ttl: int, ask: Ask) -> int:
    """Show for three seconds what was shown first."""
    record, shown = held(ask), _told(ask).shown
    if record is None:
        return ttl
    since, before = shown.setdefault(record, (ask.now, ttl))
    if ask.now < since + 3 * SECOND:
        return before
    del shown[record]
    return ttl


def _rounded_up(ttl: int, ask: Ask) -> int:
    """Show milliseconds in thousands."""
    record = held(ask)
    is_fine = record is not None and record.ttl_type == TTLType.MILLISECONDS
    return min(-(-ttl // 1000) * 1000, ask.state.value_max) if is_fine else ttl


def _in_tens(ttl: int, ask: Ask) -> int:
    """Show a TTL from 110 to 119 rounded up to tens."""
    return min(-(-ttl // 10) * 10, ask.state.value_max) if 110 <= ttl < 120 else ttl


class Ticking(State):
    """A server that takes one off every TTL each second, whatever its unit."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.stored: dict[Record, int] = {}

    def tick(self, answer: bytes, ask: Ask) -> bytes:
        """Let a record just stored in minutes or hours end after so many seconds."""
        record = held(ask)
        if answer == ACCEPTED and record is not None and record.ttl_type > TTLType.SECONDS:
            self.stored[record] = ask.now
            self.clock.call_at(ask.now + ask.request.ttl * SECOND, lambda: self._end(record))
        return answer

    def _end(self, record: Record) -> None:
        if self.store.records.get(record.key) is record:
            self.store.remove(record)


def _tick(answer: bytes, ask: Ask) -> bytes:
    assert isinstance(ask.state, Ticking)
    return ask.state.tick(answer, ask)


def _ticked(ttl: int, ask: Ask) -> int:
    record = held(ask)
    assert isinstance(ask.state, Ticking)
    if record is None or record not in ask.state.stored:
        return ttl
    return max(ttl - (ask.now - ask.state.stored[record]) // SECOND, 0)


def _fine_at_last(reply: Any, ask: Ask) -> Any:
    """Show what is left of the last second in milliseconds."""
    record = held(ask)
    if record is None or record.ttl_type > TTLType.SECONDS or record.due - ask.now >= SECOND:
        return reply
    left = min((record.due - ask.now) // MS, ask.state.value_max)
    return changed(reply, ttl_type=TTLType.MILLISECONDS, ttl=left)


def _if_zero(span: int | None) -> Callable[[Record, Ask], int]:
    """Let no time be `span` ns, or one of its units when None."""

    def due(record: Record, ask: Ask) -> int:
        unit = SHOWN_UNIT[record.ttl_type] if span is None else span
        return record.due if ask.request.ttl else ask.now + unit

    return due


# fmt: off
TTL_MUTANTS = (
    *(mutant(f"{name}-as-{other}", f"A TTL in {name} counts in {other}.",
            f"TTL-{int(kind)}", "TTL-7", "INSERT-4", "SET-3", *((*LATE, "TTL-12") if wrong > right else EARLY),
            variants=variants, handlers=_counted_in(kind, wrong))
      for (kind, right), name, other, wrong, variants in (
          ((TTLType.NANOSECONDS, NS), "nanoseconds", "microseconds", US, BROAD),
          ((TTLType.NANOSECONDS, NS), "nanoseconds", "seconds", S, ()),
          ((TTLType.MICROSECONDS, US), "microseconds", "milliseconds", MS, BROAD),
          ((TTLType.MICROSECONDS, US), "microseconds", "nanoseconds", NS, BROAD),
          ((TTLType.MICROSECONDS, US), "microseconds", "seconds", S, ()),
          ((TTLType.MILLISECONDS, MS), "milliseconds", "seconds", S, ()),
          ((TTLType.MILLISECONDS, MS), "milliseconds", "microseconds", US, ()),
          ((TTLType.SECONDS, S), "seconds", "milliseconds", MS, ()),
          ((TTLType.SECONDS, S), "seconds", "minutes", MIN, ()),
          ((TTLType.MINUTES, MIN), "minutes", "seconds", S, ()),
          ((TTLType.MINUTES, MIN), "minutes", "hours", H, ()),
          ((TTLType.HOURS, H), "hours", "minutes", MIN, ()),
          ((TTLType.HOURS, H), "hours", "seconds", S, ()))),
    mutant("set-minutes-as-seconds", "SET counts minutes in seconds.", "TTL-5", "TTL-7", "SET-3", *EARLY,
           handlers=_counted_in(TTLType.MINUTES, S, Set)),
    *(mutant(f"{kind.NAME.lower()}-shows-the-ttl-given", f"{kind.NAME} shows the TTL that its record was given.",
            "TTL-11", "TTL-12", profiles=("7.3.2",), state=Told,
            handlers=both(NOTING, showing(kind, ttl=_given))) for kind in (Query, Get)),
    mutant("get-shows-a-ttl-for-3-seconds", "GET shows a TTL again for three seconds.", "TTL-11", profiles=("7.3.2",), state=Told,
           handlers=both(NOTING, showing(Get, ttl=_shown_before))),
    mutant("query-shows-a-ttl-for-3-seconds", "QUERY shows a TTL again for three seconds.", "TTL-11", profiles=("7.3.2",), state=Told,
           handlers=both(NOTING, showing(Query, ttl=_shown_before))),
    mutant("milliseconds-shown-in-thousands", "A TTL in milliseconds is shown rounded up to thousands.", "TTL-11", profiles=("7.3.2",),
           variants=("uint16", "uint32", "uint64"), handlers=showing((Query, Get), ttl=_rounded_up)),
    mutant("last-second-in-milliseconds", "QUERY and GET show the last second of a short TTL in milliseconds.", "TTL-4", "TTL-1", "TTL-2", "QUERY-7",
           "GET-6", handlers=with_found((Query, Get), _fine_at_last)),
    mutant("ttl-shown-in-tens", "QUERY and GET show a TTL from 110 to 119 rounded up to tens.", "TTL-12", "TTL-11",
           handlers=showing((Query, Get), ttl=_in_tens)),
    mutant("long-units-tick-each-second", "A TTL in minutes or hours loses one each second.", "TTL-7", "TTL-5", "TTL-6", "INSERT-4", "SET-3", *EARLY,
           state=Ticking, handlers=both(with_answer(STORING, _tick), showing((Query, Get), ttl=_ticked))),
    mutant("ttl-wraps-at-64-bits", "Amount times unit is taken modulo 2^64 ns.", "TTL-13", "TTL-7", "INSERT-4", "SET-3", *EARLY, profiles=("7.1.0",),
           variants=BROAD, handlers=_wrapping(signed=False)),
    mutant("ttl-wraps-to-the-past", "Amount times unit is a signed number of 64 bits of ns.", "TTL-13", "TTL-7", "INSERT-4", "SET-3", *EARLY,
           profiles=("7.1.0",), variants=BROAD, handlers=_wrapping(signed=True)),
    mutant("ttl-seconds-wrap-at-32-bits", "The seconds of a TTL in minutes or hours are taken modulo 2^32.", "TTL-13", "TTL-7", "INSERT-4", "SET-3",
           *EARLY, profiles=("7.1.0",), variants=BROAD, handlers=restamped(STORING, _wrapping_seconds)),
    mutant("ttl-wraps-in-update", "What an UPDATE of the TTL leaves is taken for a signed number of 64 bits of ns.", "TTL-13", profiles=("7.1.0",),
           variants=("uint64",), handlers=with_answer(Update, _wrapping_update)),
    mutant("ttl-zero-is-one", "A TTL of 0 is one of its units.", "TTL-16", "TTL-7", "INSERT-4", "SET-3", *LATE,
           handlers=restamped(STORING, _if_zero(None))),
)
# fmt: on


MUTANTS = (
    *EXPIRY_MUTANTS,
    *TTL_MUTANTS,
)
