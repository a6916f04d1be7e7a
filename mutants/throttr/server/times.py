"""Mutants of the instant at which records expire, and of the units and extremes of TTLs."""

from __future__ import annotations

from wireproof.mutants.edits import Edit, after, before, edit, first
from wireproof.mutants.throttr.server.expired import answering
from wireproof.mutants.throttr.server.mutant import ServerMutant, mutant
from wireproof.mutants.throttr.server.patches import BROAD, GRAVES, V710, V732, WIDE
from wireproof.protocols.messages import Request
from wireproof.protocols.throttr import TTLType
from wireproof.protocols.throttr.requests import Get, Query

__all__ = ["GIVEN", "MUTANTS"]

LATE = " ".join((*(f"EXPIRY-{number}" for number in range(1, 11)), "EXPIRY-12 EXPIRY-13 INFO-21 INFO-22 INFO-23"))
"""What is false of a server on which records stay too long, whatever is asked about them."""
CLOCK = after("Store.__init__", "self.buffer_bytes = 0", "self.clock = clock")
SCHEDULE = ("Store.add", "self._scheduler.schedule(record, due)")
GIVEN = (
    CLOCK,
    *(first(f"Store.{name}", "vars(self).setdefault('given', {})[record.key] = due - self.clock.monotonic_ns()")
      for name in ("add", "overwrite", "move")),
    *(edit(f"RecordRequests.{name}", "ttl, until = self._remaining(record)",
           "ttl, until = self._store.given[key] // SHOWN_UNIT[record.ttl_type], 0") for name in ("query", "get")),
)  # fmt: skip
"""QUERY and GET show the TTL that a record was given."""
UNTIL = "min(self._state.now + 3 * 10**9, record.due, self._minutes.next_ns)"
ORDER = (
    *GRAVES,
    after("Store.add", "self.records[record.key] = record",
          "self.added = vars(self).get('added', 0) + 1; vars(self).setdefault('order', {})[record.key] = self.added"),
)  # fmt: skip
FIRED = (
    *GRAVES,
    after("Store.add", "self.records[record.key] = record", "self.stored = self.clock.monotonic_ns()"),
)  # fmt: skip
STAYS = "any(self._store.stored < one.due < dead.due for one in self._store.graves.values())"
"""Another record has ended since one was stored the last time."""


def _while_lives(compared: str) -> tuple[Edit, ...]:
    """Let what expired answer as long as another record lives that was stored before (<) or after (>) it."""
    when = f"any((o := self._store.order)[one.key] {compared} o[key] for one in self._store.live(self._state.now))"
    return *ORDER, answering(Query, when), answering(Get, when)


def _span(span: str) -> tuple[Edit, ...]:
    """Let INSERT and SET take `span` for what a TTL is."""
    return tuple(edit(f"RecordRequests.{name}", "ttl * unit", span) for name in ("insert", "set"))


def _units(units: str) -> Edit:
    """Let INSERT and SET count in other units: ns by TTL type."""
    return before("RecordRequests.__init__", "self._last_ttl = ", f"self._units = {units}")


def _shown(*lines: str) -> Edit:
    """Change `left`, the TTL that QUERY and GET show."""
    return before("RecordRequests._remaining", "return left,", *lines)


def _given(kind: type[Request]) -> tuple[Edit, ...]:
    return tuple(one for one in GIVEN if not one.place.startswith("R") or one.place.endswith(kind.NAME.lower()))


