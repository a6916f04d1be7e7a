"""Mutants of SET, of the values that it stores, and of the width of numbers."""

from __future__ import annotations

from typing import Any

from wireproof.mutants.edits import Edit, after, before, edit, first
from wireproof.mutants.server import derived, field_kind, order, with_answer
from wireproof.mutants.throttr.server.mutant import ServerMutant, mutant
from wireproof.mutants.throttr.server.patches import ASKER, V710, V732, WIDE, eating_a_byte, stored_by_others
from wireproof.protocols.fields import Blob
from wireproof.protocols.profile import Variant
from wireproof.protocols.throttr.requests import VALUE, Get, Set
from wireproof.reference_server.throttr.state import DENIED

__all__ = ["MUTANTS"]

STORED = "SET-12 SET-13"
OVERWRITE = ("RecordRequests.set", "self._store.overwrite(held, ttl_type, value, self._last_due)")
HELD = "held, unit = self._store.find(key, self._state.now), SHOWN_UNIT[ttl_type]"
LAYOUTS = "INSERT-2 INSERT-4 INSERT-6 QUERY-5 QUERY-6 QUERY-8 UPDATE-9 SET-3 GET-7 GET-8"
"""What dynamic fields of another size break."""


def _both(name: str, description: str, old: str, new: str, *edits: Edit, **patches: Any) -> tuple[ServerMutant, ...]:
    """Return a mutant for each profile: `old` are the clauses of 7.1.0, `new` those of 7.3.2."""
    ways = ((f"{name}-behind-one-byte", old), (f"{name}-behind-n-bytes", new))
    return tuple(mutant(named, description, clauses, *edits, **patches) for named, clauses in ways)


def _set(*lines: str) -> Edit:
    """Begin SET with lines."""
    return first("RecordRequests.set", *lines)


def _as_wide(variant: str, clause: str, size: int) -> ServerMutant:
    return mutant(
        f"width-{variant}-of-{size}-bytes",
        f"At {variant} every dynamic field has {size} bytes.",
        f"{clause} {LAYOUTS}",
        variants=(variant,),
        profile=derived(variants={variant: Variant(variant, {"value": size})}),
    )


NEAR_THE_LARGEST = "if ttl >= self._max - 1: return DENIED"

