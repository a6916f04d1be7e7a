"""Faults of STAT."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wireproof.mutants.throttr.server.memory import Remembering, eating_again, keeping, own
from wireproof.mutants.throttr.server.mutant import HandlerPatch, mutant
from wireproof.mutants.throttr.server.patches import (
    Ask,
    both,
    changed,
    showing,
    with_answer,
    with_found,
    with_reply,
    with_request,
)
from wireproof.protocols.throttr.replies import StatReply, Status
from wireproof.protocols.throttr.requests import Insert, Set, Stat
from wireproof.reference_server.throttr.records import Record
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import ACCEPTED, DENIED

__all__ = ["MUTANTS"]

FIELDS = ("reads_per_minute", "writes_per_minute", "total_reads", "total_writes")
INTEGERS = ("STAT-5", "STAT-6", "STAT-7", "STAT-8")
NOTHING = StatReply(0, 0, 0, 0)


def _exchanged(*pairs: tuple[str, str]) -> HandlerPatch:
    """Answer with the fields of each pair in each other's place."""

    def change(reply: Any, ask: Ask) -> Any:
        return changed(reply, **{one: getattr(reply, other) for pair in pairs for one, other in (pair, pair[::-1])})

    return with_found(Stat, change)


def _key(change: Callable[[bytes], bytes]) -> HandlerPatch:
    """Look the record up under `change(key)`."""
    return with_request(Stat, lambda request, ask: changed(request, key=change(request.key)))


def _refusing(kind: type[Record]) -> HandlerPatch:
    """Answer 00 for records of one kind."""

    def change(answer: bytes, ask: Ask) -> bytes:
        return DENIED if isinstance(ask.state.store.records.get(ask.request.key), kind) else answer

    return with_answer(Stat, change)


def _touching(touch: Callable[[Any, Ask], object]) -> HandlerPatch:
    """Do `touch(record, ask)` to a record that was found."""

    def change(answer: bytes, ask: Ask) -> bytes:
        if answer != DENIED:
            touch(ask.state.store.records[ask.request.key], ask)
        return answer

    return with_answer(Stat, change)


def _if_own(answer: bytes, ask: Ask) -> bytes:
    return answer if own(ask.request.key, ask.session, ask.state) else DENIED


def _when_missing(is_found: Callable[[Ask], bool]) -> HandlerPatch:
    """Answer four zeros for no record where `is_found`."""
    return with_reply(Stat, lambda reply, ask: NOTHING if isinstance(reply, Status) and is_found(ask) else reply)


def _begins_so(ask: Ask) -> bool:
    return any(record.key.startswith(ask.request.key) for record in ask.state.store.live(ask.now))


class Noting(ThrottrSession):
    """A connection that knows where its last STAT ended."""

    last: tuple[bytes, int] = b"", 0


def _behind_another(answer: bytes, ask: Ask) -> bytes:
    session = ask.session
    assert isinstance(session, Noting)
    data, stop = session.last
    session.last = session._data, session._at
    begin = session._at - len(ask.request.key) - 2
    return answer[1:] or answer if data is session._data and stop == begin else answer


# fmt: off
MUTANTS = (
    mutant("stat-key-size-signed", "STAT takes a key size above 127 for a negative one: no such key.", "STAT-2",
           handlers=with_answer(Stat, lambda answer, ask: DENIED if len(ask.request.key) > 127 else answer)),
    mutant("stat-key-cut-at-254", "STAT reads 254 bytes of a key of 255.", "STAT-2", "STAT-3", handlers=_key(lambda key: key[:254])),
    mutant("stat-key-below-3-missed", "STAT takes a key of one byte or two for none.", "STAT-2",
           handlers=_key(lambda key: key if len(key) > 2 else b"")),
    mutant("stat-key-size-reserved", "STAT takes the key sizes 7f and ff for something else: no such key.", "STAT-2",
           handlers=with_answer(Stat, lambda answer, ask: DENIED if len(ask.request.key) in (127, 255) else answer)),
    mutant("stat-key-up-to-a-zero-byte", "STAT reads a key up to its first zero byte.", "STAT-3", "RECORD-4",
           handlers=_key(lambda key: key.partition(b"\0")[0])),
    mutant("stat-key-trimmed", "STAT leaves blanks and line ends off a key.", "STAT-3", "RECORD-4", handlers=_key(bytes.strip)),
    mutant("stat-eats-a-byte", "STAT takes the byte behind its key when it comes again in one segment.", "STAT-3", "FRAMING-3", "ROBUSTNESS-7",
           handlers=eating_again(Stat)),
    mutant("stat-minute-exchanged", "STAT tells the writes of the last minute before its reads.", *INTEGERS[:2], "METRICS-9",
           handlers=_exchanged(FIELDS[:2])),
    mutant("stat-of-own-records", "STAT finds only what the asking connection stored.", "STAT-9", "RECORD-7", state=Remembering,
           handlers=both(keeping("owners", (Insert, Set), ACCEPTED), with_answer(Stat, _if_own))),
    mutant("stat-by-prefix", "STAT of no record answers for one whose key begins so.", "STAT-10", "RECORD-3", handlers=_when_missing(_begins_so)),
    mutant("stat-behind-stat-without-status", "STAT right behind another STAT is answered without its status byte.", "STAT-4", session=Noting,
           handlers=with_answer(Stat, _behind_another)),
    mutant("stat-writes-of-the-minute-not-cleared", "STAT tells memory left over as the writes of the minute.", "STAT-6", "METRICS-9",
           handlers=showing(Stat, writes_per_minute=lambda writes, ask: 0xA5A5A5)),
    mutant("stat-makes-records-brief", "STAT leaves its record one second to live.", "STAT-11",
           handlers=_touching(lambda record, ask: ask.state.store.move(record, ask.now + 1_000_000_000))),
)
# fmt: on
