"""Mutants of SET, of the values that it stores, and of the width of numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from wireproof.mutants.throttr.server.mutant import HandlerPatch, ServerMutant, mutant
from wireproof.mutants.throttr.server.patches import (
    Ask,
    eating_a_byte,
    field_kind,
    order,
    taking,
    with_answer,
    with_handler,
    with_request,
)
from wireproof.mutants.throttr.server.shared import (
    HALF_A_SECOND,
    SECOND,
    WIDE,
    asked_due,
    by_owner,
    making_room,
    refused,
    renew,
    since_connected,
    status_inverted,
    type_forgotten,
    undone,
)
from wireproof.mutants.throttr.server.updates import INCREASE, PATCH, instead, of_quota_by, of_ttl_by, valued
from wireproof.protocols.fields import Blob
from wireproof.protocols.profile import Profile, Variant
from wireproof.protocols.throttr import TTLType
from wireproof.protocols.throttr.requests import VALUE, Get, Insert, Set
from wireproof.reference_server.service import Close, Peer, Write
from wireproof.reference_server.throttr.dispatch import Dispatch
from wireproof.reference_server.throttr.record_requests import SHOWN_UNIT
from wireproof.reference_server.throttr.records import Buffer, Counter, Record
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import ACCEPTED, DENIED, Handler, State

__all__ = ["MUTANTS"]

TTL = ("SET-3", "EXPIRY-11", "TTL-7")
ECHOED = ("GET-6", "TTL-12", "TTL-1", "TTL-2", "TTL-3", "TTL-5", "TTL-6")
STORED = ("SET-12", "SET-13")


def _both(
    name: str, description: str, old: str, new: str, *clauses: str, **patches: Any
) -> tuple[ServerMutant, ServerMutant]:
    """Return a mutant for each profile: `old` are the clauses of 7.1.0 alone, `new` those of 7.3.2, by their numbers."""
    ways = ((f"{name}-behind-one-byte", old), (f"{name}-behind-n-bytes", new))
    first, second = (
        mutant(named, description, *(f"SET-{number}" for number in numbers.split()), *clauses, **patches)
        for named, numbers in ways
    )
    return first, second


def _seven_bits(request: Set, ask: Ask) -> Set:
    """Take the value size without its bit 7; what is left of the value is read as requests."""
    size = len(request.value) & ~0x80
    ask.session._at -= len(request.value) - size
    return Set(request.ttl_type, request.ttl, request.key, request.value[:size])


def _value_first(request: Set, ask: Ask) -> Set:
    """Read a value of 1 byte before the key."""
    if len(request.value) != 1:
        return request
    both = request.key + request.value
    return Set(request.ttl_type, request.ttl, both[1:], both[:1])


def _eating_behind_127(answer: bytes, ask: Ask) -> bytes:
    ask.session._at += len(ask.request.value) == 127
    return answer


def _hidden_while_young(request: Any, age: int) -> bytes | None:
    return DENIED if isinstance(request, Get) and age < HALF_A_SECOND else None


# fmt: off
SET_MUTANTS = (
    mutant("set-ttl-type-forgotten", "SET stores the right instant and tells every TTL in seconds.", "SET-2", *ECHOED,
           handlers=with_answer(Set, type_forgotten)),
    mutant("set-ttl-since-connected", "SET counts the TTL from the opening of its connection.", *TTL, handlers=with_answer(Set, since_connected)),
    mutant("set-value-size-of-n-bytes", "SET reads a value size of N bytes.", "SET-5", "SET-7", "SET-9", "WIDTH-5", variants=WIDE,
           profile=field_kind(Set, "value", Blob(VALUE))),
    *_both("set-value-size-of-seven-bits", "SET reads the value size without its bit 7, and what is left of the value as requests.", "5 9 16",
           "6 10 17", *STORED, handlers=with_request(Set, _seven_bits)),
    *_both("set-value-before-key", "SET reads the value before the key.", "7 4 5 9", "8 4 6 10", *STORED,
           profile=order(Set, "ttl_type", "ttl", "value", "key")),
    *_both("set-value-of-one-byte-before-key", "SET reads a value of 1 byte before the key.", "7 9", "8 10", *STORED,
           handlers=with_request(Set, _value_first)),
    *_both("set-eats-a-byte", "SET takes the byte behind its value for a part of itself, where one has come.", "9", "10", "ROBUSTNESS-5",
           "ROBUSTNESS-7", handlers=eating_a_byte(Set)),
    *_both("set-eats-a-byte-behind-127", "SET takes the byte behind a value of 127 bytes for a part of itself, where one has come.", "9", "10",
           "ROBUSTNESS-5", "ROBUSTNESS-7", handlers=with_answer(Set, _eating_behind_127)),
    mutant("set-status-inverted", "SET answers 00 when the buffer was stored and 01 when not.", "SET-11", "SET-12", "SET-19", "SET-20", "FRAMING-5",
           handlers=with_answer(Set, status_inverted)),
    mutant("set-answers-two-bytes-for-short-values", "SET answers its status and a zero byte where the value has 1 or 2 bytes.", "SET-11",
           "FRAMING-6", handlers=with_answer(Set, lambda answer, ask: answer + b"\0" * (0 < len(ask.request.value) < 3))),
    mutant("set-seen-late-by-others", "GET finds a new buffer only from the connection that stored it, for half a second.", "SET-12", "RECORD-7",
           handlers=by_owner(Set, Get, others=_hidden_while_young)),
)
# fmt: on


VALUE_STORED = ("SET-13", "SET-12")
LONG = ("SET-16", "SET-17")
OLD, NEW = ("7.1.0",), ("7.3.2",)


class _Content(NamedTuple):
    value: bytes
    ttl_type: int
    due: int


def _of(record: Buffer) -> _Content:
    return _Content(record.value, record.ttl_type, record.due)


def _value(change: Callable[[bytes], bytes]) -> HandlerPatch:
    return taking(Set, value=lambda value, ask: change(value))


def _refusing(where: Callable[[bytes], bool]) -> HandlerPatch:
    """Refuse, and store nothing of, a value that is `where`."""
    return with_answer(Set, lambda answer, ask: undone(answer, ask) and DENIED if where(ask.request.value) else answer)


def _overwriting(merge: Callable[[_Content, _Content], _Content]) -> HandlerPatch:
    """Leave `merge(old, new)` where a live buffer is overwritten."""

    def make(correct: Handler, state: State) -> Handler:
        def handle(request: Any, session: ThrottrSession, now: int) -> bytes:
            record = state.store.find(request.key, now)
            if not isinstance(record, Buffer):
                return correct(request, session, now)
            old = _of(record)
            answer = correct(request, session, now)
            if answer == ACCEPTED:
                left = merge(old, _of(record))
                state.store.overwrite(record, left.ttl_type, left.value, left.due)
            return answer

        return handle

    return with_handler(Set, make)


def _overwrites(
    name: str, description: str, merge: Callable[[_Content, _Content], _Content], *clauses: str
) -> ServerMutant:
    return mutant(
        f"set-overwriting-{name}",
        f"SET on a live buffer {description}.",
        "SET-19",
        *clauses,
        handlers=_overwriting(merge),
    )


def _store(record: Buffer, ask: Ask) -> None:
    asked = ask.request
    ask.state.store.overwrite(record, asked.ttl_type, asked.value, asked_due(ask))


# fmt: off
SET_VALUES_MUTANTS = (
    mutant("set-value-ends-at-zero-byte", "SET stores a value up to its first zero byte.", *VALUE_STORED,
           handlers=_value(lambda value: value.split(b"\0")[0])),
    mutant("set-value-bit-7-lost", "SET stores the low seven bits of each byte.", *VALUE_STORED,
           handlers=_value(lambda value: bytes(byte & 0x7F for byte in value))),
    mutant("set-value-as-text", "SET stores the printable characters of a value.", *VALUE_STORED,
           handlers=_value(lambda value: bytes(byte for byte in value if 0x20 <= byte < 0x7F))),
    mutant("set-value-cut-at-254", "SET stores the first 254 bytes of a longer value.", "SET-16", *VALUE_STORED, "WIDTH-10",
           handlers=_value(lambda value: value[:254])),
    mutant("set-value-size-modulo-256", "SET stores of a value of more than 255 bytes as many as the low byte of its size says.", "SET-17",
           *VALUE_STORED, "WIDTH-10", variants=WIDE, handlers=_value(lambda value: value[: len(value) & 0xFF])),
    mutant("set-value-above-4096-refused", "SET of a value of more than 4096 bytes answers 00.", "SET-17", "SET-12", variants=WIDE,
           handlers=_refusing(lambda value: len(value) > 4096)),
    mutant("set-empty-value-as-a-zero-byte", "SET stores an empty value as one zero byte.", "SET-15", *VALUE_STORED,
           handlers=_value(lambda value: value or b"\0")),
    mutant("set-refused-yet-stored", "SET on a live buffer answers 00 and replaces it.", "SET-11", "RECORD-9", profiles=OLD,
           handlers=refused(Set, Buffer, _store)),
    mutant("set-refuses-to-overwrite", "SET on a live buffer answers 00 and changes nothing.", "SET-19", profiles=NEW,
           rules={"set_overwrites": False}),
    _overwrites("keeps-the-ttl", "keeps its expiry", lambda old, new: new._replace(due=old.due)),
    _overwrites("keeps-the-type", "keeps its TTL type", lambda old, new: new._replace(ttl_type=old.ttl_type)),
    _overwrites(
        "keeps-the-tail",
        "leaves those bytes of a longer value that the new one does not reach",
        lambda old, new: new._replace(value=new.value + old.value[len(new.value) :]),
        *("SET-15", "ROBUSTNESS-18"),
    ),
    _overwrites(
        "by-nothing-ignored",
        "keeps its value when the new one is empty",
        lambda old, new: new._replace(value=new.value or old.value),
        "SET-15",
    ),
    mutant("set-overwrites-a-counter", "SET on a live counter answers 01 and makes a buffer of it.", "SET-20", "RECORD-1", profiles=NEW,
           handlers=making_room(Set, lambda record: isinstance(record, Counter))),
    mutant("set-refused-renews-a-counter", "SET on a live counter answers 00 and gives it the new TTL.", "SET-20", "RECORD-9", profiles=NEW,
           handlers=refused(Set, Counter, renew)),
)
# fmt: on


LAYOUTS = ("INSERT-2", "INSERT-4", "INSERT-6", "QUERY-5", "QUERY-6", "QUERY-8", "UPDATE-9", "SET-3", "GET-7", "GET-8")
"""What dynamic fields of another size break."""


def _as_wide(variant: str, clause: str, size: int) -> ServerMutant:
    def patch(profile: Profile) -> Profile:
        return profile.derive(profile.name, variants={variant: Variant(variant, {"value": size})})

    return mutant(
        f"width-{variant}-of-{size}-bytes",
        f"At {variant} every dynamic field has {size} bytes.",
        *(clause, *LAYOUTS),
        variants=(variant,),
        profile=patch,
    )


def _lowered(number: int, ask: Ask) -> int:
    """Return one less than the largest number where it is that."""
    return min(number, ask.state.value_max - 1)


def _near_the_largest_refused(answer: bytes, ask: Ask) -> bytes:
    return undone(answer, ask) and DENIED if ask.request.ttl >= ask.state.value_max - 1 else answer


def _near_254_seconds_refused(answer: bytes, ask: Ask) -> bytes:
    return _near_the_largest_refused(answer, ask) if ask.request.ttl_type == TTLType.SECONDS else answer


def _wrapping(record: Record, ask: Ask) -> bytes:
    """Count what remains in the record's unit modulo 2^(8N)."""
    unit = SHOWN_UNIT[record.ttl_type]
    span = record.due - ask.now + ask.request.value * unit
    ask.state.store.move(record, ask.now + span % ((ask.state.value_max + 1) * unit))
    return ACCEPTED


