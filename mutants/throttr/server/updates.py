"""The patches that faults in UPDATE are made of: which updates are meant, and what becomes of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wireproof.mutants.throttr.server.mutant import HandlerPatch
from wireproof.mutants.throttr.server.patches import Ask, changed, held, with_answer, with_handler, with_request
from wireproof.mutants.throttr.server.shared import Act
from wireproof.protocols.messages import Request
from wireproof.protocols.throttr import Attribute, Change, TTLType
from wireproof.protocols.throttr.requests import Update
from wireproof.reference_server.throttr.record_requests import SHOWN_UNIT
from wireproof.reference_server.throttr.records import Buffer, Counter, Record
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import ACCEPTED, DENIED, Handler, State

__all__ = [
    "DECREASE",
    "INCREASE",
    "PATCH",
    "Where",
    "asked_due",
    "empty_quota",
    "forgets",
    "instead",
    "moves",
    "of_quota",
    "of_quota_by",
    "of_ttl",
    "of_ttl_by",
    "refuses",
    "shorten",
    "tell_seconds",
    "tell_the_unit_before",
    "then",
    "to_all_others",
    "valued",
]

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
