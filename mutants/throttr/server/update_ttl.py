"""Faults in UPDATE of a TTL: which change, of which record, in which unit, from which instant; and what goes along."""

from __future__ import annotations

from typing import Any

from wireproof.mutants.throttr.server.mutant import HandlerPatch, mutant
from wireproof.mutants.throttr.server.patches import with_handler
from wireproof.mutants.throttr.server.updates import (
    DECREASE,
    INCREASE,
    PATCH,
    asked_due,
    empty_quota,
    forgets,
    moves,
    of_quota,
    of_ttl,
    of_ttl_by,
    refuses,
    shorten,
    tell_seconds,
    tell_the_unit_before,
    then,
    to_all_others,
)
from wireproof.protocols.throttr import TTLType
from wireproof.protocols.throttr.requests import Update
from wireproof.reference_server.throttr.record_requests import SHOWN_UNIT
from wireproof.reference_server.throttr.records import Buffer, Record
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import Handler, State

__all__ = ["MUTANTS"]

MOVED = ("UPDATE-25", "UPDATE-26", "UPDATE-27", "UPDATE-30", "UPDATE-31", "UPDATE-32")


def _gone_when_it_was_due(correct: Handler, state: State) -> Handler:
    """Show the later expiry, and remove the record at the earlier one all the same."""

    def handle(request: Any, session: ThrottrSession, now: int) -> bytes:
        record = state.store.find(request.key, now)
        before = record.due if record is not None else 0
        answer = correct(request, session, now)
        if record is not None and record.due > before:

            def remove() -> None:
                if state.store.records.get(record.key) is record:
                    state.store.remove(record)

            state.clock.call_at(before, remove)
        return answer

    return handle


def _unit_of(kind: TTLType, other: TTLType) -> HandlerPatch:
    """Take the value of UPDATE TTL of a record in `kind` as one in `other`."""
    unit = SHOWN_UNIT[int(other)]

    def due(request: Update, record: Record, now: int) -> int:
        span = request.value * unit
        return {PATCH: now + span, INCREASE: record.due + span}.get(request.change, record.due - span)

    return moves(lambda request, record, now: of_ttl(request, record, now) and record.ttl_type == kind, due)


# fmt: off
MUTANTS = (
    mutant("update-ttl-empties-the-quota", "UPDATE of a TTL sets the quota to 0.", "UPDATE-23", "UPDATE-4", handlers=then(of_ttl, empty_quota)),
    mutant("update-ttl-refused-for-buffers", "UPDATE of the TTL of a buffer answers 00.", "UPDATE-24", *MOVED,
           handlers=refuses(lambda request, record, now: of_ttl(request, record, now) and isinstance(record, Buffer))),
    mutant("update-ttl-shortens-the-value", "UPDATE of a TTL takes the last byte off a value.", "UPDATE-24", handlers=then(of_ttl, shorten)),
    *(
        mutant(
            f"update-{kind.name.lower()}-as-{other.name.lower()}",
            f"UPDATE of a TTL in {kind.name.lower()} takes its value as {other.name.lower()}.",
            "UPDATE-28",
            "UPDATE-25",
            "UPDATE-26",
            "UPDATE-27",
            "UPDATE-30",
            "UPDATE-31",
            variants=variants,
            handlers=_unit_of(kind, other),
        )
        for kind, other, variants in (
            (TTLType.NANOSECONDS, TTLType.MICROSECONDS, ("uint32", "uint64")),
            (TTLType.MICROSECONDS, TTLType.MILLISECONDS, ("uint32", "uint64")),
            (TTLType.MILLISECONDS, TTLType.SECONDS, ()),
            (TTLType.SECONDS, TTLType.MINUTES, ()),
            (TTLType.MINUTES, TTLType.SECONDS, ()),
            (TTLType.HOURS, TTLType.MINUTES, ()),
        )
    ),
    mutant("update-ttl-tells-seconds", "UPDATE of a TTL lets it be told in seconds.", "UPDATE-29", "TTL-12", "UPDATE-28",
           handlers=then(of_ttl, tell_seconds)),
    mutant("update-ttl-tells-the-unit-before", "UPDATE of a TTL lets it be told in the unit before its own.", "UPDATE-29", "TTL-12",
           handlers=then(of_ttl, tell_the_unit_before)),
    mutant("update-ttl-later-not-kept", "UPDATE to a later expiry shows it, and the record is gone at the old one.", "UPDATE-30", "UPDATE-25",
           "UPDATE-26", handlers=with_handler(Update, _gone_when_it_was_due)),
    mutant("update-ttl-earlier-ignored", "UPDATE to an earlier expiry answers 01 and moves nothing.", "UPDATE-31", "UPDATE-25", "UPDATE-27",
           "UPDATE-32", "UPDATE-33", "UPDATE-8", "UPDATE-6",
           handlers=forgets(lambda request, record, now: of_ttl(request, record, now) and asked_due(request, record, now) < record.due)),
    mutant("update-ttl-to-the-past-refused", "DECREASE of a TTL to or below now answers 00.", "UPDATE-32",
           handlers=refuses(lambda request, record, now: of_ttl_by(DECREASE)(request, record, now) and asked_due(request, record, now) <= now)),
    mutant("update-ttl-patch-to-zero-ignored", "PATCH of a TTL to 0 answers 01 and moves nothing.", "UPDATE-33",
           handlers=forgets(lambda request, record, now: of_ttl_by(PATCH)(request, record, now) and request.value == 0)),
    mutant("update-quota-of-all", "UPDATE of a quota empties every other counter.", "UPDATE-37", handlers=then(of_quota, to_all_others(empty_quota))),
    mutant("update-value-of-all", "UPDATE of a TTL takes the last byte off every other value.", "UPDATE-37", "RECORD-7",
           handlers=then(of_ttl, to_all_others(shorten))),
)
# fmt: on
