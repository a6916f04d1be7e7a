"""What mutants of several requests have in common: numbers read wrong, records mistreated, what servers remember."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from wireproof.mutants.throttr.server.mutant import HandlerPatch
from wireproof.mutants.throttr.server.patches import Ask, held, with_answer, with_handler, with_request
from wireproof.protocols.messages import Request
from wireproof.protocols.throttr import TTLType
from wireproof.protocols.throttr.requests import Insert
from wireproof.reference_server.throttr.record_requests import SHOWN_UNIT
from wireproof.reference_server.throttr.records import Record
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import ACCEPTED, DENIED, Handler, Handlers, State


class Remembering(State):
    """Notes by key: the id of the connection that asked."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.owners: dict[bytes, bytes] = {}
        self.asked: dict[bytes, bytes] = {}
        self.gone: dict[bytes, bytes] = {}


def keeping(notes: str, kinds: Iterable[type[Request]], if_answered: bytes) -> HandlerPatch:
    """Note the key of each request of `kinds` that is answered so."""

    def make(correct: Handler, state: State) -> Handler:
        def handle(request: Any, session: ThrottrSession, now: int) -> bytes:
            answer = correct(request, session, now)
            if answer == if_answered:
                getattr(state, notes)[request.key] = session.id
            return answer

        return handle

    return with_handler(tuple(kinds), make)


def own(key: bytes, session: ThrottrSession, state: State) -> bool:
    """Say whether this connection stored the record."""
    assert isinstance(state, Remembering)
    return state.owners.get(key) == session.id


def eating_again(kind: type[Request]) -> HandlerPatch:
    """Take the byte behind a request for its own when one of its kind came before it in the same segment."""

    def make(correct: Handler, state: State) -> Handler:
        last: dict[ThrottrSession, bytes] = {}

        def handle(request: Any, session: ThrottrSession, now: int) -> bytes:
            again, last[session] = last.get(session) is session._data, session._data
            answer = correct(request, session, now)
            session._at += again
            return answer

        return handle

    return with_handler(kind, make)


WIDE = ("uint16", "uint32", "uint64")
SECOND = 10**9
HALF_A_SECOND = SECOND // 2
Act = Callable[[Any, Ask], object]
"""(live record, ask): something done to the record."""


def bit_7_lost(number: int, ask: Ask) -> int:
    """Return the number without the top bit of its low byte."""
    return number & ~0x80


def in_seconds(ttl: int, ask: Ask) -> int:
    """Return a TTL, told in the record's unit, in seconds."""
    record = held(ask)
    unit = SECOND if record is None else SHOWN_UNIT[record.ttl_type]
    return ttl * unit // SECOND & ask.state.value_max


def lengthening(answer: bytes, ask: Ask) -> bytes:
    """Let the record that was asked about live for another second at least."""
    record = held(ask)
    if record is not None:
        ask.state.store.move(record, max(record.due, ask.now + SECOND))
    return answer


def reserving(kind: type[Request]) -> HandlerPatch:
    """Let a request that finds nothing keep its key from being inserted."""

    def patch(correct: Handlers, state: State) -> Handlers:
        reserved: set[bytes] = set()

        def ask(request: Any, session: ThrottrSession, now: int) -> bytes:
            answer = correct[kind](request, session, now)
            if answer == DENIED:
                reserved.add(request.key)
            return answer

        def insert(request: Any, session: ThrottrSession, now: int) -> bytes:
            return DENIED if request.key in reserved else correct[Insert](request, session, now)

        return {kind: ask, Insert: insert}

    return patch


def asked_due(ask: Ask) -> int:
    """Return the expiry instant that an INSERT or SET asks for, monotonic ns."""
    due: int = ask.now + ask.request.ttl * SHOWN_UNIT[ask.request.ttl_type]
    return due


def type_forgotten(answer: bytes, ask: Ask) -> bytes:
    """Take the TTL of what was just stored for seconds; its instant stays."""
    record = held(ask)
    if answer == ACCEPTED and record is not None:
        record.ttl_type = int(TTLType.SECONDS)
    return answer


def since_connected(answer: bytes, ask: Ask) -> bytes:
    """Let the TTL of what was just stored count from the opening of the connection."""
    record = held(ask)
    if answer == ACCEPTED and record is not None:
        ask.state.store.move(record, record.due - (ask.state.wall(ask.now) - ask.session.connected_at))
    return answer


def renew(record: Record, ask: Ask) -> None:
    """Give a record the expiry that is asked for."""
    ask.state.store.move(record, asked_due(ask))


def making_room(kind: type[Request], where: Callable[[Any], bool]) -> HandlerPatch:
    """Remove the live record under the key first, where `where(record)`."""

    def change(request: Request, ask: Ask) -> Request:
        record = held(ask)
        if record is not None and where(record):
            ask.state.store.remove(record)
        return request

    return with_request(kind, change)


def refused(kind: type[Request], of: type[Record], act: Act) -> HandlerPatch:
    """Do `act` to the live record of class `of` that made a request be refused."""

    def change(answer: bytes, ask: Ask) -> bytes:
        record = held(ask)
        if answer == DENIED and isinstance(record, of):
            act(record, ask)
        return answer

    return with_answer(kind, change)


def undone(answer: bytes, ask: Ask) -> bytes:
    """Forget what was just stored."""
    record = held(ask)
    if answer == ACCEPTED and record is not None:
        ask.state.store.remove(record)
    return answer


def by_owner(*kinds: type[Request], others: Callable[[Any, int], bytes | None]) -> HandlerPatch:
    """Let `others(request, ns since then)` answer, where it does, connections other than the one that stored a record.

    The first of `kinds` stores; each of them is asked about.
    """

    def patch(correct: Handlers, state: State) -> Handlers:
        owners: dict[bytes, tuple[ThrottrSession, int]] = {}

        def handle(request: Any, session: ThrottrSession, now: int) -> bytes:
            owner, since = owners.get(request.key, (session, now))
            wrong = None if owner is session else others(request, now - since)
            if wrong is not None:
                return wrong
            answer = correct[type(request)](request, session, now)
            if type(request) in kinds[:1] and answer == ACCEPTED:
                owners[request.key] = session, now
            return answer

        return dict.fromkeys(kinds, handle)

    return patch


def status_inverted(answer: bytes, ask: Ask) -> bytes:
    """Return the answer with the other status byte."""
    return bytes([answer[0] ^ 1]) + answer[1:]


def missing_as_before(correct: Handler, state: State) -> Handler:
    """Answer a miss as the hit whose request, of the same kind, came right before it."""
    before: dict[ThrottrSession, tuple[int, int, bytes]] = {}

    def handle(request: Any, session: ThrottrSession, now: int) -> bytes:
        answer = correct(request, session, now)
        data, at, hit = before.pop(session, (0, 0, b""))
        if answer != DENIED:
            before[session] = id(session._data), session._at, answer
        elif hit and (data, at) == (id(session._data), session._at - 2 - len(request.key)):
            return hit
        return answer

    return handle


def longer_after_many(correct: Handler, state: State) -> Handler:
    """Let a zero byte slip in behind every tenth answer to what came in one segment."""
    answered: dict[ThrottrSession, tuple[int, int]] = {}

    def handle(request: Any, session: ThrottrSession, now: int) -> bytes:
        segment, number = answered.get(session, (0, 0))
        number = number + 1 if segment == id(session._data) else 1
        answered[session] = id(session._data), number
        return correct(request, session, now) + b"\0" * (number % 10 == 0)

    return handle
