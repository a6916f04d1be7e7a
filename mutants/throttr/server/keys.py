"""Mutants of keys and of records as such, and those of the demonstration."""

from __future__ import annotations

from wireproof.mutants.edits import Edit, around, before, edit, first
from wireproof.mutants.server import Ask, instead
from wireproof.mutants.throttr.server.mutant import ServerMutant, mutant
from wireproof.mutants.throttr.server.patches import ASKER, WIDE, stored_by_others
from wireproof.protocols.messages import Request
from wireproof.protocols.throttr.requests import Get, Insert, Purge, Query, Set, Stat, Update
from wireproof.reference_server.throttr.state import DENIED

__all__ = ["DEMONSTRATION", "MUTANTS"]

DEMONSTRATION = ("quota-low-byte", "ttl-update-ignored")
"""The names of those that the demonstration serves."""
NAMED: tuple[tuple[type[Request], str], ...] = (
    (Insert, "INSERT-5"), (Query, "QUERY-2"), (Update, "UPDATE-10"), (Purge, "PURGE-2"), (Set, "SET-4"), (Get, "GET-2"),
    (Stat, "STAT-2"),
)  # fmt: skip
"""Requests that take a key, and the clause about its size."""


def _folded(fold: str) -> Edit:
    """Take keys with the same `fold`, an expression of a key, for one key."""
    return edit(
        "Store.__init__",
        "self.records: dict[bytes, Record] = {}",
        f"fold, names = lambda key: {fold}, ('__getitem__', '__setitem__', '__delitem__', 'get')",
        "by = lambda do: lambda records, key, *rest: do(records, fold(key), *rest)",
        "self.records = type('Folded', (dict,), {name: by(getattr(dict, name)) for name in names})()",
    )


def _is_text(ask: Ask) -> bool:
    try:
        ask.request.key.decode()
    except UnicodeDecodeError:
        return False
    return True


