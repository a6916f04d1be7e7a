"""Faults of the TTL: its unit, where it is counted from, what is shown of it, and its extremes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wireproof.mutants.throttr.server.expiry import LATE, SECOND, STORING, restamped
from wireproof.mutants.throttr.server.mutant import HandlerPatch, mutant
from wireproof.mutants.throttr.server.patches import Ask, both, changed, held, showing, with_answer, with_found
from wireproof.protocols.throttr import Attribute, Change, TTLType
from wireproof.protocols.throttr.enums import NANOSECONDS_PER_UNIT
from wireproof.protocols.throttr.requests import Get, Query, Set, Update
from wireproof.reference_server.throttr.record_requests import SHOWN_UNIT
from wireproof.reference_server.throttr.records import Record
from wireproof.reference_server.throttr.state import ACCEPTED, State

__all__ = ["MUTANTS"]

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
MUTANTS = (
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