class _Announcing(ThrottrSession):
    """Tells the width to a client that says nothing for two fifths of a second."""

    def __init__(self, state: State, dispatch: Dispatch, peer: Peer, write: Write, close: Close) -> None:
        super().__init__(state, dispatch, peer, write, close)
        state.clock.call_at(state.clock.monotonic_ns() + 2 * SECOND // 5, self._announce)

    def _announce(self) -> None:
        if not (self.read_bytes or self.closed):
            self._write(bytes([self._state.value_size]))


# fmt: off
WIDTH_MUTANTS = (
    _as_wide("uint8", "WIDTH-1", 2),
    _as_wide("uint16", "WIDTH-2", 4),
    _as_wide("uint32", "WIDTH-3", 2),
    _as_wide("uint64", "WIDTH-4", 4),
    mutant("width-ttl-near-the-largest-refused", "INSERT and SET with a TTL of the largest number, or one less, answer 00.", "WIDTH-8", "INSERT-8",
           "SET-12", variants=("uint16", "uint32"), handlers=with_answer((Insert, Set), _near_the_largest_refused)),
    mutant("width-ttl-of-64-bits-refused", "INSERT and SET with a TTL of 2^64 - 2, or one more, answer 00.", "WIDTH-8", "INSERT-8", "SET-12",
           "TTL-13", profiles=("7.1.0",), variants=("uint64",), handlers=with_answer((Insert, Set), _near_the_largest_refused)),
    mutant("width-ttl-of-254-seconds-refused", "SET with a TTL of 254 seconds answers 00.", "WIDTH-8", "SET-12", variants=("uint8",),
           handlers=with_answer(Set, _near_254_seconds_refused)),
    mutant("width-largest-quota-lowered", "INSERT stores 1 less than the largest quota for it.", "WIDTH-10", "INSERT-2",
           handlers=taking(Insert, quota=_lowered)),
    mutant("width-largest-patch-lowered", "UPDATE QUOTA PATCH stores 1 less than the largest quota for it.", "WIDTH-10", "UPDATE-14",
           handlers=valued(of_quota_by(PATCH), _lowered)),
    mutant("width-largest-value-cut", "At uint8 SET stores the first 254 of 255 bytes.", "WIDTH-10", "SET-12", "SET-13", variants=("uint8",),
           handlers=taking(Set, value=lambda value, ask: value[:254])),
    mutant("width-ttl-increase-wraps", "UPDATE TTL INCREASE takes what remains modulo 2^(8N) of its units.", "UPDATE-26", "UPDATE-30",
           variants=("uint8", "uint16"), handlers=instead(of_ttl_by(INCREASE), _wrapping)),
    mutant("width-announced-to-the-silent", "A client that says nothing for two fifths of a second is told the width, in one byte.", "WIDTH-14",
           "FRAMING-2", session=_Announcing),
)
# fmt: on


MUTANTS = (
    *SET_MUTANTS,
    *SET_VALUES_MUTANTS,
    *WIDTH_MUTANTS,
)
