"""Mutants of INSERT, QUERY, GET, PURGE, and of how UPDATE is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any
from weakref import WeakKeyDictionary

from wireproof.mutants.throttr.server.mutant import HandlerPatch, mutant
from wireproof.mutants.throttr.server.patches import (
    Ask,
    changed,
    eating_a_byte,
    field_kind,
    showing,
    with_answer,
    with_found,
    with_handler,
)
from wireproof.mutants.throttr.server.shared import (
    HALF_A_SECOND,
    WIDE,
    by_owner,
    in_seconds,
    lengthening,
    longer_after_many,
    making_room,
    missing_as_before,
    refused,
    renew,
    reserving,
    since_connected,
    type_forgotten,
    undone,
)
from wireproof.protocols.fields import U16, Blob
from wireproof.protocols.messages import Request
from wireproof.protocols.throttr import Attribute, TTLType
from wireproof.protocols.throttr.replies import GetReply
from wireproof.protocols.throttr.requests import Get, Insert, Purge, Query, Set, Update
from wireproof.reference_server.throttr.records import Buffer, Counter, Record
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import ACCEPTED, DENIED, Handler, Handlers, State

__all__ = ["MUTANTS"]

QUOTA = ("INSERT-2", "WIDTH-10")
TTL = ("INSERT-4", "EXPIRY-11", "TTL-7")
ECHOED = ("TTL-1", "TTL-2", "TTL-3", "TTL-5", "TTL-6")


def _set_quota(record: Counter, ask: Ask) -> None:
    record.quota = ask.request.quota
    record.forget_answer()


def _hidden_while_young(request: Any, age: int) -> bytes | None:
    return DENIED if isinstance(request, Query) and age < HALF_A_SECOND else None


def _accepted(request: Any, age: int) -> bytes | None:
    return ACCEPTED


# fmt: off
INSERT_MUTANTS = (
    mutant("insert-ttl-type-forgotten", "INSERT stores the right instant and tells every TTL in seconds.", "INSERT-3", "QUERY-7", "TTL-12", *ECHOED,
           handlers=with_answer(Insert, type_forgotten)),
    mutant("insert-ttl-since-connected", "INSERT counts the TTL from the opening of its connection.", *TTL,
           handlers=with_answer(Insert, since_connected)),
    mutant("insert-eats-a-byte-when-refused", "INSERT that is refused takes the byte behind its key for a part of itself, where one has come.",
           "INSERT-6", "ROBUSTNESS-5", "ROBUSTNESS-7", handlers=eating_a_byte(Insert, lambda answer: answer == DENIED)),
    mutant("insert-stores-nothing", "INSERT answers 01 and stores nothing.", "INSERT-7", "INSERT-8", "INSERT-2", "INSERT-3",
           handlers=with_answer(Insert, undone)),
    mutant("insert-seen-late-by-others", "QUERY finds a new counter only from the connection that stored it, for half a second.", "INSERT-8",
           "RECORD-7", handlers=by_owner(Insert, Query, others=_hidden_while_young)),
    mutant("insert-overwrites-a-counter", "INSERT replaces a live counter and answers 01.", "INSERT-9",
           handlers=making_room(Insert, lambda record: isinstance(record, Counter))),
    mutant("insert-overwrites-a-spent-counter", "INSERT replaces a live counter whose quota is 0.", "INSERT-9",
           handlers=making_room(Insert, lambda record: isinstance(record, Counter) and not record.quota)),
    mutant("insert-accepted-from-others", "INSERT from another connection on a live counter answers 01 and changes nothing.", "INSERT-9", "INSERT-7",
           handlers=by_owner(Insert, others=_accepted)),
    mutant("insert-refused-sets-the-quota", "INSERT on a live counter answers 00 and stores the new quota.", "INSERT-9", "RECORD-9", "INSERT-7",
           handlers=refused(Insert, Counter, _set_quota)),
    mutant("insert-refused-renews-a-counter", "INSERT on a live counter answers 00 and gives it the new TTL.", "INSERT-9", "RECORD-9",
           handlers=refused(Insert, Counter, renew)),
    mutant("insert-overwrites-a-buffer", "INSERT replaces a live buffer and answers 01.", "INSERT-10", "RECORD-1",
           handlers=making_room(Insert, lambda record: isinstance(record, Buffer))),
    mutant("insert-refused-renews-a-buffer", "INSERT on a live buffer answers 00 and gives it the new TTL.", "INSERT-10", "RECORD-9",
           handlers=refused(Insert, Buffer, renew)),
)
# fmt: on


EVERY = 25
QUERY_QUOTA = ("QUERY-6", "INSERT-2", "UPDATE-14", "UPDATE-15", "UPDATE-16")
TYPE = ("QUERY-7", "INSERT-3", "TTL-1", "TTL-2", "TTL-3", "TTL-5", "TTL-6")
QUERY_TTL = ("QUERY-8", "TTL-11", "TTL-12")


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
QUERY_MUTANTS = (
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
    mutant("query-quota-zero-unlimited", "QUERY answers the largest quota where it is 0, as if that meant no limit.", *QUERY_QUOTA, "INSERT-11",
           "UPDATE-17", handlers=showing(Query, quota=lambda quota, ask: quota or ask.state.value_max)),
    mutant("query-quota-as-first-seen", "QUERY answers the quota that its first answer about the counter had.", *QUERY_QUOTA, "UPDATE-17",
           handlers=with_handler(Query, _as_first_seen)),
    mutant("query-ttl-type-always-seconds", "QUERY answers seconds for every TTL type.", *TYPE,
           handlers=showing(Query, ttl_type=lambda kind, ask: int(TTLType.SECONDS))),
    mutant("query-ttl-type-less-one", "QUERY answers the TTL type less 1.", *TYPE, "TTL-4",
           handlers=showing(Query, ttl_type=lambda kind, ask: kind - 1 & 0xFF)),
    mutant("query-ttl-in-seconds", "QUERY answers the TTL in seconds, whatever its type.", *QUERY_TTL, handlers=showing(Query, ttl=in_seconds)),
    mutant("query-reserves-missing-keys", "QUERY of a missing key keeps it from being inserted from then on.", "QUERY-10", "INSERT-8",
           handlers=reserving(Query)),
    mutant("query-spends", "Every 25th QUERY of a counter takes 1 from its quota.", "QUERY-10", "QUERY-6", handlers=with_handler(Query, _spending)),
    mutant("query-lengthens", "QUERY lets a counter live for another second at least.", "QUERY-10", "INSERT-4", "EXPIRY-1",
           handlers=with_answer(Query, lengthening)),
    mutant("query-finds-buffers", "QUERY of a buffer answers 01 and a quota of 0.", "QUERY-11", profiles=("7.1.0",),
           rules={"query_finds_buffers": True}),
)
# fmt: on


GET_TYPE = ("GET-6", "SET-2", "TTL-1", "TTL-2", "TTL-3", "TTL-5", "TTL-6")
GET_TTL = ("GET-7", "TTL-11", "TTL-12")
VALUE = ("GET-9", "SET-12", "SET-13")
"""What a value that is told wrong breaks."""
HUNGER = ("GET-3", "ROBUSTNESS-5", "ROBUSTNESS-7")
_answered: WeakKeyDictionary[ThrottrSession, bytes] = WeakKeyDictionary()
"""The last value that was answered on a connection."""


def _value(change: Callable[[bytes], bytes]) -> HandlerPatch:
    return showing(Get, value=lambda value, ask: change(value))


def _size(change: Callable[[int, Ask], int]) -> HandlerPatch:
    """Tell another size than that of the value which follows."""

    def on_answer(answer: bytes, ask: Ask) -> bytes:
        width = ask.state.value_size
        at, stop = 2 + width, 2 + 2 * width
        description = change(int.from_bytes(answer[at:stop], "little"), ask)
        return answer if answer == DENIED else answer[:at] + description.to_bytes(width, "little") + answer[stop:]

    return with_answer(Get, on_answer)


def _left_over(reply: GetReply, ask: Ask) -> GetReply:
    last = _answered.get(ask.session, b"")
    _answered[ask.session] = value = reply.value + last[len(reply.value) :]
    return changed(reply, value=value)


def _wearing_out(correct: Handler, state: State) -> Handler:
    """Take the last byte of a buffer with every so many GETs of it."""
    asked: dict[bytes, int] = {}

    def handle(request: Any, session: ThrottrSession, now: int) -> bytes:
        answer, record = correct(request, session, now), state.store.find(request.key, now)
        asked[request.key] = asked.get(request.key, 0) + 1
        if isinstance(record, Buffer) and asked[request.key] % EVERY == 0:
            state.store.overwrite(record, record.ttl_type, record.value[:-1], record.due)
        return answer

    return handle


# fmt: off
GET_MUTANTS = (
    mutant("get-eats-a-byte-when-found", "GET that finds a buffer takes the byte behind its key for a part of itself, where one has come.", *HUNGER,
           handlers=eating_a_byte(Get, lambda answer: answer != DENIED)),
    mutant("get-miss-answered-as-the-hit-before", "GET of a missing key that follows a GET of a buffer in one segment is answered as that.", "GET-4",
           "GET-10", "ROBUSTNESS-18", handlers=with_handler(Get, missing_as_before)),
    mutant("get-answer-a-byte-longer-after-many", "GET answers a zero byte behind every tenth answer to what came in one segment.", "GET-5",
           "ROBUSTNESS-7", handlers=with_handler(Get, longer_after_many)),
    mutant("get-finds-in-an-empty-store", "GET answers 01 and zeros as long as no record is stored.", "GET-10", "GET-4",
           handlers=with_answer(Get, _nothing_found)),
    mutant("get-ttl-type-always-seconds", "GET answers seconds for every TTL type.", *GET_TYPE,
           handlers=showing(Get, ttl_type=lambda kind, ask: int(TTLType.SECONDS))),
    mutant("get-ttl-type-less-one", "GET answers the TTL type less 1.", *GET_TYPE, "TTL-4",
           handlers=showing(Get, ttl_type=lambda kind, ask: kind - 1 & 0xFF)),
    mutant("get-ttl-in-seconds", "GET answers the TTL in seconds, whatever its type.", *GET_TTL, handlers=showing(Get, ttl=in_seconds)),
    mutant("get-ttl-bit-14-lost", "GET answers the TTL without bit 14.", *GET_TTL, variants=WIDE,
           handlers=showing(Get, ttl=lambda ttl, ask: ttl & ~0x4000)),
    mutant("get-value-size-of-two-bytes", "GET answers a value size of 2 bytes at uint8.", "GET-8", "GET-5", "GET-9", "WIDTH-1", variants=("uint8",),
           profile=field_kind(GetReply, "value", Blob(U16))),
    mutant("get-value-size-of-seven-bits", "GET answers the value size without its bit 7, and the value whole.", "GET-8", "GET-5", "GET-9",
           handlers=_size(lambda size, ask: size & ~0x80)),
    mutant("get-value-cut-at-126", "GET answers the first 126 bytes of a longer value, and their number.", *VALUE, "SET-16", "SET-17", "WIDTH-12",
           handlers=_value(lambda value: value[:126])),
    mutant("get-short-value-padded", "GET answers a value of less than 6 bytes with zeros up to 6.", *VALUE, "SET-15", "ROBUSTNESS-18",
           handlers=_value(lambda value: value.ljust(6, b"\0"))),
    mutant("get-value-with-the-rest-of-another", "GET fills a value up with the end of a longer one that it answered before on the connection.",
           *VALUE, "SET-15", "ROBUSTNESS-18", handlers=with_found(Get, _left_over)),
    mutant("get-wears-out", "Every 25th GET of a buffer takes the last byte of its value.", "GET-11", "GET-9",
           handlers=with_handler(Get, _wearing_out)),
    mutant("get-lengthens", "GET lets a buffer live for another second at least.", "GET-11", "SET-3", "EXPIRY-2",
           handlers=with_answer(Get, lengthening)),
    mutant("get-finds-counters", "GET of a counter answers 01 and an empty value.", "GET-12", profiles=("7.1.0",), rules={"get_finds_counters": True}),
)
# fmt: on


GONE = ("PURGE-5", "PURGE-6", "PURGE-8", "LIST-14")
PURGE_AND_NEXT = ("PURGE-3", "ROBUSTNESS-5", "ROBUSTNESS-7")


def _instead(where: Callable[[Record], bool], answer: bytes) -> HandlerPatch:
    """Answer `answer` and remove nothing where the record is `where`."""

    def make(correct: Handler, state: State) -> Handler:
        def handle(request: Any, session: ThrottrSession, now: int) -> bytes:
            record = state.store.find(request.key, now)
            return answer if record is not None and where(record) else correct(request, session, now)

        return handle

    return with_handler(Purge, make)


def _and_also(others: Callable[[bytes, list[bytes]], Iterable[bytes]]) -> HandlerPatch:
    """Remove the records under `others(key, all keys as they were stored)`, too."""

    def make(correct: Handler, state: State) -> Handler:
        def handle(request: Any, session: ThrottrSession, now: int) -> bytes:
            chosen = list(others(request.key, list(state.store.records)))
            answer = correct(request, session, now)
            if answer == ACCEPTED:
                for key in chosen:
                    if (record := state.store.find(key, now)) is not None:
                        state.store.remove(record)
            return answer

        return handle

    return with_handler(Purge, make)


def _oldest_at_times(correct: Handler, state: State) -> Handler:
    number = 0

    def handle(request: Any, session: ThrottrSession, now: int) -> bytes:
        nonlocal number
        number += 1
        answer = correct(request, session, now)
        oldest = next(state.store.live(now), None)
        if number % 10 == 0 and oldest is not None:
            state.store.remove(oldest)
        return answer

    return handle


def _once_purged(then: Callable[[Any, int], bytes | None]) -> HandlerPatch:
    """Let `then(request, ns since the PURGE)` answer, where it does, PURGE, INSERT and SET of a key that was purged."""

    def patch(correct: Handlers, state: State) -> Handlers:
        purged: dict[bytes, int] = {}

        def handle(request: Any, session: ThrottrSession, now: int) -> bytes:
            since = purged.get(request.key)
            wrong = None if since is None else then(request, now - since)
            if wrong is not None:
                return wrong
            answer = correct[type(request)](request, session, now)
            if answer == ACCEPTED:
                purged.pop(request.key, None)
                if isinstance(request, Purge):
                    purged[request.key] = now
            return answer

        return dict.fromkeys((Purge, Insert, Set), handle)

    return patch


def _leaving(kind: type[Request], take: Callable[[Record, Any], Request]) -> HandlerPatch:
    """Store `take(old record, request)` where the next `kind` after a PURGE stores something."""

    def patch(correct: Handlers, state: State) -> Handlers:
        left: dict[bytes, Record] = {}

        def purge(request: Any, session: ThrottrSession, now: int) -> bytes:
            record = state.store.find(request.key, now)
            if record is not None:
                left[request.key] = record
            return correct[Purge](request, session, now)

        def store(request: Any, session: ThrottrSession, now: int) -> bytes:
            old = left.pop(request.key, None)
            return correct[kind](request if old is None else take(old, request), session, now)

        return {Purge: purge, kind: store}

    return patch


def _with_tail(old: Record, request: Set) -> Set:
    return changed(request, value=request.value + old.value[len(request.value) :])


# fmt: off
PURGE_MUTANTS = (
    mutant("purge-eats-a-byte-when-done", "PURGE that removes a record takes the byte behind its key for a part of itself, where one has come.",
           *PURGE_AND_NEXT, handlers=eating_a_byte(Purge, lambda answer: answer == ACCEPTED)),
    mutant("purge-leaves-counters", "PURGE of a counter answers 01 and leaves it.", "PURGE-5", "PURGE-4", "PURGE-7", "PURGE-8", "LIST-14",
           handlers=_instead(lambda record: isinstance(record, Counter), ACCEPTED)),
    mutant("purge-refuses-buffers", "PURGE of a buffer answers 00 and leaves it.", "PURGE-6",
           handlers=_instead(lambda record: isinstance(record, Buffer), DENIED)),
    mutant("purge-always-01", "PURGE answers 01 whatever is there.", "PURGE-7", "PURGE-4", handlers=with_answer(Purge, lambda answer, ask: ACCEPTED)),
    mutant("purge-twice-01", "A second PURGE of a key answers 01, too.", "PURGE-7", "PURGE-4",
           handlers=_once_purged(lambda request, age: ACCEPTED if isinstance(request, Purge) else None)),
    mutant("purge-leaves-the-quota", "The counter inserted under the key of a purged one begins with its quota.", "PURGE-8", "INSERT-2",
           handlers=_leaving(Insert, lambda old, request: changed(request, quota=old.quota or request.quota))),
    mutant("purge-leaves-the-tail-of-a-value",
           "The buffer set under the key of a purged one ends with those of its bytes that the new value does not reach.", "PURGE-8", "SET-12",
           "SET-13", "ROBUSTNESS-18", handlers=_leaving(Set, _with_tail)),
    mutant("purge-leaves-the-ttl-type", "The counter inserted under the key of a purged record has its TTL type.", "PURGE-8", "INSERT-3", "EXPIRY-13",
           handlers=_leaving(Insert, lambda old, request: changed(request, ttl_type=old.ttl_type))),
    mutant("purge-takes-both-cases", "PURGE removes the records whose keys differ from its own in letter case, too.", "PURGE-9", "RECORD-3",
           handlers=_and_also(lambda key, keys: [other for other in keys if other.lower() == key.lower()])),
    mutant("purge-takes-the-oldest-at-times", "Every tenth PURGE removes the oldest record, too.", "PURGE-9",
           handlers=with_handler(Purge, _oldest_at_times)),
)
# fmt: on


UPDATE_AND_NEXT = ("UPDATE-11", "ROBUSTNESS-5", "ROBUSTNESS-7")


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
UPDATE_MUTANTS = (
    mutant("update-eats-a-byte-when-made", "UPDATE that is made takes the byte behind its key for its own.", *UPDATE_AND_NEXT,
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


MUTANTS = (
    *INSERT_MUTANTS,
    *QUERY_MUTANTS,
    *GET_MUTANTS,
    *PURGE_MUTANTS,
    *UPDATE_MUTANTS,
)
