"""Mutants of UPDATE of a quota and of a TTL."""

from __future__ import annotations

from wireproof.mutants.edits import Edit, after, before, edit
from wireproof.mutants.throttr.server.mutant import ServerMutant, mutant
from wireproof.mutants.throttr.server.patches import ASKER, BROAD, WIDE
from wireproof.protocols.throttr import TTLType

__all__ = ["MUTANTS"]

MADE = ("RecordRequests.update", "if done:")
MOVE = ("RecordRequests._change_ttl", "self._store.move(record, due)")
STORE = ("RecordRequests._change_quota", "record.quota = quota")
BYTES = (
    "width = self._state.value_size",
    "pairs = zip(record.quota.to_bytes(width, 'little'), value.to_bytes(width, 'little'))",
)


def _patch(value: str) -> Edit:
    """Let PATCH of a quota store another value."""
    return edit("RecordRequests._change_quota", "quota = value", f"quota = {value}")


def _increase(*lines: str) -> Edit:
    """Let INCREASE of a quota reckon otherwise."""
    return edit("RecordRequests._change_quota", "quota = record.quota + value", *lines)


def _decrease(*lines: str) -> Edit:
    """Let DECREASE of a quota reckon otherwise."""
    return edit("RecordRequests._change_quota", "quota = record.quota - value", *lines)


