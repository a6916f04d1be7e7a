"""Faults in SET: what it stores of a value, and what it does to a key in use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from wireproof.mutants.throttr.server.mutant import HandlerPatch, ServerMutant, mutant
from wireproof.mutants.throttr.server.patches import Ask, taking, with_answer, with_handler
from wireproof.mutants.throttr.server.shared import WIDE, asked_due, making_room, refused, renew, undone
from wireproof.protocols.throttr.requests import Set
from wireproof.reference_server.throttr.records import Buffer, Counter
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import ACCEPTED, DENIED, Handler, State

__all__ = ["MUTANTS"]

STORED = ("SET-13", "SET-12")
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
MUTANTS = (
    mutant("set-value-ends-at-zero-byte", "SET stores a value up to its first zero byte.", *STORED,
           handlers=_value(lambda value: value.split(b"\0")[0])),
    mutant("set-value-bit-7-lost", "SET stores the low seven bits of each byte.", *STORED,
           handlers=_value(lambda value: bytes(byte & 0x7F for byte in value))),
    mutant("set-value-as-text", "SET stores the printable characters of a value.", *STORED,
           handlers=_value(lambda value: bytes(byte for byte in value if 0x20 <= byte < 0x7F))),
    mutant("set-value-cut-at-254", "SET stores the first 254 bytes of a longer value.", "SET-16", *STORED, "WIDTH-10",
           handlers=_value(lambda value: value[:254])),
    mutant("set-value-size-modulo-256", "SET stores of a value of more than 255 bytes as many as the low byte of its size says.", "SET-17", *STORED,
           "WIDTH-10", variants=WIDE, handlers=_value(lambda value: value[: len(value) & 0xFF])),
    mutant("set-value-above-4096-refused", "SET of a value of more than 4096 bytes answers 00.", "SET-17", "SET-12", variants=WIDE,
           handlers=_refusing(lambda value: len(value) > 4096)),
    mutant("set-empty-value-as-a-zero-byte", "SET stores an empty value as one zero byte.", "SET-15", *STORED,
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
