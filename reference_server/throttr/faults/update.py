"""Faults in UPDATE: how it is read, how it is answered, and what it does where there is nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from protocols.fields import U16, Blob
from protocols.throttr import Attribute, TTLType
from protocols.throttr.requests import Insert, Update
from reference_server.throttr.faults.fault import HandlerPatch, fault
from reference_server.throttr.faults.patches import eating_a_byte, field_kind, lead, order, taking, with_answer
from reference_server.throttr.faults.shared import WIDE, backwards, cut, low_bits_lost, status_inverted
from reference_server.throttr.faults.updates import PATCH
from reference_server.throttr.session import ThrottrSession
from reference_server.throttr.state import ACCEPTED, DENIED, Handler, State

__all__ = ["FAULTS"]

QUOTAS = ("UPDATE-14", "UPDATE-15", "UPDATE-16", "UPDATE-17")
TTLS = ("UPDATE-23", "UPDATE-24", "UPDATE-25", "UPDATE-26", "UPDATE-27")
INSTANTS = ("UPDATE-30", "UPDATE-31", "UPDATE-32", "UPDATE-33")
"""What breaks where a TTL does not move as asked."""
KINDS = ("UPDATE-6", "UPDATE-7", "UPDATE-8")
HUNGER = ("UPDATE-11", "ROBUSTNESS-5", "ROBUSTNESS-7")


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


FAULTS = (
    fault("update-at-23", "UPDATE is read at type byte 23.", "UPDATE-1", profile=lead(Update, 0x23)),
    fault(
        "update-attribute-ignored",
        "UPDATE changes the quota whatever the attribute says.",
        "UPDATE-4",
        *KINDS,
        "UPDATE-2",
        *TTLS,
        "UPDATE-21",
        "UPDATE-29",
        *INSTANTS,
        handlers=taking(Update, attribute=lambda one, ask: int(Attribute.QUOTA)),
    ),
    fault(
        "update-attributes-exchanged",
        "UPDATE takes attribute 00 for the TTL and 01 for the quota.",
        "UPDATE-3",
        "UPDATE-4",
        "UPDATE-22",
        *KINDS,
        "UPDATE-2",
        *QUOTAS,
        *TTLS,
        "UPDATE-18",
        "UPDATE-21",
        "UPDATE-29",
        *INSTANTS,
        handlers=taking(Update, attribute=lambda one, ask: one ^ 1 if one < 2 else one),
    ),
    fault(
        "update-change-before-attribute",
        "UPDATE reads the change type before the attribute.",
        "UPDATE-22",
        *KINDS,
        "UPDATE-2",
        "UPDATE-5",
        "UPDATE-3",
        "UPDATE-4",
        *QUOTAS,
        *TTLS,
        "UPDATE-18",
        "UPDATE-21",
        *INSTANTS,
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
        *KINDS,
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
        *KINDS,
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
        *KINDS,
        *QUOTAS,
        "UPDATE-18",
        "UPDATE-25",
        "UPDATE-26",
        "UPDATE-27",
        "UPDATE-32",
        handlers=taking(Update, value=low_bits_lost),
    ),
    fault(
        "update-key-size-of-two-bytes",
        "UPDATE reads a key size of 2 bytes.",
        *("UPDATE-10", "UPDATE-11", "WIDTH-7"),
        profile=field_kind(Update, "key", Blob(U16)),
    ),
    *(cut(Update, size, "UPDATE-10", "UPDATE-11") for size in (62, 127, 254)),
    fault(
        "update-eats-a-byte",
        "UPDATE takes the byte behind its key for its own.",
        *HUNGER,
        handlers=eating_a_byte(Update),
    ),
    fault(
        "update-eats-a-byte-when-made",
        "UPDATE that is made takes the byte behind its key for its own.",
        *HUNGER,
        handlers=eating_a_byte(Update, lambda answer: answer == ACCEPTED),
    ),
    fault(
        "update-answers-twice",
        "UPDATE is answered with its status twice.",
        "UPDATE-12",
        handlers=with_answer(Update, lambda answer, ask: answer * 2),
    ),
    fault(
        "update-of-a-ttl-answers-twice",
        "UPDATE of a TTL is answered 01 twice.",
        "UPDATE-12",
        handlers=with_answer(
            Update,
            lambda answer, ask: answer * 2 if answer == ACCEPTED and ask.request.attribute == Attribute.TTL else answer,
        ),
    ),
    fault(
        "update-status-inverted",
        "UPDATE answers 00 when the change was made and 01 when not.",
        "UPDATE-12",
        "FRAMING-5",
        "UPDATE-13",
        *QUOTAS,
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
)