MUTANTS: tuple[ServerMutant, ...] = (
    mutant("update-decrease-wraps", "A DECREASE by more than the quota wraps around.", "UPDATE-18",
           _decrease("quota = record.quota - value & self._max")),
    mutant("update-quota-tells-seconds", "A change of the quota lets the TTL be reported in seconds.", "UPDATE-22 UPDATE-3",
           before(*MADE,
                  "if done and attribute == Attribute.QUOTA: record.ttl_type = TTLType.SECONDS; record.forget_answer()")),
    mutant("update-patch-capped-at-half", "UPDATE QUOTA PATCH stores no more than half of the largest quota.",
           "UPDATE-14 UPDATE-6 WIDTH-8 WIDTH-10", _patch("min(value, self._max // 2)")),
    mutant("update-patch-bit-7-lost", "UPDATE QUOTA PATCH loses the top bit of the value's low byte.",
           "UPDATE-9 UPDATE-14 UPDATE-6 WIDTH-10", _patch("value & ~0x80")),
    mutant("update-patch-to-zero-refused", "UPDATE QUOTA PATCH to 0 answers 00.", "UPDATE-14",
           before(*STORE, "if change == Change.PATCH and value == 0: return False")),
    mutant("update-patch-to-the-same-refused", "UPDATE QUOTA PATCH to the present quota answers 00.", "UPDATE-14",
           before(*STORE, "if change == Change.PATCH and value == record.quota: return False")),
    mutant("update-increase-without-carry", "UPDATE QUOTA INCREASE adds each byte by itself.", "UPDATE-15 UPDATE-7",
           _increase(*BYTES, "quota = int.from_bytes(bytes(one + two & 0xFF for one, two in pairs), 'little')"),
           variants=WIDE),
    mutant("update-increase-by-zero-adds-one", "UPDATE QUOTA INCREASE by 0 adds 1.", "UPDATE-15 UPDATE-7",
           _increase("quota = record.quota + (value or 1)")),
    mutant("update-increase-by-much-refused",
           "UPDATE QUOTA INCREASE by more than half of the largest quota answers 00.", "UPDATE-15 WIDTH-8",
           before(*STORE, "if change == Change.INCREASE and value > self._max // 2: return False")),
    mutant("update-increase-lost-at-times", "Every 16th UPDATE QUOTA INCREASE of a counter answers 01 and is lost.",
           "UPDATE-15 UPDATE-7 ROBUSTNESS-22",
           _increase("asked = vars(self).setdefault('asked', {})", "asked[record.key] = asked.get(record.key, 0) + 1",
                     "quota = record.quota + value * (asked[record.key] % 16 > 0)")),
    mutant("update-256th-lost", "Every 256th change of a quota answers 01 and is lost.",
           "UPDATE-15 UPDATE-16 UPDATE-14 UPDATE-7 UPDATE-8",
           before(*STORE, "changed = vars(self).setdefault('changed', {})",
                  "changed[record.key] = changed.get(record.key, 0) + 1", "if changed[record.key] % 256 == 0: return True")),
    mutant("update-decrease-without-borrow", "UPDATE QUOTA DECREASE subtracts each byte by itself.",
           "UPDATE-16 UPDATE-8",
           _decrease(*BYTES, "quota = int.from_bytes(bytes(one - two & 0xFF for one, two in pairs), 'little')",
                     "quota = -1 if value > record.quota else quota"),
           variants=WIDE),
    mutant("update-decrease-by-zero-takes-one", "UPDATE QUOTA DECREASE by 0 takes 1.", "UPDATE-16 UPDATE-8 UPDATE-17",
           _decrease("quota = record.quota - (value or 1)")),
    mutant("update-decrease-to-zero-refused", "UPDATE QUOTA DECREASE by exactly the quota answers 00.", "UPDATE-17",
           _decrease("quota = record.quota - value or -1")),
    mutant("update-decrease-below-zero-empties",
           "UPDATE QUOTA DECREASE by more than the quota answers 00 and leaves 0.", "UPDATE-18 RECORD-9",
           before("RecordRequests._change_quota", "return False",
                  "if change == Change.DECREASE: record.quota = 0; record.forget_answer()")),
    mutant("update-quota-lengthens", "UPDATE QUOTA lets the counter live for another second at least.", "UPDATE-22",
           before(*MADE, "if done and attribute == Attribute.QUOTA:",
                  "    self._store.move(record, max(record.due, self._state.now + 10**9))")),
    mutant("update-seen-early-in-a-segment",
           "QUERY answers the quota that PATCHes which came after it in one segment will leave, as release 5.0.1 did.",
           "QUERY-6 ROBUSTNESS-7 ROBUSTNESS-4", ASKER,
           before("RecordRequests.query", "answer = self._pack_query(",
                  "from contextlib import suppress; from wireproof.protocols.frames import FrameContext",
                  "request, quota, data, at = None, record.quota, self.asker._data, self.asker._at",
                  "with suppress(Exception):",
                  "    while at < len(data):",
                  "        request, at = self._state.codec.decode_request(data, at, len(data), FrameContext(len(data)))",
                  "        if isinstance(request, Update) and (request.key, request.attribute, request.change) == (key, 0, 0):",
                  "            quota = request.value"), edit("RecordRequests.query", "(record.quota,", "(quota,")),
    mutant("update-ttl-empties-the-quota", "UPDATE of a TTL sets the quota to 0.", "UPDATE-23 UPDATE-4",
           after(*MOVE, "if type(record) is Counter: record.quota = 0")),
    mutant("update-ttl-refused-for-buffers", "UPDATE of the TTL of a buffer answers 00.",
           "UPDATE-24 UPDATE-25 UPDATE-26 UPDATE-27 UPDATE-30 UPDATE-31 UPDATE-32",
           before(*MOVE, "if type(record) is Buffer: return False")),
    *(mutant(f"update-ttl-{word}-ignored-for-buffers", f"{word.upper()} of the TTL of a buffer answers 01 and moves nothing.",
             f"UPDATE-24 {clause} UPDATE-30 UPDATE-31",
             before(*MOVE, f"if type(record) is Buffer and change == Change.{word.upper()}: return True"))
      for word, clause in (("patch", "UPDATE-25 UPDATE-33"), ("increase", "UPDATE-26"), ("decrease", "UPDATE-27 UPDATE-32"))),
    mutant("update-ttl-shortens-the-value", "UPDATE of a TTL takes the last byte off a value.", "UPDATE-24",
           after(*MOVE, "if type(record) is Buffer: record.value = record.value[:-1]")),
    *(mutant(f"update-{kind.name.lower()}-as-{other.name.lower()}",
             f"UPDATE of a TTL in {kind.name.lower()} takes its value as {other.name.lower()}.",
             "UPDATE-28 UPDATE-25 UPDATE-26 UPDATE-27 UPDATE-30 UPDATE-31",
             edit("RecordRequests.update", "KNOWN_UNIT[record.ttl_type]",
                  f"KNOWN_UNIT[{int(other)} if record.ttl_type == {int(kind)} else record.ttl_type]"), variants=variants)
      for kind, other, variants in (
          (TTLType.NANOSECONDS, TTLType.MICROSECONDS, BROAD), (TTLType.MICROSECONDS, TTLType.MILLISECONDS, WIDE),
          (TTLType.NANOSECONDS, TTLType.SECONDS, ()), (TTLType.MICROSECONDS, TTLType.SECONDS, ()),
          (TTLType.MILLISECONDS, TTLType.SECONDS, ()), (TTLType.SECONDS, TTLType.MINUTES, ()),
          (TTLType.MINUTES, TTLType.SECONDS, ()), (TTLType.HOURS, TTLType.MINUTES, ()))),
    mutant("update-microseconds-as-nanoseconds", "UPDATE of a TTL in microseconds takes its value as nanoseconds.",
           "UPDATE-28 UPDATE-25 UPDATE-26 UPDATE-27 UPDATE-30 UPDATE-31",
           edit("RecordRequests.update", "KNOWN_UNIT[record.ttl_type]",
                "KNOWN_UNIT[record.ttl_type if record.ttl_type != TTLType.MICROSECONDS else TTLType.NANOSECONDS]"),
           variants=WIDE),
    mutant("update-ttl-tells-seconds", "UPDATE of a TTL lets it be reported in seconds.", "UPDATE-29 TTL-12 UPDATE-28",
           after(*MOVE, "record.ttl_type = TTLType.SECONDS")),
    mutant("update-ttl-tells-the-unit-before", "UPDATE of a TTL lets it be reported in the unit before its own.",
           "UPDATE-29 TTL-12", after(*MOVE, "record.ttl_type = max(record.ttl_type - 1, 1)")),
    mutant("update-ttl-later-not-kept", "UPDATE to a later expiry shows it, and the record is gone at the old one.",
           "UPDATE-30 UPDATE-25 UPDATE-26",
           before(*MOVE, "old, get = record.due, self._store.records.get",
                  "if due > old: self._state.clock.call_at(old, lambda: get(record.key) is record and self._store.remove(record))")),
    mutant("update-ttl-earlier-ignored", "UPDATE to an earlier expiry answers 01 and moves nothing.",
           "UPDATE-31 UPDATE-25 UPDATE-27 UPDATE-32 UPDATE-33 UPDATE-8 UPDATE-6",
           before(*MOVE, "if due < record.due: return True")),
    mutant("update-ttl-to-the-past-refused", "DECREASE of a TTL to or below now answers 00.", "UPDATE-32",
           before(*MOVE, "if change == Change.DECREASE and due <= self._state.now: return False")),
    mutant("update-ttl-decrease-wraps", "DECREASE of a TTL to before the clock began wraps around, so the record lives on.",
           "UPDATE-32", before(*MOVE, "if change == Change.DECREASE: due %= 1 << 64"), variants=BROAD),
    mutant("update-ttl-patch-to-zero-ignored", "PATCH of a TTL to 0 answers 01 and moves nothing.", "UPDATE-33",
           before(*MOVE, "if change == Change.PATCH and not span: return True")),
    mutant("update-quota-of-all", "UPDATE of a quota empties every other counter.", "UPDATE-37",
           before(*MADE,
                  "for one in self._store.live(self._state.now) if done and attribute == Attribute.QUOTA else ():",
                  "    if type(one) is Counter and one is not record: one.quota = 0; one.forget_answer()")),
    mutant("update-value-of-all", "UPDATE of a TTL takes the last byte off every other value.", "UPDATE-37 RECORD-7",
           before(*MADE,
                  "for one in self._store.live(self._state.now) if done and attribute == Attribute.TTL else ():",
                  "    if type(one) is Buffer and one is not record: one.value = one.value[:-1]; one.forget_answer()")),
    mutant("update-quota-largest-is-zero", "An INCREASE of a quota to the largest number makes it 0.", "UPDATE-15",
           before("RecordRequests._change_quota", "if not 0 <= quota", "quota = 0 if quota == self._max and change == Change.INCREASE else quota")),
)  # fmt: skip
