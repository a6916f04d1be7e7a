"""Mutants that still find what expired, or let it be in the way."""

from __future__ import annotations

from wireproof.mutants.edits import Edit, edit, first
from wireproof.mutants.throttr.server.mutant import ServerMutant, mutant
from wireproof.mutants.throttr.server.patches import GRAVES, V732
from wireproof.protocols.messages import Request
from wireproof.protocols.throttr.requests import Get, Query

__all__ = ["MUTANTS", "answering"]

SECOND = 1_000_000_000


def _dead(method: str, *lines: str) -> tuple[Edit, ...]:
    """Begin the handling of a request with lines about `dead`, what expired under its key, or None."""
    return *GRAVES, first(f"RecordRequests.{method}", "dead = self._store.dead(key, self._state.now)", *lines)


def answering(kind: type[Request], when: str) -> Edit:
    """Let QUERY or GET answer for what is `dead`, with no time left, where the expression `when` says so."""
    of, shown = {
        Query: ("Counter", "self._pack_query(dead.quota, dead.ttl_type, 0)"),
        Get: ("Buffer", "self._pack_get(dead.ttl_type, 0, len(dead.value)) + dead.value"),
    }[kind]
    answer = f"if type(dead) is {of} and ({when}): return {shown}"
    return first(f"RecordRequests.{kind.NAME.lower()}", "dead = self._store.dead(key, self._state.now)", answer)


def _shortened_by(method: str) -> Edit:
    """Let a store remember the keys whose expiry `method` brought forward."""
    return first(
        f"Store.{method}", "if 0 < due < record.due: vars(self).setdefault('shortened', set()).add(record.key)"
    )


def _also_shortened(rows: str) -> Edit:
    """Let a listing name what expired and was brought forward."""
    dead = "(one for one in self._state.store.buried(now) if one.key in vars(self._state.store).get('shortened', ()))"
    return edit(f"Listings.{rows}", "self._state.store.live(now)", f"[*self._state.store.live(now), *{dead}]")


ASKING = ((Query, "EXPIRY-1"), (Get, "EXPIRY-2"))
LATELY = f"dead and self._state.now < dead.due + 10 * {SECOND}"
DEAD = "store.graves.values()"

MUTANTS: tuple[ServerMutant, ...] = (
    *(mutant(f"{name}-until-a-sweep", f"{name.upper()} names what expired until a sweep each two seconds.", clause, *GRAVES,
             edit(f"Listings.{rows}", "self._state.store.live(now)",
                  "[*self._state.store.live(now), *(one for one in self._state.store.buried(now)"
                  f" if one.due // {2 * SECOND} == now // {2 * SECOND})]"))
      for name, clause, rows in (("list", "EXPIRY-6", "_list_rows"), ("stats", "EXPIRY-7", "_stats_rows"))),
    mutant("list-goes-by-the-first-expiry", "LIST names a record whose TTL was shortened until its first expiry.",
           "EXPIRY-6", *GRAVES, _shortened_by("move"), _also_shortened("_list_rows")),
    mutant("stats-goes-by-the-first-expiry", "STATS names a buffer that was set again with less TTL until its first expiry.",
           "EXPIRY-7", *GRAVES, _shortened_by("overwrite"), _also_shortened("_stats_rows"), profiles=V732),
    *(mutant(f"{kind.NAME.lower()}-answers-once-more", f"The first {kind.NAME} after it expired still finds a record.",
             f"{clause} TTL-16", *GRAVES, answering(kind, "dead.minute >= 0 and not setattr(dead, 'minute', -1)"))
      for kind, clause in ASKING),
    *(mutant(f"{kind.NAME.lower()}-half-a-second-late", f"{kind.NAME} answers for half a second after the expiry.",
             f"{clause} TTL-16", *GRAVES, answering(kind, f"self._state.now < dead.due + {SECOND // 2}"))
      for kind, clause in ASKING),
    mutant("update-revives", "UPDATE of the TTL gives an expired record another second.", "EXPIRY-3",
           *_dead("update", "if dead and attribute == Attribute.TTL and change != Change.DECREASE:",
                  "    self._store.graves.pop(key, None); self._store.add(dead, self._state.now + 10**9); return ACCEPTED")),
    *(mutant(f"update-{attribute.lower()}-of-expired-{kind.lower()}s", f"UPDATE {attribute} of expired {kind.lower()}s answers 01.",
             "EXPIRY-3", *_dead("update", f"if type(dead) is {kind} and attribute == Attribute.{attribute}: return ACCEPTED"))
      for attribute, kind in (("QUOTA", "Counter"), ("TTL", "Counter"), ("TTL", "Buffer"))),
    mutant("purge-of-expired", "PURGE of what expired answers 01.", "EXPIRY-4",
           *_dead("purge", "if dead: return ACCEPTED")),
    mutant("stat-of-expired", "STAT answers for what expired.", "EXPIRY-5",
           *_dead("stat", "if dead: return self._pack_stat(*dead.metrics(self._minutes.index, live=True))")),
    mutant("list-names-the-expired", "LIST names what expired.", "EXPIRY-6", *GRAVES,
           edit("Listings._list_rows", "self._state.store.live(now)",
                "[*self._state.store.live(now), *self._state.store.buried(now)]")),
    mutant("stats-names-the-expired", "STATS names what expired.", "EXPIRY-7", *GRAVES,
           edit("Listings._stats_rows", "self._state.store.live(now)",
                "[*self._state.store.live(now), *self._state.store.buried(now)]")),
    mutant("info-counts-the-expired", "INFO counts what expired.", "EXPIRY-8 INFO-21 INFO-22 INFO-23", *GRAVES,
           edit("ServerRequests.info", "keys, buffers = len(store), store.buffers",
                f"keys, buffers = len(store) + len({DEAD}), store.buffers + sum(one.key_type for one in {DEAD})")),
    mutant("info-counts-expired-bytes", "INFO's allocated bytes count what expired.", "EXPIRY-8", *GRAVES,
           edit("ServerRequests.info", "(keys - buffers) * state",
                f"(keys - buffers + sum(not one.key_type for one in {DEAD})) * state"),
           edit("ServerRequests.info", "store.buffer_bytes,",
                f"store.buffer_bytes + sum(len(one.value) for one in {DEAD}),")),
    mutant("insert-refused-after-expiry", "INSERT of a key whose record expired is refused for ten seconds.",
           "EXPIRY-9", *_dead("insert", f"if {LATELY}: return DENIED")),
    mutant("insert-refused-after-a-buffer", "INSERT of a key whose buffer expired is refused for ten seconds.",
           "EXPIRY-9", *_dead("insert", f"if {LATELY} and type(dead) is Buffer: return DENIED")),
    mutant("insert-takes-an-expired-quota", "INSERT under the key of an expired counter keeps its quota.", "EXPIRY-9",
           *_dead("insert", "quota = dead.quota if type(dead) is Counter else quota")),
    mutant("set-refused-after-a-counter", "SET of a key whose counter expired is refused.", "EXPIRY-10 EXPIRY-13",
           *_dead("set", "if type(dead) is Counter: return DENIED")),
    mutant("set-keeps-the-end-of-an-expired-value", "SET over a longer value that expired keeps its end.", "EXPIRY-10",
           *_dead("set", "value += dead.value[len(value) :] if dead else b''")),
)  # fmt: skip
