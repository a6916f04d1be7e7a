"""Faults in UPDATE: how it is read, how it is answered, and what it does where there is nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wireproof.mutants.throttr.server.mutant import HandlerPatch, mutant
from wireproof.mutants.throttr.server.patches import eating_a_byte, with_answer
from wireproof.protocols.throttr import Attribute, TTLType
from wireproof.protocols.throttr.requests import Insert, Update
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import ACCEPTED, DENIED, Handler, State

__all__ = ["MUTANTS"]

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


# fmt: off
MUTANTS = (
    mutant("update-eats-a-byte-when-made", "UPDATE that is made takes the byte behind its key for its own.", *HUNGER,
           handlers=eating_a_byte(Update, lambda answer: answer == ACCEPTED)),
    mutant("update-answers-twice", "UPDATE is answered with its status twice.", "UPDATE-12",
           handlers=with_answer(Update, lambda answer, ask: answer * 2)),
    mutant("update-of-a-ttl-answers-twice", "UPDATE of a TTL is answered 01 twice.", "UPDATE-12",
           handlers=with_answer(Update, lambda answer, ask: answer * 2 if answer == ACCEPTED and ask.request.attribute == Attribute.TTL else answer)),
    mutant("update-of-nothing-accepted", "UPDATE of a key that no record holds answers 01.", "UPDATE-13", "UPDATE-12", "UPDATE-32",
           handlers=_missing(lambda request, insert, session, now: ACCEPTED)),
    mutant("update-creates-unseen", "UPDATE of a key that no record holds answers 00 and creates a counter.", "UPDATE-13", "UPDATE-32",
           handlers=_missing(lambda *asked: _creating(*asked)[:0] + DENIED)),
)
# fmt: on
