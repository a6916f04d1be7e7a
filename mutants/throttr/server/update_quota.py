"""Faults in UPDATE of a quota: what each change makes of it, where it must not change, and who sees it when."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wireproof.mutants.throttr.server.mutant import mutant
from wireproof.mutants.throttr.server.patches import Ask, changed, with_found, with_handler
from wireproof.mutants.throttr.server.shared import SECOND, WIDE, bit_7_lost
from wireproof.mutants.throttr.server.updates import (
    DECREASE,
    INCREASE,
    PATCH,
    Where,
    instead,
    of_quota,
    of_quota_by,
    refuses,
    tell_seconds,
    then,
    valued,
)
from wireproof.protocols.frames import FrameContext
from wireproof.protocols.throttr.requests import Query, Update
from wireproof.reference_server.throttr.records import Counter, Record
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import ACCEPTED, DENIED, Handler, State

__all__ = ["MUTANTS"]

SUM = ("UPDATE-15", "UPDATE-7")
DIFFERENCE = ("UPDATE-16", "UPDATE-8")
EVERY = 16


def _set(record: Counter, quota: int) -> bytes:
    record.quota = quota
    record.forget_answer()
    return ACCEPTED


def _bytewise(record: Counter, ask: Ask, add: Callable[[int, int], int]) -> bytes:
    """Add or subtract byte by byte, nothing carried."""
    width = ask.state.value_size
    pairs = zip(record.quota.to_bytes(width, "little"), ask.request.value.to_bytes(width, "little"), strict=True)
    return _set(record, int.from_bytes(bytes(add(one, two) & 0xFF for one, two in pairs), "little"))


def _wrapped(record: Counter, ask: Ask) -> bytes:
    return _set(record, record.quota - ask.request.value & ask.state.value_max)


def _lost_at_times(correct: Handler, state: State) -> Handler:
    asked: dict[bytes, int] = {}

    def handle(request: Any, session: ThrottrSession, now: int) -> bytes:
        record = state.store.find(request.key, now)
        if record is not None and of_quota_by(INCREASE)(request, record, now):
            asked[record.key] = asked.get(record.key, 0) + 1
            if asked[record.key] % EVERY == 0:
                return ACCEPTED
        return correct(request, session, now)

    return handle


def _below(request: Update, record: Record, now: int) -> bool:
    return of_quota_by(DECREASE)(request, record, now) and request.value > record.quota


def _to_zero(request: Update, record: Record, now: int) -> bool:
    return of_quota_by(DECREASE)(request, record, now) and request.value == record.quota


def _with_value(change: int, where: Callable[[int, int], bool]) -> Where:
    """Mean changes by a value that is `where(value, quota)`."""
    return lambda request, record, now: of_quota_by(change)(request, record, now) and where(request.value, record.quota)


def _from_the_future(reply: Any, ask: Ask) -> Any:
    """Show the quota that PATCHes which came in the same segment will leave."""
    session, quota = ask.session, reply.quota
    data, at = session._data, session._at
    while at < len(data):
        try:
            request, at = ask.state.codec.decode_request(data, at, len(data), FrameContext(len(data)))
        except Exception:
            break
        if request is None:
            break
        if (
            isinstance(request, Update)
            and request.key == ask.request.key
            and (request.attribute, request.change) == (0, 0)
        ):
            quota = request.value
    return changed(reply, quota=quota)


# fmt: off
MUTANTS = (
    mutant("update-decrease-wraps", "A DECREASE by more than the quota wraps around.", "UPDATE-18", handlers=instead(_below, _wrapped)),
    mutant("update-quota-tells-seconds", "A change of the quota lets the TTL be told in seconds.", "UPDATE-22", "UPDATE-3",
           handlers=then(of_quota, tell_seconds)),
    mutant("update-patch-capped-at-half", "UPDATE QUOTA PATCH stores no more than half of the largest quota.", "UPDATE-14", "UPDATE-6", "WIDTH-8",
           "WIDTH-10", handlers=valued(of_quota_by(PATCH), lambda value, ask: min(value, ask.state.value_max // 2))),
    mutant("update-patch-bit-7-lost", "UPDATE QUOTA PATCH loses the top bit of the value's low byte.", "UPDATE-9", "UPDATE-14", "UPDATE-6",
           "WIDTH-10", handlers=valued(of_quota_by(PATCH), bit_7_lost)),
    mutant("update-patch-to-zero-refused", "UPDATE QUOTA PATCH to 0 answers 00.", "UPDATE-14",
           handlers=refuses(_with_value(PATCH, lambda value, quota: value == 0))),
    mutant("update-patch-to-the-same-refused", "UPDATE QUOTA PATCH to the present quota answers 00.", "UPDATE-14",
           handlers=refuses(_with_value(PATCH, lambda value, quota: value == quota))),
    mutant("update-increase-without-carry", "UPDATE QUOTA INCREASE adds each byte by itself.", *SUM, variants=WIDE,
           handlers=instead(of_quota_by(INCREASE), lambda record, ask: _bytewise(record, ask, int.__add__))),
    mutant("update-increase-by-zero-adds-one", "UPDATE QUOTA INCREASE by 0 adds 1.", *SUM,
           handlers=valued(of_quota_by(INCREASE), lambda value, ask: value or 1)),
    mutant("update-increase-by-much-refused", "UPDATE QUOTA INCREASE by more than half of the largest quota answers 00.", "UPDATE-15", "WIDTH-8",
           handlers=instead(of_quota_by(INCREASE), lambda record, ask: DENIED if ask.request.value > ask.state.value_max // 2 else None)),
    mutant("update-increase-lost-at-times", "Every 16th UPDATE QUOTA INCREASE of a counter answers 01 and is lost.", *SUM, "ROBUSTNESS-22",
           handlers=with_handler(Update, _lost_at_times)),
    mutant("update-decrease-without-borrow", "UPDATE QUOTA DECREASE subtracts each byte by itself.", *DIFFERENCE, variants=WIDE,
           handlers=instead(of_quota_by(DECREASE), lambda record, ask: None if ask.request.value > record.quota else _bytewise(record, ask, int.__sub__))),
    mutant("update-decrease-by-zero-takes-one", "UPDATE QUOTA DECREASE by 0 takes 1.", *DIFFERENCE, "UPDATE-17",
           handlers=valued(of_quota_by(DECREASE), lambda value, ask: value or 1)),
    mutant("update-decrease-to-zero-refused", "UPDATE QUOTA DECREASE by exactly the quota answers 00.", "UPDATE-17", handlers=refuses(_to_zero)),
    mutant("update-decrease-below-zero-empties", "UPDATE QUOTA DECREASE by more than the quota answers 00 and leaves 0.", "UPDATE-18", "RECORD-9",
           handlers=instead(_below, lambda record, ask: _set(record, 0) and DENIED)),
    mutant("update-quota-lengthens", "UPDATE QUOTA lets the counter live for another second at least.", "UPDATE-22",
           handlers=then(of_quota, lambda record, ask: ask.state.store.move(record, max(record.due, ask.now + SECOND)))),
    mutant("update-seen-early-in-a-segment",
           "QUERY answers the quota that PATCHes which came behind it in one segment will leave, as release 5.0.1 did.", "QUERY-6", "ROBUSTNESS-7",
           "ROBUSTNESS-4", handlers=with_found(Query, _from_the_future)),
)
# fmt: on