MUTANTS: tuple[ServerMutant, ...] = (
    mutant("update-ttl-wraps-as-signed", "What UPDATE moves a TTL by is kept in 64 bits with a sign.",
           "TTL-13 UPDATE-25 UPDATE-26 UPDATE-28",
           edit("RecordRequests.update", "value * KNOWN_UNIT[record.ttl_type]",
                "(value * KNOWN_UNIT[record.ttl_type] + 2**63) % 2**64 - 2**63"),
           profiles=V710, variants=("uint32", "uint64")),
    mutant("expires-a-quarter-early", "Records go when three quarters of their time are over.", "EXPIRY-11", CLOCK,
           after(*SCHEDULE, "early = due - (due - self.clock.monotonic_ns()) // 4",
                 "self.clock.call_at(early, lambda: self.records.get(record.key) is record and record.due == due and self.remove(record))")),
    mutant("expires-in-turn", "QUERY and GET find what expired as long as an older record lives.",
           "EXPIRY-12 EXPIRY-1 EXPIRY-2", *_while_lives("<")),
    mutant("expires-with-the-newest", "QUERY and GET find what expired as long as a younger record lives.",
           "EXPIRY-12 EXPIRY-1 EXPIRY-2", *_while_lives(">")),
    mutant("expires-by-key", "The expiry of a purged record ends the next one of its key.", "EXPIRY-13 EXPIRY-11",
           CLOCK,
           after(*SCHEDULE, "get = self.records.get",
                 "self.clock.call_at(due, lambda: get(record.key) not in (None, record) and self.remove(get(record.key)))")),
    mutant("expires-like-the-first", "A record lives as long as the first of its key was given.",
           "EXPIRY-13 EXPIRY-11 EXPIRY-9 EXPIRY-10 PURGE-8", CLOCK,
           first("Store.add", "now = self.clock.monotonic_ns()",
                 "due = now + vars(self).setdefault('spans', {}).setdefault(record.key, due - now)")),
    *(mutant(f"{kind.name.lower()}-as-{other.name.lower()}", f"A TTL in {kind.name.lower()} counts in {other.name.lower()}.",
             f"TTL-{int(kind)} TTL-7 INSERT-4 SET-3 {LATE + ' TTL-12' if other > kind else 'EXPIRY-11'}",
             _units(f"[KNOWN_UNIT[{int(other)}] if kind == {int(kind)} else ns for kind, ns in enumerate(self._units)]"),
             variants=variants)
      for kind, other, variants in (
          (TTLType.NANOSECONDS, TTLType.MICROSECONDS, BROAD), (TTLType.NANOSECONDS, TTLType.SECONDS, ()),
          (TTLType.MICROSECONDS, TTLType.MILLISECONDS, BROAD), (TTLType.MICROSECONDS, TTLType.NANOSECONDS, BROAD),
          (TTLType.MICROSECONDS, TTLType.SECONDS, ()), (TTLType.MILLISECONDS, TTLType.SECONDS, ()),
          (TTLType.MILLISECONDS, TTLType.MICROSECONDS, ()), (TTLType.SECONDS, TTLType.MILLISECONDS, ()),
          (TTLType.SECONDS, TTLType.MINUTES, ()), (TTLType.MINUTES, TTLType.SECONDS, ()),
          (TTLType.MINUTES, TTLType.HOURS, ()), (TTLType.HOURS, TTLType.MINUTES, ()),
          (TTLType.HOURS, TTLType.SECONDS, ()))),
    mutant("set-minutes-as-seconds", "SET counts minutes in seconds.", "TTL-5 TTL-7 SET-3 EXPIRY-11",
           edit("RecordRequests.set", "unit = self._units[ttl_type]",
                "unit = self._units[TTLType.SECONDS if ttl_type == TTLType.MINUTES else ttl_type]")),
    *(mutant(f"{kind.NAME.lower()}-shows-the-ttl-given", f"{kind.NAME} shows the TTL that its record was given.",
             "TTL-11 TTL-12", *_given(kind), profiles=V732) for kind in (Query, Get)),
    mutant("get-shows-a-ttl-for-3-seconds", "GET shows a TTL again for three seconds.", "TTL-11",
           edit("RecordRequests.get", "record.get_until = answer, until", f"record.get_until = answer, {UNTIL}"),
           before("RecordRequests.get", "record.read(self._minutes.index)",
                  "if self._state.now < record.get_until: record.read(self._minutes.index); return record.answer"),
           profiles=V732),
    mutant("query-shows-a-ttl-for-3-seconds", "QUERY shows a TTL again for three seconds.", "TTL-11",
           edit("RecordRequests.query", "record.query_until = answer, until", f"record.query_until = answer, {UNTIL}"),
           profiles=V732),
    mutant("milliseconds-shown-in-thousands", "A TTL in milliseconds is shown rounded up to thousands.", "TTL-11",
           _shown("if record.ttl_type == TTLType.MILLISECONDS: left = min(-(-left // 1000) * 1000, self._max)"),
           profiles=V732, variants=WIDE),
    mutant("nothing-left-in-the-last-second", "A TTL of less than a second that is left is shown as 0.", "TTL-11 TTL-12",
           _shown("if record.ttl_type < TTLType.SECONDS and record.due - self._state.now < 10**9: left = 0"),
           profiles=V732, variants=WIDE),
    mutant("no-timer-behind-the-first", "Once the first record has ended, others stay until one is stored.",
           "EXPIRY-12 EXPIRY-1 EXPIRY-2 TTL-7 UPDATE-28", *FIRED, answering(Query, STAYS), answering(Get, STAYS)),
    mutant("last-second-in-milliseconds", "QUERY and GET show the last second of a short TTL in milliseconds.",
           "TTL-4 TTL-1 TTL-2 QUERY-7 GET-6",
           *(after(f"RecordRequests.{name}", "ttl, until = self._remaining(record)",
                   "kind, left = record.ttl_type, record.due - self._state.now",
                   "if kind <= TTLType.SECONDS and left < 10**9:",
                   "    kind, ttl, until = TTLType.MILLISECONDS, min(left // 10**6, self._max), 0")
             for name in ("query", "get")),
           *(edit(f"RecordRequests.{name}", "record.ttl_type, ttl & self._max", "kind, ttl & self._max")
             for name in ("query", "get"))),
    mutant("ttl-shown-in-tens", "QUERY and GET show a TTL from 110 to 119 rounded up to tens.", "TTL-12 TTL-11",
           _shown("if 110 <= left < 120: left = min(-(-left // 10) * 10, self._max)")),
    mutant("long-units-tick-each-second", "A TTL in minutes or hours loses one each second.",
           "TTL-7 TTL-5 TTL-6 INSERT-4 SET-3 EXPIRY-11 UPDATE-28 UPDATE-25 UPDATE-26", _units("[min(ns, 10**9) for ns in self._units]"),
           edit("RecordRequests._remaining", "SHOWN_UNIT[record.ttl_type]", "min(SHOWN_UNIT[record.ttl_type], 10**9)")),
    mutant("hours-are-minutes", "An hour is a minute, and is shown as an hour.",
           "TTL-6 TTL-7 INSERT-4 SET-3 EXPIRY-11 UPDATE-28 UPDATE-25 UPDATE-26",
           _units("[min(ns, 60 * 10**9) for ns in self._units]"),
           edit("RecordRequests._remaining", "SHOWN_UNIT[record.ttl_type]",
                "min(SHOWN_UNIT[record.ttl_type], 60 * 10**9)")),
    mutant("microseconds-are-milliseconds", "A microsecond is a millisecond.", "TTL-2 TTL-7 INSERT-4 SET-3 EXPIRY-1 EXPIRY-2",
           _units("[10**6 if ns == 1000 else ns for ns in self._units]"), variants=("uint16", "uint32", "uint64")),
    mutant("ttl-wraps-at-64-bits", "Amount times unit is taken modulo 2^64 ns.",
           "TTL-13 TTL-7 INSERT-4 SET-3 EXPIRY-11", *_span("ttl * unit % 2**64"), profiles=V710, variants=BROAD),
    mutant("ttl-wraps-to-the-past", "Amount times unit is a signed number of 64 bits of ns.",
           "TTL-13 TTL-7 INSERT-4 SET-3 EXPIRY-11", *_span("(ttl * unit + 2**63) % 2**64 - 2**63"), profiles=V710,
           variants=BROAD),
    mutant("ttl-seconds-wrap-at-32-bits", "The seconds of a TTL in minutes or hours are taken modulo 2^32.",
           "TTL-13 TTL-7 INSERT-4 SET-3 EXPIRY-11",
           *_span("(ttl * unit if unit <= 10**9 else ttl * unit // 10**9 % 2**32 * 10**9)"), profiles=V710,
           variants=BROAD),
    mutant("ttl-wraps-in-update", "What an UPDATE of the TTL leaves is taken for a signed number of 64 bits of ns.",
           "TTL-13",
           before("RecordRequests._change_ttl", "self._store.move(record, due)",
                  "due = self._state.now + (due - self._state.now + 2**63) % 2**64 - 2**63"), profiles=V710,
           variants=("uint64",)),
    mutant("ttl-zero-is-one", "A TTL of 0 is one of its units.",
           "TTL-16 TTL-7 INSERT-4 SET-3 EXPIRY-1 EXPIRY-2 EXPIRY-3 EXPIRY-4 EXPIRY-5 EXPIRY-6 EXPIRY-7 EXPIRY-8 "
           "EXPIRY-9 EXPIRY-10 EXPIRY-12 EXPIRY-13 INFO-21 INFO-22 INFO-23", *_span("(ttl or 1) * unit")),
    mutant("set-until-the-last-one-ends", "A SET with the TTL of the SET before it ends with that one.",
           "TTL-7 SET-3 EXPIRY-1 EXPIRY-11",
           edit("RecordRequests.set", "or now is not self._last_now", "or self._last_due <= now")),
)  # fmt: skip