MUTANTS: tuple[ServerMutant, ...] = (
    mutant("keys-in-any-case", "Letter case makes no difference between keys.", "RECORD-3", _folded("key.lower()")),
    mutant("keys-by-200-bytes", "Keys are compared by their first 200 bytes.", "RECORD-3 RECORD-6 INSERT-5 SET-4",
           _folded("key[:200]")),
    mutant("keys-by-230-bytes", "Keys below 254 bytes are compared by their first 230.", "RECORD-3",
           _folded("key[:230] if len(key) < 254 else key")),
    mutant("keys-by-254-bytes", "Keys are compared by their first 254 bytes.", "RECORD-3 RECORD-6 INSERT-5 SET-4",
           _folded("key[:254]")),
    mutant("keys-without-trailing-zeros", "Zero bytes at the end of a key do not count.", "RECORD-3 RECORD-4",
           _folded(r"key.rstrip(b'\0')")),
    mutant("keys-up-to-a-zero-byte", "Keys are compared up to their first zero byte.", "RECORD-3 RECORD-4",
           _folded(r"key.partition(b'\0')[0]")),
    mutant("keys-trimmed", "Blanks and line ends around a key do not count.", "RECORD-3 RECORD-4",
           _folded("key.strip()")),
    mutant("keys-of-2-bytes-either-way", "The order of the bytes of a key of two does not count.", "RECORD-3",
           _folded("min(key, key[::-1]) if len(key) == 2 else key")),
    mutant("keys-as-text", "Bytes of a key that are no UTF-8 are all the same character.", "RECORD-4 RECORD-3",
           _folded("key.decode(errors='replace').encode()")),
    mutant("keys-of-7-bits", "Bit 7 of the bytes of a key does not count.", "RECORD-3 RECORD-4",
           _folded("bytes(byte & 0x7F for byte in key)")),
    *(mutant(f"{kind.NAME.lower()}-refuses-255-bytes", f"{kind.NAME} of a key of 255 bytes is refused, as if 254 were the most.",
             f"RECORD-6 {size}", handlers=instead(kind, DENIED, lambda ask: len(ask.request.key) == 255))
      for kind, size in NAMED),
    *(mutant(f"{kind.NAME.lower()}-wants-text", f"{kind.NAME} of a key that is not UTF-8 is refused.",
             "RECORD-4", handlers=instead(kind, DENIED, lambda ask: not _is_text(ask))) for kind, _ in NAMED),
    mutant("refused-update-makes-counters", "UPDATE of the quota of a buffer is refused and makes a counter of it.",
           "RECORD-1 RECORD-9 UPDATE-21",
           before("RecordRequests.update", "if attribute == Attribute.QUOTA and",
                  "if attribute == Attribute.QUOTA and type(record) is Buffer:",
                  "    due, counter = record.due, Counter(key, record.ttl_type, record.minute, quota=len(record.value))",
                  "    self._store.remove(record); self._store.add(counter, due); return DENIED")),
    mutant("refused-insert-makes-buffers", "INSERT on a counter is refused and makes a buffer of it.",
           "RECORD-1 RECORD-9 INSERT-9",
           before("RecordRequests.insert", "return DENIED",
                  "if type(held) is Counter and unit:",
                  "    due, value = held.due, held.quota.to_bytes(self._state.value_size, 'little')",
                  "    self._store.remove(held); self._store.add(Buffer(key, held.ttl_type, held.minute, value=value), due)")),
    mutant("records-of-the-connection", "Only the connection that stored a record finds it.",
           "RECORD-7 INSERT-8 SET-12 PURGE-5 PURGE-6 STAT-9",
           handlers=stored_by_others((Query, Update, Purge, Get, Stat), DENIED)),
    mutant("buffers-go-with-their-connection", "A buffer is gone when the connection that stored it is.", "RECORD-7",
           ASKER,
           before("RecordRequests.set", "return ACCEPTED",
                  "vars(self._store).setdefault('owners', {})[key] = self.asker"),
           first("State.forget", "for key, owner in vars(self.store).get('owners', {}).items():",
                 "    if owner is session and self.store.find(key, self.now): self.store.remove(self.store.records[key])")),
    mutant("connections-cache-quotas",
           "A connection gets the quota that it got before, unless it changed it itself.",
           "RECORD-7 UPDATE-14 QUERY-6", ASKER,
           edit("RecordRequests.query", "record.quota,",
                "vars(self.asker).setdefault('kept', {}).setdefault(key, record.quota),"),
           edit("RecordRequests.query", "record.answer, record.query_until = answer, until", "pass"),
           first("_handler.handle",
                 "if request.NAME not in ('QUERY', 'GET', 'STAT'): vars(session).get('kept', {}).pop(request.key, None)")),
    mutant("unsubscribe-purges", "UNSUBSCRIBE removes the record named like the channel.", "RECORD-8",
           first("ChannelRequests.unsubscribe", "record = self._state.store.find(request.channel, now)",
                 "if record and request.channel in session.subscriptions: self._state.store.remove(record)")),
    mutant("purge-ends-channels", "PURGE of a record ends the subscriptions to the channel named like it.", "RECORD-8",
           before("RecordRequests.purge", "self._store.remove(record)",
                  "for one in self._state.channels.of(key): self._state.channels.remove(key, one.session)")),
    mutant("insert-refuses-names-of-channels", "INSERT of a key that names a channel is refused.", "RECORD-8 RECORD-4",
           first("RecordRequests.insert", "if self._state.channels.of(key): return DENIED")),
    mutant("refused-update-shortens-the-newest", "A refused UPDATE halves the time left to the newest record.",
           "RECORD-9 UPDATE-21",
           around("RecordRequests.update",
                  "answer, now = self.correct_update(attribute, change, value, key), self._state.now",
                  "newest = next(reversed([*self._store.live(now)]), None)",
                  "if answer == DENIED and newest: self._store.move(newest, now + (newest.due - now) // 2)",
                  "return answer")),
    mutant("quota-low-byte", "QUERY answers only the low byte of the quota, the others as zero.", "QUERY-6",
           edit("RecordRequests.query", "record.quota,", "record.quota & 0xFF,"), variants=WIDE),
    mutant("ttl-update-ignored", "UPDATE of a TTL is accepted and moves nothing.",
           "UPDATE-25 UPDATE-26 UPDATE-27 UPDATE-6 UPDATE-7 UPDATE-8 UPDATE-30 UPDATE-31 UPDATE-32 UPDATE-33",
           before("RecordRequests._change_ttl", "self._store.move(record, due)", "due = record.due")),
)  # fmt: skip
