"""Faults in INSERT: how it is read, what it stores, what it answers, and what it does to a key in use."""

from __future__ import annotations

from typing import Any

from wireproof.mutants.throttr.server.mutant import mutant
from wireproof.mutants.throttr.server.patches import Ask, eating_a_byte, with_answer
from wireproof.mutants.throttr.server.shared import (
    HALF_A_SECOND,
    by_owner,
    making_room,
    refused,
    renew,
    since_connected,
    type_forgotten,
    undone,
)
from wireproof.protocols.throttr.requests import Insert, Query
from wireproof.reference_server.throttr.records import Buffer, Counter
from wireproof.reference_server.throttr.state import ACCEPTED, DENIED

__all__ = ["MUTANTS"]

QUOTA = ("INSERT-2", "WIDTH-10")
TTL = ("INSERT-4", "EXPIRY-11", "TTL-7")
ECHOED = ("TTL-1", "TTL-2", "TTL-3", "TTL-5", "TTL-6")


def _set_quota(record: Counter, ask: Ask) -> None:
    record.quota = ask.request.quota
    record.forget_answer()


def _hidden_while_young(request: Any, age: int) -> bytes | None:
    return DENIED if isinstance(request, Query) and age < HALF_A_SECOND else None


def _accepted(request: Any, age: int) -> bytes | None:
    return ACCEPTED


# fmt: off
MUTANTS = (
    mutant("insert-ttl-type-forgotten", "INSERT stores the right instant and tells every TTL in seconds.", "INSERT-3", "QUERY-7", "TTL-12", *ECHOED,
           handlers=with_answer(Insert, type_forgotten)),
    mutant("insert-ttl-since-connected", "INSERT counts the TTL from the opening of its connection.", *TTL, handlers=with_answer(Insert, since_connected)),
    mutant("insert-eats-a-byte-when-refused", "INSERT that is refused takes the byte behind its key for a part of itself, where one has come.",
           "INSERT-6", "ROBUSTNESS-5", "ROBUSTNESS-7", handlers=eating_a_byte(Insert, lambda answer: answer == DENIED)),
    mutant("insert-stores-nothing", "INSERT answers 01 and stores nothing.", "INSERT-7", "INSERT-8", "INSERT-2", "INSERT-3",
           handlers=with_answer(Insert, undone)),
    mutant("insert-seen-late-by-others", "QUERY finds a new counter only from the connection that stored it, for half a second.", "INSERT-8",
           "RECORD-7", handlers=by_owner(Insert, Query, others=_hidden_while_young)),
    mutant("insert-overwrites-a-counter", "INSERT replaces a live counter and answers 01.", "INSERT-9",
           handlers=making_room(Insert, lambda record: isinstance(record, Counter))),
    mutant("insert-overwrites-a-spent-counter", "INSERT replaces a live counter whose quota is 0.", "INSERT-9",
           handlers=making_room(Insert, lambda record: isinstance(record, Counter) and not record.quota)),
    mutant("insert-accepted-from-others", "INSERT from another connection on a live counter answers 01 and changes nothing.", "INSERT-9", "INSERT-7",
           handlers=by_owner(Insert, others=_accepted)),
    mutant("insert-refused-sets-the-quota", "INSERT on a live counter answers 00 and stores the new quota.", "INSERT-9", "RECORD-9", "INSERT-7",
           handlers=refused(Insert, Counter, _set_quota)),
    mutant("insert-refused-renews-a-counter", "INSERT on a live counter answers 00 and gives it the new TTL.", "INSERT-9", "RECORD-9",
           handlers=refused(Insert, Counter, renew)),
    mutant("insert-overwrites-a-buffer", "INSERT replaces a live buffer and answers 01.", "INSERT-10", "RECORD-1",
           handlers=making_room(Insert, lambda record: isinstance(record, Buffer))),
    mutant("insert-refused-renews-a-buffer", "INSERT on a live buffer answers 00 and gives it the new TTL.", "INSERT-10", "RECORD-9",
           handlers=refused(Insert, Buffer, renew)),
)
# fmt: on
