"""Faults in UPDATE: how it is read, what it answers, what it changes, and what it changes beside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from protocols.throttr import Attribute, Change, TTLType
from protocols.throttr.requests import Insert, Update
from reference_server.throttr.faults.fault import HandlerPatch, fault
from reference_server.throttr.faults.patches import (
    Ask,
    eating_a_byte,
    held,
    lead,
    order,
    taking,
    with_answer,
    with_handler,
)
from reference_server.throttr.faults.shared import WIDE, Act, backwards, cut, low_bits_lost, status_inverted
from reference_server.throttr.record_requests import SHOWN_UNIT
from reference_server.throttr.records import Buffer, Counter, Record
from reference_server.throttr.session import ThrottrSession
from reference_server.throttr.state import ACCEPTED, DENIED, Handler, State

__all__ = [
    "DECREASE",
    "FAULTS",
    "INCREASE",
    "PATCH",
    "SECOND",
    "TTLS",
    "asked_due",
    "empty_quota",
    "forgets",
    "moves",
    "of_quota",
    "of_ttl",
    "of_ttl_by",
    "refuses",
    "shorten",
    "tell_seconds",
    "then",
    "to_all_others",
]

PATCH, INCREASE, DECREASE = (int(one) for one in Change)
SECOND = 10**9
Where = Callable[[Update, Record, int], bool]
"""(request, live record, now): whether the fault shows."""


def of_quota(request: Update, record: Record, now: int) -> bool:
    """Say whether the quota is addressed."""
    return request.attribute == Attribute.QUOTA


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


def _instead(where: Where, act: Callable[[Update, Record, State, int], bytes]) -> HandlerPatch:
    """Do `act` instead of the change, where `where` says so."""

    def make(correct: Handler, state: State) -> Handler:
        def handle(request: Any, session: ThrottrSession, now: int) -> bytes:
            record = state.store.find(request.key, now)
            if record is None or not where(request, record, now):
                return correct(request, session, now)
            return act(request, record, state, now)

        return handle

    return with_handler(Update, make)


def refuses(where: Where) -> HandlerPatch:
    """Answer 00 and do nothing, where `where` says so."""
    return _instead(where, lambda request, record, state, now: DENIED)


def forgets(where: Where) -> HandlerPatch:
    """Answer 01 and do nothing, where `where` says so."""
    return _instead(where, lambda request, record, state, now: ACCEPTED)


def moves(where: Where, due: Callable[[Update, Record, int], int]) -> HandlerPatch:
    """Let the record expire at another instant than asked for."""

    def act(request: Update, record: Record, state: State, now: int) -> bytes:
        state.store.move(record, due(request, record, now))
        return ACCEPTED

    return _instead(where, act)


def then(where: Where, act: Act) -> HandlerPatch:
    """Do `act` to the record after a change that was made."""

    def change(answer: bytes, ask: Ask) -> bytes:
        record = held(ask)
        if answer == ACCEPTED and record is not None and where(ask.request, record, ask.now):
            act(record, ask)
        return answer

    return with_answer(Update, change)


def _missing(act: Callable[[Update, Handler, ThrottrSession, int], bytes]) -> HandlerPatch:
    """Answer `act` where there is no record."""

    def patch(correct: dict[Any, Handler], state: State) -> dict[Any, Handler]:
        def handle(request: Any, session: ThrottrSession, now: int) -> bytes:
            if state.store.find(request.key, now) is None:
                return act(request, correct[Insert], session, now)
            return correct[Update](request, session, now)

        return {Update: handle}

    return patch


def _creating(request: Update, insert: Handler, session: ThrottrSession, now: int) -> bytes:
    return insert(Insert(request.value, int(TTLType.SECONDS), 100, request.key), session, now)


def _bottomless(to: Callable[[int, int], int]) -> HandlerPatch:
    """Accept a DECREASE below zero and leave `to(what is missing, MAX)`."""

    def act(request: Update, record: Record, state: State, now: int) -> bytes:
        assert isinstance(record, Counter)
        record.quota = to(request.value - record.quota, state.value_max)
        record.forget_answer()
        return ACCEPTED

    def where(request: Update, record: Record, now: int) -> bool:
        below = request.value > record.quota
        return of_quota(request, record, now) and request.change == DECREASE and isinstance(record, Counter) and below

    return _instead(where, act)


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


def to_all_others(act: Act) -> Act:
    """Do `act` to every other record."""

    def to_others(record: Record, ask: Ask) -> None:
        for other in list(ask.state.store.live(ask.now)):
            if other is not record:
                act(other, ask)

    return to_others


FIELDS = ("UPDATE-2", "UPDATE-5")
QUOTAS = ("UPDATE-14", "UPDATE-15", "UPDATE-16", "UPDATE-17")
TTLS = ("UPDATE-23", "UPDATE-24", "UPDATE-25", "UPDATE-26", "UPDATE-27")

FAULTS = (
    fault("update-at-23", "UPDATE is read at type byte 23.", "UPDATE-1", profile=lead(Update, 0x23)),
    fault(
        "update-attribute-ignored",
        "UPDATE changes the quota whatever the attribute says.",
        "UPDATE-4",
        "UPDATE-2",
        *TTLS,
        "UPDATE-21",
        "UPDATE-29",
        "UPDATE-30",
        "UPDATE-31",
        "UPDATE-32",
        "UPDATE-33",
        handlers=taking(Update, attribute=lambda one, ask: int(Attribute.QUOTA)),
    ),
    fault(
        "update-attributes-exchanged",
        "UPDATE takes attribute 00 for the TTL and 01 for the quota.",
        "UPDATE-3",
        "UPDATE-4",
        "UPDATE-2",
        *QUOTAS,
        *TTLS,
        "UPDATE-18",
        "UPDATE-21",
        "UPDATE-29",
        "UPDATE-30",
        "UPDATE-31",
        "UPDATE-32",
        "UPDATE-33",
        handlers=taking(Update, attribute=lambda one, ask: one ^ 1 if one < 2 else one),
    ),
    fault(
        "update-change-before-attribute",
        "UPDATE reads the change type before the attribute.",
        "UPDATE-2",
        "UPDATE-5",
        "UPDATE-3",
        "UPDATE-4",
        *QUOTAS,
        *TTLS,
        "UPDATE-18",
        "UPDATE-21",
        "UPDATE-30",
        "UPDATE-31",
        "UPDATE-32",
        "UPDATE-33",
        profile=order(Update, "change", "attribute", "value", "key"),
    ),
    fault(
        "update-change-ignored",
        "UPDATE replaces by the value whatever the change type says.",
        "UPDATE-5",
        "UPDATE-7",
        "UPDATE-8",
        "UPDATE-15",
        "UPDATE-16",
        "UPDATE-17",
        "UPDATE-18",
        "UPDATE-26",
        "UPDATE-27",
        "UPDATE-32",
        handlers=taking(Update, change=lambda one, ask: PATCH),
    ),
    fault(
        "update-patch-adds",
        "UPDATE with change 00 adds the value.",
        "UPDATE-6",
        "UPDATE-14",
        "UPDATE-25",
        "UPDATE-33",
        "UPDATE-31",
        handlers=taking(Update, change=lambda one, ask: INCREASE if one == PATCH else one),
    ),
    fault(
        "update-increase-replaces",
        "UPDATE with change 01 replaces by the value.",
        "UPDATE-7",
        "UPDATE-15",
        "UPDATE-26",
        handlers=taking(Update, change=lambda one, ask: PATCH if one == INCREASE else one),
    ),
    fault(
        "update-decrease-replaces",
        "UPDATE with change 02 replaces by the value.",
        "UPDATE-8",
        "UPDATE-16",
        "UPDATE-17",
        "UPDATE-18",
        "UPDATE-27",
        "UPDATE-32",
        handlers=taking(Update, change=lambda one, ask: PATCH if one == DECREASE else one),
    ),
    fault(
        "update-changes-from-1",
        "UPDATE counts its change types from 01: PATCH, INCREASE, DECREASE.",
        "UPDATE-5",
        "UPDATE-6",
        "UPDATE-7",
        "UPDATE-8",
        *QUOTAS[1:],
        "UPDATE-18",
        "UPDATE-26",
        "UPDATE-27",
        "UPDATE-32",
        handlers=taking(Update, change=lambda one, ask: one - 1 if one in (1, 2) else one),
    ),
    fault(
        "update-value-big-endian",
        "The value of UPDATE is read most significant byte first.",
        "UPDATE-9",
        "FRAMING-1",
        *QUOTAS,
        "UPDATE-18",
        "UPDATE-25",
        "UPDATE-26",
        "UPDATE-27",
        "UPDATE-28",
        "UPDATE-32",
        "UPDATE-31",
        variants=WIDE,
        handlers=taking(Update, value=backwards),
    ),
    fault(
        "update-value-low-byte",
        "Only the low byte of the value of UPDATE is read.",
        "UPDATE-9",
        "UPDATE-14",
        "UPDATE-15",
        "UPDATE-16",
        "UPDATE-18",
        "UPDATE-25",
        "UPDATE-26",
        "UPDATE-27",
        variants=WIDE,
        handlers=taking(Update, value=lambda one, ask: one & 0xFF),
    ),
    fault(
        "update-value-low-bits-lost",
        "The value of UPDATE is rounded down to a multiple of 4.",
        "UPDATE-9",
        *QUOTAS,
        "UPDATE-18",
        "UPDATE-25",
        "UPDATE-26",
        "UPDATE-27",
        "UPDATE-32",
        handlers=taking(Update, value=low_bits_lost),
    ),
    cut(Update, 62, "UPDATE-11", "UPDATE-10"),
    cut(Update, 127, "UPDATE-11", "UPDATE-10"),
    cut(Update, 254, "UPDATE-11", "UPDATE-10"),
    fault(
        "update-eats-a-byte",
        "UPDATE takes the byte behind its key for its own.",
        "UPDATE-11",
        "FRAMING-3",
        "ROBUSTNESS-5",
        "ROBUSTNESS-7",
        handlers=eating_a_byte(Update),
    ),
    fault(
        "update-answers-twice",
        "UPDATE is answered with its status twice.",
        "UPDATE-12",
        "FRAMING-3",
        handlers=with_answer(Update, lambda answer, ask: answer * 2),
    ),
    fault(
        "update-status-inverted",
        "UPDATE answers 00 when the change was made and 01 when not.",
        "UPDATE-12",
        "FRAMING-5",
        "FRAMING-6",
        "UPDATE-13",
        "UPDATE-18",
        "UPDATE-21",
        "UPDATE-23",
        "UPDATE-24",
        handlers=with_answer(Update, status_inverted),
    ),
    fault(
        "update-of-nothing-accepted",
        "UPDATE of a key that no record holds answers 01.",
        "UPDATE-13",
        "UPDATE-12",
        "UPDATE-32",
        handlers=_missing(lambda request, insert, session, now: ACCEPTED),
    ),
    fault(
        "update-creates",
        "UPDATE of a key that no record holds creates a counter.",
        "UPDATE-13",
        "UPDATE-12",
        "UPDATE-32",
        handlers=_missing(_creating),
    ),
    fault(
        "update-creates-unseen",
        "UPDATE of a key that no record holds answers 00 and creates a counter.",
        "UPDATE-13",
        "UPDATE-32",
        handlers=_missing(lambda *asked: _creating(*asked)[:0] + DENIED),
    ),
    fault(
        "update-decrease-stops-at-zero",
        "A DECREASE by more than the quota answers 01 and leaves 0.",
        "UPDATE-18",
        handlers=_bottomless(lambda missing, most: 0),
    ),
    fault(
        "update-decrease-wraps",
        "A DECREASE by more than the quota wraps around.",
        "UPDATE-18",
        handlers=_bottomless(lambda missing, most: most + 1 - missing & most),
    ),
    fault(
        "update-quota-renews-the-ttl",
        "A change of the quota lets the counter live 100 s from now.",
        "UPDATE-22",
        "UPDATE-3",
        handlers=then(of_quota, lambda record, ask: ask.state.store.move(record, ask.now + 100 * SECOND)),
    ),
    fault(
        "update-quota-tells-seconds",
        "A change of the quota lets the TTL be told in seconds.",
        "UPDATE-22",
        "UPDATE-3",
        handlers=then(of_quota, tell_seconds),
    ),
    fault(
        "update-quota-costs-a-second",
        "A change of the quota takes a second off the TTL.",
        "UPDATE-22",
        handlers=then(of_quota, lambda record, ask: ask.state.store.move(record, record.due - SECOND)),
    ),
)
