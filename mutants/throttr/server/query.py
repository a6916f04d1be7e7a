"""Faults in QUERY: how it is read, what it answers, and what asking does to a counter."""

from __future__ import annotations

from typing import Any

from wireproof.mutants.throttr.server.mutant import mutant
from wireproof.mutants.throttr.server.patches import (
    Ask,
    eating_a_byte,
    showing,
    with_answer,
    with_handler,
)
from wireproof.mutants.throttr.server.shared import (
    in_seconds,
    lengthening,
    longer_after_many,
    missing_as_before,
    reserving,
)
from wireproof.protocols.throttr import TTLType
from wireproof.protocols.throttr.requests import Query
from wireproof.reference_server.throttr.records import Counter
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import DENIED, Handler, State

__all__ = ["MUTANTS"]

EVERY = 25
QUOTA = ("QUERY-6", "INSERT-2", "UPDATE-14", "UPDATE-15", "UPDATE-16")
TYPE = ("QUERY-7", "INSERT-3", "TTL-1", "TTL-2", "TTL-3", "TTL-5", "TTL-6")
TTL = ("QUERY-8", "TTL-11", "TTL-12")


def _nothing_found(answer: bytes, ask: Ask) -> bytes:
    return answer if ask.state.store.records else b"\1".ljust(2 + 2 * ask.state.value_size, b"\0")


def _as_first_seen(correct: Handler, state: State) -> Handler:
    """Answer the quota that the first QUERY of a counter found, as long as the counter is there."""
    first: dict[int, tuple[Any, bytes]] = {}

    def handle(request: Any, session: ThrottrSession, now: int) -> bytes:
        answer, record = correct(request, session, now), state.store.find(request.key, now)
        if record is None or answer == DENIED:
            return answer
        size = 1 + state.value_size
        return answer[:1] + first.setdefault(id(record), (record, answer))[1][1:size] + answer[size:]

    return handle


def _spending(correct: Handler, state: State) -> Handler:
    """Take 1 from a counter's quota with every so many QUERYs of it."""
    asked: dict[bytes, int] = {}

    def handle(request: Any, session: ThrottrSession, now: int) -> bytes:
        answer, record = correct(request, session, now), state.store.find(request.key, now)
        asked[request.key] = asked.get(request.key, 0) + 1
        if isinstance(record, Counter) and record.quota and asked[request.key] % EVERY == 0:
            record.quota -= 1
            record.forget_answer()
        return answer

    return handle


# fmt: off
MUTANTS = (
    mutant("query-eats-a-byte-when-found", "QUERY that finds a counter takes the byte behind its key for a part of itself, where one has come.",
           "QUERY-3", "ROBUSTNESS-5", "ROBUSTNESS-7", handlers=eating_a_byte(Query, lambda answer: answer != DENIED)),
    mutant("query-never-finds", "QUERY answers 00 whatever is there.", "QUERY-4", "QUERY-5", "INSERT-8",
           handlers=with_answer(Query, lambda answer, ask: DENIED)),
    mutant("query-miss-answered-as-the-hit-before", "QUERY of a missing key that follows a QUERY of a counter in one segment is answered as that.",
           "QUERY-4", "QUERY-9", "ROBUSTNESS-18", handlers=with_handler(Query, missing_as_before)),
    mutant("query-answer-a-byte-longer-after-many", "QUERY answers a zero byte behind every tenth answer to what came in one segment.", "QUERY-5",
           "ROBUSTNESS-7", handlers=with_handler(Query, longer_after_many)),
    mutant("query-finds-in-an-empty-store", "QUERY answers 01 and zeros as long as no record is stored.", "QUERY-9", "QUERY-4",
           handlers=with_answer(Query, _nothing_found)),
    mutant("query-quota-zero-unlimited", "QUERY answers the largest quota where it is 0, as if that meant no limit.", *QUOTA, "INSERT-11",
           "UPDATE-17", handlers=showing(Query, quota=lambda quota, ask: quota or ask.state.value_max)),
    mutant("query-quota-as-first-seen", "QUERY answers the quota that its first answer about the counter had.", *QUOTA, "UPDATE-17",
           handlers=with_handler(Query, _as_first_seen)),
    mutant("query-ttl-type-always-seconds", "QUERY answers seconds for every TTL type.", *TYPE,
           handlers=showing(Query, ttl_type=lambda kind, ask: int(TTLType.SECONDS))),
    mutant("query-ttl-type-less-one", "QUERY answers the TTL type less 1.", *TYPE, "TTL-4",
           handlers=showing(Query, ttl_type=lambda kind, ask: kind - 1 & 0xFF)),
    mutant("query-ttl-in-seconds", "QUERY answers the TTL in seconds, whatever its type.", *TTL, handlers=showing(Query, ttl=in_seconds)),
    mutant("query-reserves-missing-keys", "QUERY of a missing key keeps it from being inserted from then on.", "QUERY-10", "INSERT-8",
           handlers=reserving(Query)),
    mutant("query-spends", "Every 25th QUERY of a counter takes 1 from its quota.", "QUERY-10", "QUERY-6", handlers=with_handler(Query, _spending)),
    mutant("query-lengthens", "QUERY lets a counter live for another second at least.", "QUERY-10", "INSERT-4", "EXPIRY-1",
           handlers=with_answer(Query, lengthening)),
    mutant("query-finds-buffers", "QUERY of a buffer answers 01 and a quota of 0.", "QUERY-11", profiles=("7.1.0",),
           rules={"query_finds_buffers": True}),
)
# fmt: on
