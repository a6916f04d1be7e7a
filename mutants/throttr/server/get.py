"""Faults in GET: how it is read, what it answers, and what asking does to a buffer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from wireproof.mutants.throttr.server.mutant import HandlerPatch, mutant
from wireproof.mutants.throttr.server.patches import (
    Ask,
    changed,
    eating_a_byte,
    field_kind,
    showing,
    with_answer,
    with_found,
    with_handler,
)
from wireproof.mutants.throttr.server.shared import (
    WIDE,
    in_seconds,
    lengthening,
    longer_after_many,
    missing_as_before,
)
from wireproof.protocols.fields import U16, Blob
from wireproof.protocols.throttr import TTLType
from wireproof.protocols.throttr.replies import GetReply
from wireproof.protocols.throttr.requests import Get
from wireproof.reference_server.throttr.records import Buffer
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import DENIED, Handler, State

__all__ = ["MUTANTS"]

EVERY = 25
TYPE = ("GET-6", "SET-2", "TTL-1", "TTL-2", "TTL-3", "TTL-5", "TTL-6")
TTL = ("GET-7", "TTL-11", "TTL-12")
VALUE = ("GET-9", "SET-12", "SET-13")
"""What a value that is told wrong breaks."""
HUNGER = ("GET-3", "ROBUSTNESS-5", "ROBUSTNESS-7")
_answered: WeakKeyDictionary[ThrottrSession, bytes] = WeakKeyDictionary()
"""The last value that was answered on a connection."""


def _value(change: Callable[[bytes], bytes]) -> HandlerPatch:
    return showing(Get, value=lambda value, ask: change(value))


def _size(change: Callable[[int, Ask], int]) -> HandlerPatch:
    """Tell another size than that of the value which follows."""

    def on_answer(answer: bytes, ask: Ask) -> bytes:
        width = ask.state.value_size
        at, stop = 2 + width, 2 + 2 * width
        description = change(int.from_bytes(answer[at:stop], "little"), ask)
        return answer if answer == DENIED else answer[:at] + description.to_bytes(width, "little") + answer[stop:]

    return with_answer(Get, on_answer)


def _left_over(reply: GetReply, ask: Ask) -> GetReply:
    last = _answered.get(ask.session, b"")
    _answered[ask.session] = value = reply.value + last[len(reply.value) :]
    return changed(reply, value=value)


def _wearing_out(correct: Handler, state: State) -> Handler:
    """Take the last byte of a buffer with every so many GETs of it."""
    asked: dict[bytes, int] = {}

    def handle(request: Any, session: ThrottrSession, now: int) -> bytes:
        answer, record = correct(request, session, now), state.store.find(request.key, now)
        asked[request.key] = asked.get(request.key, 0) + 1
        if isinstance(record, Buffer) and asked[request.key] % EVERY == 0:
            state.store.overwrite(record, record.ttl_type, record.value[:-1], record.due)
        return answer

    return handle


def _nothing_found(answer: bytes, ask: Ask) -> bytes:
    return answer if ask.state.store.records else b"\1".ljust(2 + 2 * ask.state.value_size, b"\0")


# fmt: off
MUTANTS = (
    mutant("get-eats-a-byte-when-found", "GET that finds a buffer takes the byte behind its key for a part of itself, where one has come.", *HUNGER,
           handlers=eating_a_byte(Get, lambda answer: answer != DENIED)),
    mutant("get-miss-answered-as-the-hit-before", "GET of a missing key that follows a GET of a buffer in one segment is answered as that.", "GET-4",
           "GET-10", "ROBUSTNESS-18", handlers=with_handler(Get, missing_as_before)),
    mutant("get-answer-a-byte-longer-after-many", "GET answers a zero byte behind every tenth answer to what came in one segment.", "GET-5",
           "ROBUSTNESS-7", handlers=with_handler(Get, longer_after_many)),
    mutant("get-finds-in-an-empty-store", "GET answers 01 and zeros as long as no record is stored.", "GET-10", "GET-4",
           handlers=with_answer(Get, _nothing_found)),
    mutant("get-ttl-type-always-seconds", "GET answers seconds for every TTL type.", *TYPE,
           handlers=showing(Get, ttl_type=lambda kind, ask: int(TTLType.SECONDS))),
    mutant("get-ttl-type-less-one", "GET answers the TTL type less 1.", *TYPE, "TTL-4",
           handlers=showing(Get, ttl_type=lambda kind, ask: kind - 1 & 0xFF)),
    mutant("get-ttl-in-seconds", "GET answers the TTL in seconds, whatever its type.", *TTL, handlers=showing(Get, ttl=in_seconds)),
    mutant("get-ttl-bit-14-lost", "GET answers the TTL without bit 14.", *TTL, variants=WIDE,
           handlers=showing(Get, ttl=lambda ttl, ask: ttl & ~0x4000)),
    mutant("get-value-size-of-two-bytes", "GET answers a value size of 2 bytes at uint8.", "GET-8", "GET-5", "GET-9", "WIDTH-1", variants=("uint8",),
           profile=field_kind(GetReply, "value", Blob(U16))),
    mutant("get-value-size-of-seven-bits", "GET answers the value size without its bit 7, and the value whole.", "GET-8", "GET-5", "GET-9",
           handlers=_size(lambda size, ask: size & ~0x80)),
    mutant("get-value-cut-at-126", "GET answers the first 126 bytes of a longer value, and their number.", *VALUE, "SET-16", "SET-17", "WIDTH-12",
           handlers=_value(lambda value: value[:126])),
    mutant("get-short-value-padded", "GET answers a value of less than 6 bytes with zeros up to 6.", *VALUE, "SET-15", "ROBUSTNESS-18",
           handlers=_value(lambda value: value.ljust(6, b"\0"))),
    mutant("get-value-with-the-rest-of-another", "GET fills a value up with the end of a longer one that it answered before on the connection.",
           *VALUE, "SET-15", "ROBUSTNESS-18", handlers=with_found(Get, _left_over)),
    mutant("get-wears-out", "Every 25th GET of a buffer takes the last byte of its value.", "GET-11", "GET-9",
           handlers=with_handler(Get, _wearing_out)),
    mutant("get-lengthens", "GET lets a buffer live for another second at least.", "GET-11", "SET-3", "EXPIRY-2",
           handlers=with_answer(Get, lengthening)),
    mutant("get-finds-counters", "GET of a counter answers 01 and an empty value.", "GET-12", profiles=("7.1.0",), rules={"get_finds_counters": True}),
)
# fmt: on