MUTANTS: tuple[ServerMutant, ...] = (
    mutant("set-ttl-type-forgotten", "SET stores the right instant and reports every TTL in seconds.",
           "SET-2 GET-6 TTL-12 TTL-1 TTL-2 TTL-3 TTL-5 TTL-6",
           edit("RecordRequests.set", "Buffer(key, ttl_type,", "Buffer(key, TTLType.SECONDS,"),
           edit("RecordRequests.set", "(held, ttl_type,", "(held, TTLType.SECONDS,")),
    mutant("set-ttl-since-connected", "SET counts the TTL from the opening of its connection.", "SET-3 EXPIRY-11 TTL-7",
           ASKER,
           edit("RecordRequests.set", "now + ttl * unit",
                "now + ttl * unit - (self._state.wall(now) - self.asker.connected_at)"), _set("self._last_ttl = -1")),
    mutant("set-value-size-of-n-bytes", "SET reads a value size of N bytes.", "SET-5 SET-7 SET-9 WIDTH-5",
           variants=WIDE, profile=field_kind(Set, "value", Blob(VALUE))),
    *_both("set-value-size-of-seven-bits",
           "SET reads the value size without its bit 7, and what is left of the value as requests.",
           f"SET-5 SET-9 SET-16 {STORED}", f"SET-6 SET-10 SET-17 {STORED}", ASKER,
           _set("size = len(value) & ~0x80; self.asker._at -= len(value) - size; value = value[:size]")),
    *_both("set-value-before-key", "SET reads the value before the key.", f"SET-7 SET-4 SET-5 SET-9 {STORED}",
           f"SET-8 SET-4 SET-6 SET-10 {STORED}", profile=order(Set, "ttl_type", "ttl", "value", "key")),
    *_both("set-value-of-one-byte-before-key", "SET reads a value of 1 byte before the key.", f"SET-7 SET-9 {STORED}",
           f"SET-8 SET-10 {STORED}", _set("both = key + value; key, value = (both[1:], both[:1]) if len(value) == 1 else (key, value)")),
    *_both("set-eats-a-byte", "SET takes the byte after its value for a part of itself, where one has come.",
           "SET-9 ROBUSTNESS-5 ROBUSTNESS-7", "SET-10 ROBUSTNESS-5 ROBUSTNESS-7", handlers=eating_a_byte(Set)),
    *_both("set-eats-a-byte-behind-127",
           "SET takes the byte after a value of 127 bytes for a part of itself, where one has come.",
           "SET-9 ROBUSTNESS-5 ROBUSTNESS-7", "SET-10 ROBUSTNESS-5 ROBUSTNESS-7", ASKER,
           _set("self.asker._at += len(value) == 127")),
    mutant("set-status-inverted", "SET answers 00 when the buffer was stored and 01 when not.",
           "SET-11 SET-12 SET-19 SET-20 FRAMING-5",
           handlers=with_answer(Set, lambda answer, ask: bytes([answer[0] ^ 1]))),
    mutant("set-answers-two-bytes-for-short-values",
           "SET answers its status and a zero byte where the value has 1 or 2 bytes.", "SET-11 FRAMING-6",
           handlers=with_answer(Set, lambda answer, ask: answer + b"\0" * (0 < len(ask.request.value) < 3))),
    mutant("set-seen-late-by-others",
           "GET finds a new buffer only from the connection that stored it, for half a second.", "SET-12 RECORD-7",
           handlers=stored_by_others(Get, DENIED, Set, within=500_000_000)),
    mutant("set-value-ends-at-zero-byte", "SET stores a value up to its first zero byte.", "SET-13 SET-12",
           _set(r"value = value.split(b'\0')[0]")),
    mutant("set-value-bit-7-lost", "SET stores the low seven bits of each byte.", "SET-13 SET-12",
           _set("value = bytes(byte & 0x7F for byte in value)")),
    mutant("set-value-as-text", "SET stores the printable characters of a value.", "SET-13 SET-12",
           _set("value = bytes(byte for byte in value if 0x20 <= byte < 0x7F)")),
    mutant("set-value-without-its-line-end", "SET drops a line end at the end of a value.", "SET-13 SET-12",
           _set(r"value = value.removesuffix(b'\n')")),
    mutant("set-value-cut-at-254", "SET stores the first 254 bytes of a longer value.", "SET-16 SET-13 SET-12 WIDTH-10",
           _set("value = value[:254]")),
    mutant("set-value-size-modulo-256",
           "SET stores of a value of more than 255 bytes as many as the low byte of its size says.",
           "SET-17 SET-13 SET-12 WIDTH-10", _set("value = value[: len(value) & 0xFF]"), variants=WIDE),
    mutant("set-value-above-4096-refused", "SET of a value of more than 4096 bytes answers 00.", "SET-17 SET-12",
           _set("if len(value) > 4096: return DENIED"), variants=WIDE),
    mutant("set-empty-value-as-a-zero-byte", "SET stores an empty value as one zero byte.", "SET-15 SET-13 SET-12",
           _set(r"value = value or b'\0'")),
    mutant("set-refused-yet-stored", "SET on a live buffer answers 00 and replaces it.", "SET-11 RECORD-9",
           _set(HELD, "if type(held) is Buffer:",
                "    self._store.overwrite(held, ttl_type, value, self._state.now + ttl * unit); return DENIED"),
           profiles=V710),
    mutant("set-refuses-to-overwrite", "SET on a live buffer answers 00 and changes nothing.", "SET-19", profiles=V732,
           rules={"set_overwrites": False}),
    mutant("set-overwriting-keeps-the-ttl", "SET on a live buffer keeps its expiry.", "SET-19",
           edit(*OVERWRITE, "self._store.overwrite(held, ttl_type, value, held.due)")),
    mutant("set-of-the-same-value-ignored", "SET of the value that a live buffer holds answers 01 and changes nothing.",
           "SET-19", before(*OVERWRITE, "if held.value == value: return ACCEPTED"), profiles=V732),
    mutant("set-overwriting-compares-the-beginning", "SET on a live buffer keeps a value of the same size and first byte.",
           "SET-19", before(*OVERWRITE, "if len(held.value) == len(value) and held.value[:1] == value[:1]: value = held.value"),
           profiles=V732),
    mutant("set-overwriting-keeps-the-type", "SET on a live buffer keeps its TTL type.", "SET-19",
           edit(*OVERWRITE, "self._store.overwrite(held, held.ttl_type, value, self._last_due)")),
    mutant("set-overwriting-keeps-the-tail",
           "SET on a live buffer leaves those bytes of a longer value that the new one does not reach.",
           "SET-19 SET-15 ROBUSTNESS-18",
           edit(*OVERWRITE, "self._store.overwrite(held, ttl_type, value + held.value[len(value) :], self._last_due)")),
    mutant("set-overwriting-by-nothing-ignored", "SET on a live buffer keeps its value when the new one is empty.",
           "SET-19 SET-15",
           edit(*OVERWRITE, "self._store.overwrite(held, ttl_type, value or held.value, self._last_due)")),
    mutant("set-overwrites-a-counter", "SET on a live counter answers 01 and makes a buffer of it.", "SET-20 RECORD-1",
           _set(HELD, "if type(held) is Counter: self._store.remove(held)"), profiles=V732),
    mutant("set-refused-renews-a-counter", "SET on a live counter answers 00 and gives it the new TTL.",
           "SET-20 RECORD-9",
           _set(HELD, "if type(held) is Counter: self._store.move(held, self._state.now + ttl * unit)"), profiles=V732),
    _as_wide("uint8", "WIDTH-1", 2),
    _as_wide("uint16", "WIDTH-2", 4),
    _as_wide("uint32", "WIDTH-3", 2),
    _as_wide("uint64", "WIDTH-4", 4),
    mutant("width-ttl-near-the-largest-refused",
           "INSERT and SET with a TTL of the largest number, or one less, answer 00.", "WIDTH-8 INSERT-8 SET-12",
           first("RecordRequests.insert", NEAR_THE_LARGEST), _set(NEAR_THE_LARGEST), variants=("uint16", "uint32")),
    mutant("width-ttl-of-64-bits-refused", "INSERT and SET with a TTL of 2^64 - 2, or one more, answer 00.",
           "WIDTH-8 INSERT-8 SET-12 TTL-13", first("RecordRequests.insert", NEAR_THE_LARGEST), _set(NEAR_THE_LARGEST),
           profiles=V710, variants=("uint64",)),
    mutant("width-ttl-of-254-seconds-refused", "SET with a TTL of 254 seconds answers 00.", "WIDTH-8 SET-12",
           _set("if ttl >= self._max - 1 and ttl_type == TTLType.SECONDS: return DENIED"), variants=("uint8",)),
    mutant("width-largest-quota-lowered", "INSERT stores 1 less than the largest quota for it.", "WIDTH-10 INSERT-2",
           first("RecordRequests.insert", "quota = min(quota, self._max - 1)")),
    mutant("width-largest-patch-lowered", "UPDATE QUOTA PATCH stores 1 less than the largest quota for it.",
           "WIDTH-10 UPDATE-14",
           edit("RecordRequests._change_quota", "quota = value", "quota = min(value, self._max - 1)")),
    mutant("width-largest-value-cut", "At uint8 SET stores the first 254 of 255 bytes.", "WIDTH-10 SET-12 SET-13",
           _set("value = value[:254]"), variants=("uint8",)),
    mutant("width-ttl-increase-wraps", "UPDATE TTL INCREASE takes what remains modulo 2^(8N) of its units.",
           "UPDATE-26 UPDATE-30",
           edit("RecordRequests._change_ttl", "due = record.due + span",
                "due, now = record.due + span, self._state.now",
                "due = now + (due - now) % ((self._max + 1) * SHOWN_UNIT[record.ttl_type])"),
           variants=("uint8", "uint16")),
    mutant("width-publish-size-of-four-bytes", "Of the eight bytes of a payload size PUBLISH takes four.", "PUBLISH-3",
           first("ThrottrSession.data_received",
                 r'if data[:1] == b"\x13" and len(data) > 10: data = data[:6] + bytes(4) + data[10:]'),
           variants=("uint64",)),
    mutant("width-announced-to-the-silent",
           "A client that says nothing for two fifths of a second is told the width, in one byte.",
           "WIDTH-14 FRAMING-2",
           after("ThrottrSession.__init__", "self._flows = True",
                 "silent = lambda: not (self.read_bytes or self.closed)",
                 "state.clock.call_at(self._clock_ns() + 400_000_000, lambda: silent() and write(bytes([state.value_size])))")),
)  # fmt: skip
