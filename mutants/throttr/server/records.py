"""Mutants of INSERT, QUERY, GET, PURGE, and of how UPDATE is read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wireproof.mutants.edits import Edit, after, before, edit, first
from wireproof.mutants.server import field_kind, with_answer, with_handler
from wireproof.mutants.throttr.server.mutant import ServerMutant, mutant
from wireproof.mutants.throttr.server.patches import (
    ASKER,
    V710,
    WIDE,
    eating_a_byte,
    longer_after_many,
    missing_as_before,
    stored_by_others,
)
from wireproof.protocols.fields import U16, Blob
from wireproof.protocols.messages import Request
from wireproof.protocols.throttr import Attribute
from wireproof.protocols.throttr.replies import GetReply
from wireproof.protocols.throttr.requests import Get, Insert, Purge, Query, Update
from wireproof.reference_server.throttr.state import ACCEPTED, DENIED

__all__ = ["MUTANTS"]

GROWING = "self._store.move(record, max(record.due, self._state.now + 10**9))"
LEFT = before("RecordRequests.purge", "self._store.remove(record)", "vars(self).setdefault('left', {})[key] = record")
LEFT_BEHIND = "left = vars(self).get('left', {}).pop(key, None)"
NOTHING = r'if not self._store.records: return b"\1".ljust(2 + 2 * self._state.value_size, b"\0")'

SPANS = (
    before("RecordRequests.insert", "self._store.add(", "vars(self).setdefault('spans', {})[key] = ttl * unit"),
    before("RecordRequests.set", "self._store.add(", "vars(self).setdefault('spans', {})[key] = self._last_due - now"),
)
"""Remember how long a record was to live when it was stored."""
RESTORABLE = "held.due > now and key in vars(self).get('spans', {})"


def _at_times(method: str, act: str) -> Edit:
    """Do `act` to the `record` asked about, at every 25th request."""
    return first(
        f"RecordRequests.{method}",
        "record, asked = self._get(key), vars(self).setdefault('asked', {})",
        "asked[key] = asked.get(key, 0) + 1",
        f"if asked[key] % 25 == 0 and {act}",
    )


# fmt: off
def _read(kind: type[Request], size: str, miss: str, body: str, ttl_type: str, ttl: str, unchanged: str) -> Iterator[ServerMutant]:
    """Yield what goes wrong alike in the two requests that read one record, each with its clauses."""
    method = f"RecordRequests.{kind.NAME.lower()}"

    def one(name: str, description: str, clauses: str, *edits: Edit, **patches: Any) -> ServerMutant:
        return mutant(f"{kind.NAME.lower()}-{name}", f"{kind.NAME} {description}", clauses, *edits, **patches)

    yield one("eats-a-byte-when-found", "that finds a record takes the byte after its key, where one has come.",
              f"{size} ROBUSTNESS-5 ROBUSTNESS-7", handlers=eating_a_byte(kind, lambda answer: answer != DENIED))
    yield one("miss-answered-as-the-hit-before",
              "of a missing key that follows one of a record in one segment is answered as that.",
              f"{miss} ROBUSTNESS-18", handlers=with_handler(kind, missing_as_before))
    yield one("answer-a-byte-longer-after-many",
              "answers a zero byte after every tenth answer to what came in one segment.", f"{body} ROBUSTNESS-7",
              handlers=with_handler(kind, longer_after_many))
    yield one("finds-in-an-empty-store", "answers 01 and zeros as long as no record is stored.",
              " ".join(reversed(miss.split())), first(method, NOTHING))
    yield one("ttl-type-always-seconds", "answers seconds for every TTL type.",
              f"{ttl_type} TTL-1 TTL-2 TTL-3 TTL-5 TTL-6", edit(method, "record.ttl_type,", "TTLType.SECONDS,"))
    yield one("ttl-type-less-one", "answers the TTL type less 1.", f"{ttl_type} TTL-1 TTL-2 TTL-3 TTL-5 TTL-6 TTL-4",
              edit(method, "record.ttl_type,", "record.ttl_type - 1 & 0xFF,"))
    yield one("ttl-in-seconds", "answers the TTL in seconds, whatever its type.", f"{ttl} TTL-11 TTL-12",
              edit(method, "ttl & self._max", "ttl * SHOWN_UNIT[record.ttl_type] // 10**9 & self._max"))
    yield one("lengthens", "lets its record live for another second at least.", unchanged,
              first(method, "record = self._store.find(key, self._state.now)", f"if record is not None: {GROWING}"))


def _refused(kind: str, clause: str) -> ServerMutant:
    """Return the mutant whose INSERT is refused on a record of this kind and renews it."""
    return mutant(f"insert-refused-renews-a-{kind.lower()}",
                  f"INSERT on a live {kind.lower()} answers 00 and gives it the new TTL.", f"{clause} RECORD-9",
                  before("RecordRequests.insert", "return DENIED",
                         f"if type(held) is {kind} and unit: self._store.move(held, now + ttl * unit)"))
# fmt: on


MUTANTS: tuple[ServerMutant, ...] = (
    *_read(Query, size="QUERY-3", miss="QUERY-4 QUERY-9", body="QUERY-5", ttl_type="QUERY-7 INSERT-3", ttl="QUERY-8",
           unchanged="QUERY-10 INSERT-4 EXPIRY-1"),
    *_read(Get, size="GET-3", miss="GET-4 GET-10", body="GET-5", ttl_type="GET-6 SET-2", ttl="GET-7",
           unchanged="GET-11 SET-3 EXPIRY-2"),
    _refused("Counter", "INSERT-9"),
    _refused("Buffer", "INSERT-10"),
    mutant("insert-ttl-type-forgotten", "INSERT stores the right instant and reports every TTL in seconds.",
           "INSERT-3 QUERY-7 TTL-12 TTL-1 TTL-2 TTL-3 TTL-5 TTL-6",
           edit("RecordRequests.insert", "Counter(key, ttl_type,", "Counter(key, TTLType.SECONDS,")),
    mutant("insert-ttl-since-connected", "INSERT counts the TTL from the opening of its connection.",
           "INSERT-4 EXPIRY-11 TTL-7", ASKER,
           first("RecordRequests.insert", "opened = self._state.wall(self._state.now) - self.asker.connected_at"),
           edit("RecordRequests.insert", "now + ttl * unit", "now + ttl * unit - opened")),
    mutant("insert-eats-a-byte-when-refused",
           "INSERT that is refused takes the byte after its key for a part of itself, where one has come.",
           "INSERT-6 ROBUSTNESS-5 ROBUSTNESS-7", handlers=eating_a_byte(Insert, lambda answer: answer == DENIED)),
    mutant("insert-stores-nothing", "INSERT answers 01 and stores nothing.", "INSERT-7 INSERT-8 INSERT-2 INSERT-3",
           before("RecordRequests.insert", "return ACCEPTED", "self._store.remove(self._get(key))")),
    mutant("insert-seen-late-by-others",
           "QUERY finds a new counter only from the connection that stored it, for half a second.", "INSERT-8 RECORD-7",
           handlers=stored_by_others(Query, DENIED, Insert, within=500_000_000)),
    mutant("insert-overwrites-a-counter", "INSERT replaces a live counter and answers 01.", "INSERT-9",
           edit("RecordRequests.insert", "held.due > now)", "held.due > now and type(held) is not Counter)")),
    mutant("insert-overwrites-a-spent-counter", "INSERT replaces a live counter whose quota is 0.", "INSERT-9",
           edit("RecordRequests.insert", "held.due > now)",
                "held.due > now and (held.quota or type(held) is Buffer))")),
    mutant("insert-accepted-from-others",
           "INSERT from another connection on a live counter answers 01 and changes nothing.", "INSERT-9 INSERT-7",
           handlers=stored_by_others(Insert, ACCEPTED, Insert)),
    mutant("insert-refused-sets-the-quota", "INSERT on a live counter answers 00 and stores the new quota.",
           "INSERT-9 RECORD-9 INSERT-7",
           before("RecordRequests.insert", "return DENIED",
                  "if type(held) is Counter: held.quota = quota; held.forget_answer()")),
    mutant("insert-overwrites-a-buffer", "INSERT replaces a live buffer and answers 01.", "INSERT-10 RECORD-1",
           edit("RecordRequests.insert", "held.due > now)", "held.due > now and type(held) is not Buffer)")),
    mutant("query-never-finds", "QUERY answers 00 whatever is there.", "QUERY-4 QUERY-5 INSERT-8",
           first("RecordRequests.query", "return DENIED")),
    mutant("query-quota-zero-unlimited", "QUERY answers the largest quota where it is 0, as if that meant no limit.",
           "QUERY-6 INSERT-2 UPDATE-14 UPDATE-15 UPDATE-16 INSERT-11 UPDATE-17",
           edit("RecordRequests.query", "record.quota,", "record.quota or self._max,")),
    mutant("query-quota-as-first-seen", "QUERY answers the quota that its first answer about the counter had.",
           "QUERY-6 INSERT-2 UPDATE-14 UPDATE-15 UPDATE-16 UPDATE-17",
           edit("RecordRequests.query", "record.quota,",
                "vars(self).setdefault('first', {}).setdefault(id(record), (record, record.quota))[1],")),
    mutant("query-reserves-missing-keys", "QUERY of a missing key keeps it from being inserted from then on.",
           "QUERY-10 INSERT-8",
           first("RecordRequests.query",
                 "if not self._store.find(key, self._state.now): vars(self).setdefault('reserved', set()).add(key)"),
           first("RecordRequests.insert", "if key in vars(self).get('reserved', ()): return DENIED")),
    mutant("query-spends-in-the-long-run", "Every 250th QUERY of a counter takes 1 from its quota.", "QUERY-10 QUERY-6",
           first("RecordRequests.query", "asked = vars(self).setdefault('asked', {})",
                 "asked[key] = asked.get(key, 0) + 1", "held = self._get(key) if asked[key] % 250 == 0 else None",
                 "if type(held) is Counter and held.quota: held.quota -= 1; held.forget_answer()")),
    mutant("query-finds-no-key-at-all", "QUERY of a key of 0 bytes answers 01 and zeros where there is none.", "QUERY-9 QUERY-4",
           first("RecordRequests.query", "if not key and self._get(key) is None: return self._pack_query(0, 4, 0)")),
    mutant("query-spends", "Every 25th QUERY of a counter takes 1 from its quota.", "QUERY-10 QUERY-6",
           _at_times("query", "type(record) is Counter and record.quota: record.quota -= 1; record.forget_answer()")),
    mutant("query-finds-buffers", "QUERY of a buffer answers 01 and a quota of 0.", "QUERY-11", profiles=V710,
           rules={"query_finds_buffers": True}),
    mutant("get-ttl-bit-14-lost", "GET answers the TTL without bit 14.", "GET-7 TTL-11 TTL-12",
           edit("RecordRequests.get", "ttl & self._max", "ttl & self._max & ~0x4000"), variants=WIDE),
    mutant("get-ttl-of-seconds-in-a-byte", "GET answers the low byte of a TTL in seconds.", "GET-7 TTL-11 TTL-12",
           edit("RecordRequests.get", "ttl & self._max",
                "ttl & (255 if record.ttl_type == TTLType.SECONDS else self._max)"), variants=WIDE),
    mutant("get-value-size-of-two-bytes", "GET answers a value size of 2 bytes at uint8.", "GET-8 GET-5 GET-9 WIDTH-1",
           variants=("uint8",), profile=field_kind(GetReply, "value", Blob(U16))),
    mutant("get-value-size-of-seven-bits", "GET answers the value size without its bit 7, and the value whole.",
           "GET-8 GET-5 GET-9", edit("RecordRequests.get", "len(value)) + value", "len(value) & ~0x80) + value")),
    mutant("get-value-cut-at-126", "GET answers the first 126 bytes of a longer value, and their number.",
           "GET-9 SET-12 SET-13 SET-16 SET-17 WIDTH-12",
           edit("RecordRequests.get", "value = record.value", "value = record.value[:126]")),
    mutant("get-short-value-padded", "GET answers a value of less than 6 bytes with zeros up to 6.",
           "GET-9 SET-12 SET-13 SET-15 ROBUSTNESS-18",
           edit("RecordRequests.get", "value = record.value", r"value = record.value.ljust(6, b'\0')")),
    mutant("get-value-with-the-rest-of-another",
           "GET fills a value up with the end of a longer one that it answered before on the connection.",
           "GET-9 SET-12 SET-13 SET-15 ROBUSTNESS-18", ASKER,
           edit("RecordRequests.get", "value = record.value",
                "value = record.value + vars(self.asker).get('answered', b'')[len(record.value) :]",
                "self.asker.answered = value")),
    mutant("get-wears-out", "Every 25th GET of a buffer takes the last byte of its value.", "GET-11 GET-9",
           _at_times("get",
                     "type(record) is Buffer: self._store.overwrite(record, record.ttl_type, record.value[:-1], record.due)")),
    mutant("get-finds-counters", "GET of a counter answers 01 and an empty value.", "GET-12", profiles=V710,
           rules={"get_finds_counters": True}),
    mutant("purge-eats-a-byte-when-done",
           "PURGE that removes a record takes the byte after its key for a part of itself, where one has come.",
           "PURGE-3 ROBUSTNESS-5 ROBUSTNESS-7", handlers=eating_a_byte(Purge, lambda answer: answer == ACCEPTED)),
    mutant("purge-leaves-counters", "PURGE of a counter answers 01 and leaves it.",
           "PURGE-5 PURGE-4 PURGE-7 PURGE-8 LIST-14",
           before("RecordRequests.purge", "self._store.remove(record)", "if type(record) is Counter: return ACCEPTED")),
    mutant("purge-refuses-buffers", "PURGE of a buffer answers 00 and leaves it.", "PURGE-6",
           before("RecordRequests.purge", "self._store.remove(record)", "if type(record) is Buffer: return DENIED")),
    mutant("purge-always-01", "PURGE answers 01 whatever is there.", "PURGE-7 PURGE-4",
           edit("RecordRequests.purge", "return DENIED", "return ACCEPTED")),
    mutant("purge-twice-01", "A second PURGE of a key answers 01, too.", "PURGE-7 PURGE-4", LEFT,
           edit("RecordRequests.purge", "return DENIED",
                "return ACCEPTED if key in vars(self).get('left', ()) else DENIED")),
    mutant("purge-leaves-the-quota", "The counter inserted under the key of a purged one begins with its quota.",
           "PURGE-8 INSERT-2", LEFT,
           first("RecordRequests.insert", LEFT_BEHIND, "quota = left.quota or quota if left else quota")),
    mutant("purge-leaves-the-tail-of-a-value",
           "The buffer set under the key of a purged one ends with those of its bytes that the new value does not reach.",
           "PURGE-8 SET-12 SET-13 ROBUSTNESS-18", LEFT,
           first("RecordRequests.set", LEFT_BEHIND, "value += left.value[len(value) :] if left else b''")),
    mutant("purge-leaves-the-ttl-type", "The counter inserted under the key of a purged record has its TTL type.",
           "PURGE-8 INSERT-3 EXPIRY-13", LEFT,
           first("RecordRequests.insert", LEFT_BEHIND, "ttl_type = left.ttl_type if left else ttl_type")),
    mutant("insert-refused-restores-the-ttl", "A refused INSERT gives the record the TTL again with which it was stored.",
           "INSERT-9 INSERT-10", *SPANS,
           before("RecordRequests.insert", "return DENIED",
                  f"if held is not None and {RESTORABLE}: self._store.move(held, now + self.spans[key])")),
    mutant("set-refused-restores-the-ttl", "A refused SET gives the counter the TTL again with which it was stored.",
           "SET-20", *SPANS,
           first("RecordRequests.set", "held, now = self._get(key), self._state.now",
                 f"if type(held) is Counter and {RESTORABLE}: self._store.move(held, now + self.spans[key])"),
           profiles=("7.3.2",)),
    mutant("purge-takes-both-cases", "PURGE removes the records whose keys differ from its own in letter case, too.",
           "PURGE-9 RECORD-3",
           after("RecordRequests.purge", "self._store.remove(record)",
                 "alike = [one for one in self._store.live(self._state.now) if one.key.lower() == key.lower()]",
                 "for one in alike: self._store.remove(one)")),
    mutant("purge-takes-the-oldest-at-times", "Every tenth PURGE removes the oldest record, too.", "PURGE-9",
           first("RecordRequests.purge", "self.purged = vars(self).get('purged', 0) + 1",
                 "oldest = next(self._store.live(self._state.now), None)",
                 "if self.purged % 10 == 0 and oldest and oldest.key != key: self._store.remove(oldest)")),
    mutant("update-eats-a-byte-when-made", "UPDATE that is made takes the byte after its key for its own.",
           "UPDATE-11 ROBUSTNESS-5 ROBUSTNESS-7", handlers=eating_a_byte(Update, lambda answer: answer == ACCEPTED)),
    mutant("update-answers-twice", "UPDATE is answered with its status twice.", "UPDATE-12",
           handlers=with_answer(Update, lambda answer, ask: answer * 2)),
    mutant("update-of-a-ttl-answers-twice", "UPDATE of a TTL is answered 01 twice.", "UPDATE-12",
           handlers=with_answer(Update,
                                lambda answer, ask: answer * 2 if answer == ACCEPTED and ask.request.attribute == Attribute.TTL else answer)),
    mutant("update-of-nothing-accepted", "UPDATE of a key that no record holds answers 01.",
           "UPDATE-13 UPDATE-12 UPDATE-32",
           first("RecordRequests.update", "if not self._store.find(key, self._state.now): return ACCEPTED")),
    mutant("update-creates-unseen", "UPDATE of a key that no record holds answers 00 and creates a counter.",
           "UPDATE-13 UPDATE-32",
           first("RecordRequests.update",
                 "if not self._store.find(key, self._state.now): self.insert(value, TTLType.SECONDS, 100, key); return DENIED")),
)  # fmt: skip
