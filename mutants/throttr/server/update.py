"""Faults in UPDATE: how it is read, how it is answered, and what it does where there is nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wireproof.mutants.throttr.server.mutant import HandlerPatch, mutant
from wireproof.mutants.throttr.server.patches import eating_a_byte, field_kind, lead, order, taking, with_answer
from wireproof.mutants.throttr.server.shared import WIDE, backwards, cut, low_bits_lost, status_inverted
from wireproof.mutants.throttr.server.updates import PATCH
from wireproof.protocols.fields import U16, Blob
from wireproof.protocols.throttr import Attribute, TTLType
from wireproof.protocols.throttr.requests import Insert, Update
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import ACCEPTED, DENIED, Handler, State

__all__ = ["MUTANTS"]

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


MUTANTS = (
    mutant("update-at-23", "UPDATE is read at type byte 23.", "UPDATE-1", profile=lead(Update, 0x23)),
    mutant(
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
    mutant(
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
    mutant(
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
    mutant(
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
    mutant(
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
    mutant(
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
    mutant(
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
    mutant(
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
    mutant(
        "update-key-size-of-two-bytes",
        "UPDATE reads a key size of 2 bytes.",
        *("UPDATE-10", "UPDATE-11", "WIDTH-7"),
        profile=field_kind(Update, "key", Blob(U16)),
    ),
    *(cut(Update, size, "UPDATE-10", "UPDATE-11") for size in (62, 127, 254)),
    mutant(
        "update-eats-a-byte",
        "UPDATE takes the byte behind its key for its own.",
        *HUNGER,
        handlers=eating_a_byte(Update),
    ),
    mutant(
        "update-eats-a-byte-when-made",
        "UPDATE that is made takes the byte behind its key for its own.",
        *HUNGER,
        handlers=eating_a_byte(Update, lambda answer: answer == ACCEPTED),
    ),
    mutant(
        "update-answers-twice",
        "UPDATE is answered with its status twice.",
        "UPDATE-12",
        handlers=with_answer(Update, lambda answer, ask: answer * 2),
    ),
    mutant(
        "update-of-a-ttl-answers-twice",
        "UPDATE of a TTL is answered 01 twice.",
        "UPDATE-12",
        handlers=with_answer(
            Update,
            lambda answer, ask: answer * 2 if answer == ACCEPTED and ask.request.attribute == Attribute.TTL else answer,
        ),
    ),
    mutant(
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
    mutant(
        "update-of-nothing-accepted",
        "UPDATE of a key that no record holds answers 01.",
        "UPDATE-13",
        "UPDATE-12",
        "UPDATE-32",
        handlers=_missing(lambda request, insert, session, now: ACCEPTED),
    ),
    mutant(
        "update-creates",
        "UPDATE of a key that no record holds creates a counter.",
        "UPDATE-13",
        "UPDATE-12",
        "UPDATE-32",
        handlers=_missing(_creating),
    ),
    mutant(
        "update-creates-unseen",
        "UPDATE of a key that no record holds answers 00 and creates a counter.",
        "UPDATE-13",
        "UPDATE-32",
        handlers=_missing(lambda *asked: _creating(*asked)[:0] + DENIED),
    ),
)
