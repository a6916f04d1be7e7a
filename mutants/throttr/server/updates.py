"""Mutants of UPDATE of a quota and of a TTL, and the patches they are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wireproof.mutants.throttr.server.mutant import HandlerPatch, mutant
from wireproof.mutants.throttr.server.patches import (
    Ask,
    changed,
    held,
    with_answer,
    with_found,
    with_handler,
    with_request,
)
from wireproof.mutants.throttr.server.shared import SECOND, WIDE, Act, bit_7_lost
from wireproof.protocols.frames import FrameContext
from wireproof.protocols.messages import Request
from wireproof.protocols.throttr import Attribute, Change, TTLType
from wireproof.protocols.throttr.requests import Query, Update
from wireproof.reference_server.throttr.record_requests import SHOWN_UNIT
from wireproof.reference_server.throttr.records import Buffer, Counter, Record
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import ACCEPTED, DENIED, Handler, State

__all__ = ["MUTANTS"]

PATCH, INCREASE, DECREASE = (int(one) for one in Change)
Where = Callable[[Update, Record, int], bool]
"""(request, live record, now): whether the fault shows."""


def of_quota(request: Update, record: Record, now: int) -> bool:
    """Say whether the quota is addressed."""
    return request.attribute == Attribute.QUOTA


def of_quota_by(*changes: int) -> Where:
    """Return what says whether the quota of a counter is addressed with one of these changes."""
    return lambda request, record, now: (
        request.attribute == Attribute.QUOTA and request.change in changes and isinstance(record, Counter)
    )


def of_ttl(request: Update, record: Record, now: int) -> bool:
    """Say whether the TTL is addressed."""
    return request.attribute == Attribute.TTL


def of_ttl_by(*changes: int) -> Where:
    """Return what says whether the TTL is addressed with one of these changes."""
    return lambda request, record, now: request.attribute == Attribute.TTL and request.change in changes


def asked_due(request: Update, record: Record, now: int) -> int:
    """Return the instant that an UPDATE of a TTL asks for."""
    span = request.value * SHOWN_UNIT[record.ttl_type]
    return {PATCH: now + span, INCREASE: record.due + span, DECREASE: record.due - span}.get(request.change, record.due)


def instead(where: Where, act: Callable[[Any, Ask], bytes | None]) -> HandlerPatch:
    """Let `act(record, ask)` answer instead, where `where` says so and it does answer."""

    def make(correct: Handler, state: State) -> Handler:
        def handle(request: Any, session: ThrottrSession, now: int) -> bytes:
            record, wrong = state.store.find(request.key, now), None
            if record is not None and where(request, record, now):
                wrong = act(record, Ask(request, session, now, state))
                if wrong == ACCEPTED:
                    record.wrote(state.minutes.index)
            return correct(request, session, now) if wrong is None else wrong

        return handle

    return with_handler(Update, make)


def refuses(where: Where) -> HandlerPatch:
    """Answer 00 and do nothing, where `where` says so."""
    return instead(where, lambda record, ask: DENIED)


def forgets(where: Where) -> HandlerPatch:
    """Answer 01 and do nothing, where `where` says so."""
    return instead(where, lambda record, ask: ACCEPTED)


def moves(where: Where, due: Callable[[Update, Record, int], int]) -> HandlerPatch:
    """Let the record expire at another instant than asked for."""

    def act(record: Record, ask: Ask) -> bytes:
        ask.state.store.move(record, due(ask.request, record, ask.now))
        return ACCEPTED

    return instead(where, act)


def then(where: Where, act: Act) -> HandlerPatch:
    """Do `act` to the record after a change that was made."""

    def change(answer: bytes, ask: Ask) -> bytes:
        record = held(ask)
        if answer == ACCEPTED and record is not None and where(ask.request, record, ask.now):
            act(record, ask)
        return answer

    return with_answer(Update, change)


def valued(where: Where, change: Callable[[int, Ask], int]) -> HandlerPatch:
    """Take the value for `change(value, ask)`, where `where` says so."""

    def on_request(request: Any, ask: Ask) -> Request:
        record = held(ask)
        if record is None or not where(request, record, ask.now):
            return request  # type: ignore[no-any-return]
        return changed(request, value=change(request.value, ask))  # type: ignore[no-any-return]

    return with_request(Update, on_request)


def empty_quota(record: Record, ask: Ask) -> None:
    """Set the quota of a counter to 0."""
    if isinstance(record, Counter):
        record.quota = 0
    record.forget_answer()


def shorten(record: Record, ask: Ask) -> None:
    """Take the last byte off the value of a buffer."""
    if isinstance(record, Buffer):
        record.value = record.value[:-1]
    record.forget_answer()


def tell_seconds(record: Record, ask: Ask) -> None:
    """Let the TTL be told in seconds; its instant stays."""
    record.ttl_type = int(TTLType.SECONDS)
    record.forget_answer()


def tell_the_unit_before(record: Record, ask: Ask) -> None:
    """Let the TTL be told in the unit before its own; its instant stays."""
    record.ttl_type = max(record.ttl_type - 1, int(TTLType.NANOSECONDS))
    record.forget_answer()


def to_all_others(act: Act) -> Act:
    """Do `act` to every other record."""

    def to_others(record: Record, ask: Ask) -> None:
        for other in list(ask.state.store.live(ask.now)):
            if other is not record:
                act(other, ask)

    return to_others


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
UPDATE_QUOTA_MUTANTS = (
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
UPDATE_TTL_MUTANTS = (
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


MUTANTS = (
    *UPDATE_QUOTA_MUTANTS,
    *UPDATE_TTL_MUTANTS,
)
