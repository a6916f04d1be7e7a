"""Faults in PURGE: how it is read, what it answers, what it leaves and what else it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from wireproof.mutants.throttr.server.mutant import HandlerPatch, mutant
from wireproof.mutants.throttr.server.patches import (
    changed,
    eating_a_byte,
    with_answer,
    with_handler,
)
from wireproof.protocols.messages import Request
from wireproof.protocols.throttr.requests import Insert, Purge, Set
from wireproof.reference_server.throttr.records import Buffer, Counter, Record
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import ACCEPTED, DENIED, Handler, Handlers, State

__all__ = ["MUTANTS"]

GONE = ("PURGE-5", "PURGE-6", "PURGE-8", "LIST-14")
HUNGER = ("PURGE-3", "ROBUSTNESS-5", "ROBUSTNESS-7")


def _instead(where: Callable[[Record], bool], answer: bytes) -> HandlerPatch:
    """Answer `answer` and remove nothing where the record is `where`."""

    def make(correct: Handler, state: State) -> Handler:
        def handle(request: Any, session: ThrottrSession, now: int) -> bytes:
            record = state.store.find(request.key, now)
            return answer if record is not None and where(record) else correct(request, session, now)

        return handle

    return with_handler(Purge, make)


def _and_also(others: Callable[[bytes, list[bytes]], Iterable[bytes]]) -> HandlerPatch:
    """Remove the records under `others(key, all keys as they were stored)`, too."""

    def make(correct: Handler, state: State) -> Handler:
        def handle(request: Any, session: ThrottrSession, now: int) -> bytes:
            chosen = list(others(request.key, list(state.store.records)))
            answer = correct(request, session, now)
            if answer == ACCEPTED:
                for key in chosen:
                    if (record := state.store.find(key, now)) is not None:
                        state.store.remove(record)
            return answer

        return handle

    return with_handler(Purge, make)


def _oldest_at_times(correct: Handler, state: State) -> Handler:
    number = 0

    def handle(request: Any, session: ThrottrSession, now: int) -> bytes:
        nonlocal number
        number += 1
        answer = correct(request, session, now)
        oldest = next(state.store.live(now), None)
        if number % 10 == 0 and oldest is not None:
            state.store.remove(oldest)
        return answer

    return handle


def _once_purged(then: Callable[[Any, int], bytes | None]) -> HandlerPatch:
    """Let `then(request, ns since the PURGE)` answer, where it does, PURGE, INSERT and SET of a key that was purged."""

    def patch(correct: Handlers, state: State) -> Handlers:
        purged: dict[bytes, int] = {}

        def handle(request: Any, session: ThrottrSession, now: int) -> bytes:
            since = purged.get(request.key)
            wrong = None if since is None else then(request, now - since)
            if wrong is not None:
                return wrong
            answer = correct[type(request)](request, session, now)
            if answer == ACCEPTED:
                purged.pop(request.key, None)
                if isinstance(request, Purge):
                    purged[request.key] = now
            return answer

        return dict.fromkeys((Purge, Insert, Set), handle)

    return patch


def _leaving(kind: type[Request], take: Callable[[Record, Any], Request]) -> HandlerPatch:
    """Store `take(old record, request)` where the next `kind` after a PURGE stores something."""

    def patch(correct: Handlers, state: State) -> Handlers:
        left: dict[bytes, Record] = {}

        def purge(request: Any, session: ThrottrSession, now: int) -> bytes:
            record = state.store.find(request.key, now)
            if record is not None:
                left[request.key] = record
            return correct[Purge](request, session, now)

        def store(request: Any, session: ThrottrSession, now: int) -> bytes:
            old = left.pop(request.key, None)
            return correct[kind](request if old is None else take(old, request), session, now)

        return {Purge: purge, kind: store}

    return patch


def _with_tail(old: Record, request: Set) -> Set:
    return changed(request, value=request.value + old.value[len(request.value) :])


# fmt: off
MUTANTS = (
    mutant("purge-eats-a-byte-when-done", "PURGE that removes a record takes the byte behind its key for a part of itself, where one has come.",
           *HUNGER, handlers=eating_a_byte(Purge, lambda answer: answer == ACCEPTED)),
    mutant("purge-leaves-counters", "PURGE of a counter answers 01 and leaves it.", "PURGE-5", "PURGE-4", "PURGE-7", "PURGE-8", "LIST-14",
           handlers=_instead(lambda record: isinstance(record, Counter), ACCEPTED)),
    mutant("purge-refuses-buffers", "PURGE of a buffer answers 00 and leaves it.", "PURGE-6",
           handlers=_instead(lambda record: isinstance(record, Buffer), DENIED)),
    mutant("purge-always-01", "PURGE answers 01 whatever is there.", "PURGE-7", "PURGE-4", handlers=with_answer(Purge, lambda answer, ask: ACCEPTED)),
    mutant("purge-twice-01", "A second PURGE of a key answers 01, too.", "PURGE-7", "PURGE-4",
           handlers=_once_purged(lambda request, age: ACCEPTED if isinstance(request, Purge) else None)),
    mutant("purge-leaves-the-quota", "The counter inserted under the key of a purged one begins with its quota.", "PURGE-8", "INSERT-2",
           handlers=_leaving(Insert, lambda old, request: changed(request, quota=old.quota or request.quota))),
    mutant("purge-leaves-the-tail-of-a-value",
           "The buffer set under the key of a purged one ends with those of its bytes that the new value does not reach.", "PURGE-8", "SET-12",
           "SET-13", "ROBUSTNESS-18", handlers=_leaving(Set, _with_tail)),
    mutant("purge-leaves-the-ttl-type", "The counter inserted under the key of a purged record has its TTL type.", "PURGE-8", "INSERT-3", "EXPIRY-13",
           handlers=_leaving(Insert, lambda old, request: changed(request, ttl_type=old.ttl_type))),
    mutant("purge-takes-both-cases", "PURGE removes the records whose keys differ from its own in letter case, too.", "PURGE-9", "RECORD-3",
           handlers=_and_also(lambda key, keys: [other for other in keys if other.lower() == key.lower()])),
    mutant("purge-takes-the-oldest-at-times", "Every tenth PURGE removes the oldest record, too.", "PURGE-9",
           handlers=with_handler(Purge, _oldest_at_times)),
)
# fmt: on
