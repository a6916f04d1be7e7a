"""Faults in SET: how it is read, which TTL and key it stores, and what it answers."""

from __future__ import annotations

from typing import Any

from wireproof.mutants.throttr.server.mutant import ServerMutant, mutant
from wireproof.mutants.throttr.server.patches import (
    Ask,
    eating_a_byte,
    field_kind,
    order,
    with_answer,
    with_request,
)
from wireproof.mutants.throttr.server.shared import (
    HALF_A_SECOND,
    WIDE,
    by_owner,
    since_connected,
    status_inverted,
    type_forgotten,
)
from wireproof.protocols.fields import Blob
from wireproof.protocols.throttr.requests import VALUE, Get, Set
from wireproof.reference_server.throttr.state import DENIED

__all__ = ["MUTANTS"]

TTL = ("SET-3", "EXPIRY-11", "TTL-7")
ECHOED = ("GET-6", "TTL-12", "TTL-1", "TTL-2", "TTL-3", "TTL-5", "TTL-6")
STORED = ("SET-12", "SET-13")


def _both(
    name: str, description: str, old: str, new: str, *clauses: str, **patches: Any
) -> tuple[ServerMutant, ServerMutant]:
    """Return a fault for each profile: `old` are the clauses of 7.1.0 alone, `new` those of 7.3.2, by their numbers."""
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
MUTANTS = (
    mutant("set-ttl-type-forgotten", "SET stores the right instant and tells every TTL in seconds.", "SET-2", *ECHOED,
           handlers=with_answer(Set, type_forgotten)),
    mutant("set-ttl-since-connected", "SET counts the TTL from the opening of its connection.", *TTL, handlers=with_answer(Set, since_connected)),
    mutant("set-value-size-of-n-bytes", "SET reads a value size of N bytes.", "SET-5", "SET-7", "SET-9", "WIDTH-5", variants=WIDE,
           profile=field_kind(Set, "value", Blob(VALUE))),
    *_both(
        "set-value-size-of-seven-bits",
        "SET reads the value size without its bit 7, and what is left of the value as requests.",
        *("5 9 16", "6 10 17"),
        *STORED,
        handlers=with_request(Set, _seven_bits),
    ),
    *_both(
        "set-value-before-key",
        "SET reads the value before the key.",
        *("7 4 5 9", "8 4 6 10"),
        *STORED,
        profile=order(Set, "ttl_type", "ttl", "value", "key"),
    ),
    *_both(
        "set-value-of-one-byte-before-key",
        "SET reads a value of 1 byte before the key.",
        *("7 9", "8 10"),
        *STORED,
        handlers=with_request(Set, _value_first),
    ),
    *_both(
        "set-eats-a-byte",
        "SET takes the byte behind its value for a part of itself, where one has come.",
        *("9", "10"),
        *("ROBUSTNESS-5", "ROBUSTNESS-7"),
        handlers=eating_a_byte(Set),
    ),
    *_both(
        "set-eats-a-byte-behind-127",
        "SET takes the byte behind a value of 127 bytes for a part of itself, where one has come.",
        *("9", "10"),
        *("ROBUSTNESS-5", "ROBUSTNESS-7"),
        handlers=with_answer(Set, _eating_behind_127),
    ),
    mutant("set-status-inverted", "SET answers 00 when the buffer was stored and 01 when not.", "SET-11", "SET-12", "SET-19", "SET-20", "FRAMING-5",
           handlers=with_answer(Set, status_inverted)),
    mutant("set-answers-two-bytes-for-short-values", "SET answers its status and a zero byte where the value has 1 or 2 bytes.", "SET-11",
           "FRAMING-6", handlers=with_answer(Set, lambda answer, ask: answer + b"\0" * (0 < len(ask.request.value) < 3))),
    mutant("set-seen-late-by-others", "GET finds a new buffer only from the connection that stored it, for half a second.", "SET-12", "RECORD-7",
           handlers=by_owner(Set, Get, others=_hidden_while_young)),
)
# fmt: on
