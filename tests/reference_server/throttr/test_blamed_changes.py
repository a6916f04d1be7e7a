"""The model names the clause of the change whose effect a reading does not show, not that of the reading."""

from __future__ import annotations

import pytest

from wireproof.protocols import protocol
from wireproof.protocols.messages import Message, Request
from wireproof.protocols.throttr import REFUSED
from wireproof.protocols.throttr.replies import GetReply, QueryReply, Status
from wireproof.protocols.throttr.requests import (
    Get,
    Insert,
    Publish,
    Purge,
    Query,
    Set,
    Subscribe,
    Unsubscribe,
    Update,
)
from wireproof.reference_server.model import Window
from wireproof.reference_server.throttr.oracle import DocumentModel

HOURS, QUOTA, TTL = 6, 0, 1
OK = Status(ok=True)
COUNTER, BUFFER = Insert(10, HOURS, 60, b"k"), Set(HOURS, 60, b"k", b"v")


def blamed(profile: str, *made: Request, reading: Request, reply: Message) -> str | None:
    model = DocumentModel(protocol("throttr").profiles[profile], "uint16", tolerance_ns=0, shared=False)
    model.connect("a", Window(0, 0), 1)
    for at, request in enumerate(made):
        model.sent("a", request)
        assert model.answered("a", request, OK, Window(at, at)) is None
    model.sent("a", reading)
    found = model.answered("a", reading, reply, Window(len(made), len(made)))
    assert found is not None
    return found.clause


@pytest.mark.parametrize(
    ("made", "reply", "clause"),
    [
        ((), QueryReply(9, HOURS, 59), "INSERT-2"),
        ((), QueryReply(10, 5, 59), "INSERT-3"),
        ((), QueryReply(10, HOURS, 1), "INSERT-4"),
        ((), REFUSED, "INSERT-8"),
        ((Update(QUOTA, 1, 5, b"k"),), QueryReply(14, HOURS, 59), "UPDATE-15"),
        ((Update(QUOTA, 2, 5, b"k"),), QueryReply(10, HOURS, 59), "UPDATE-16"),
        ((Update(QUOTA, 1, 5, b"k"),), QueryReply(15, HOURS, 20), "UPDATE-22"),
        ((Update(QUOTA, 2, 10, b"k"),), REFUSED, "UPDATE-22"),
        ((Update(TTL, 0, 5, b"k"),), QueryReply(10, HOURS, 59), "UPDATE-25"),
        ((Update(TTL, 1, 5, b"k"),), QueryReply(10, HOURS, 5), "UPDATE-26"),
        ((Update(TTL, 1, 5, b"k"),), QueryReply(0, HOURS, 64), "UPDATE-23"),
        ((Update(TTL, 2, 70, b"k"),), QueryReply(10, HOURS, 0), "UPDATE-32"),
        ((Purge(b"k"),), QueryReply(10, HOURS, 59), "PURGE-5"),
    ],
)
def test_of_a_counter(made: tuple[Request, ...], reply: Message, clause: str) -> None:
    assert blamed("7.3.2", COUNTER, *made, reading=Query(b"k"), reply=reply) == f"THR-{clause}"


@pytest.mark.parametrize(
    ("made", "reply", "clause"),
    [
        ((), GetReply(HOURS, 59, b"w"), "SET-12"),
        ((BUFFER,), GetReply(HOURS, 59, b"w"), "SET-19"),
        ((Update(TTL, 1, 5, b"k"),), GetReply(HOURS, 64, b""), "UPDATE-24"),
        ((Update(TTL, 0, 5, b"k"),), GetReply(5, 4, b"v"), "UPDATE-29"),
    ],
)
def test_of_a_buffer(made: tuple[Request, ...], reply: Message, clause: str) -> None:
    assert blamed("7.3.2", BUFFER, *made, reading=Get(b"k"), reply=reply) == f"THR-{clause}"


@pytest.mark.parametrize(
    ("reply", "clause"),
    [(REFUSED, "EXPIRY-11"), (QueryReply(10, HOURS, 59), "QUERY-5"), (QueryReply(10, HOURS, 60), "TTL-11")],
)
def test_what_time_may_have_done_breaks_no_clause_of_a_change(reply: Message, clause: str) -> None:
    model = DocumentModel(protocol("throttr").profiles["7.3.2"], "uint16", tolerance_ns=0, shared=False)
    model.connect("a", Window(0, 0), 1)
    model.sent("a", COUNTER)
    assert model.answered("a", COUNTER, OK, Window(0, 0)) is None
    model.sent("a", Query(b"k"))
    hours = 2 * 3600 * 10**9
    found = model.answered("a", Query(b"k"), reply, Window(hours, hours))

    assert found is not None
    assert found.clause == f"THR-{clause}"


def test_what_ended_by_the_time_that_passed_breaks_the_clause_on_expiry() -> None:
    model = DocumentModel(protocol("throttr").profiles["7.3.2"], "uint16", tolerance_ns=0, shared=False)
    model.connect("a", Window(0, 0), 1)
    for at, request, reply in ((0, COUNTER, OK), (1, Update(TTL, 0, 1, b"k"), OK)):
        model.sent("a", request)
        assert model.answered("a", request, reply, Window(at, at)) is None
    model.sent("a", Query(b"k"))
    late = 2 * 3600 * 10**9
    found = model.answered("a", Query(b"k"), QueryReply(10, HOURS, 0), Window(late, late))

    assert found is not None
    assert found.clause == "THR-EXPIRY-1"


@pytest.mark.parametrize(("profile", "clause"), [("7.1.0", "RECORD-9"), ("7.3.2", "SET-20")])
def test_what_a_refused_set_changes_breaks_what_every_refusal_promises(profile: str, clause: str) -> None:
    model = DocumentModel(protocol("throttr").profiles[profile], "uint16", tolerance_ns=0, shared=False)
    model.connect("a", Window(0, 0), 1)
    for at, request, reply in ((0, COUNTER, OK), (1, BUFFER, REFUSED)):
        model.sent("a", request)
        assert model.answered("a", request, reply, Window(at, at)) is None
    model.sent("a", Query(b"k"))
    found = model.answered("a", Query(b"k"), QueryReply(0, HOURS, 60), Window(2, 2))

    assert found is not None
    assert found.clause == f"THR-{clause}"


@pytest.mark.parametrize(
    ("between", "reply", "clause"),
    [
        ((Update(TTL, 1, 5, b"j"),), QueryReply(10, HOURS, 64), "UPDATE-37"),
        ((Update(QUOTA, 0, 3, b"j"),), QueryReply(3, HOURS, 59), "UPDATE-37"),
        ((Purge(b"j"),), REFUSED, "PURGE-9"),
        ((Set(5, 60, b"b", b"v"),), QueryReply(10, 5, 59), "RECORD-3"),
        ((), QueryReply(9, HOURS, 59), "QUERY-10"),
        ((), REFUSED, "QUERY-10"),
    ],
)
def test_what_was_seen_as_it_should_be_was_changed_by_what_came_since(
    between: tuple[Request, ...], reply: Message, clause: str
) -> None:
    model = DocumentModel(protocol("throttr").profiles["7.3.2"], "uint16", tolerance_ns=0, shared=False)
    model.connect("a", Window(0, 0), 1)
    seen = QueryReply(10, HOURS, 59)
    for at, request in enumerate((Insert(10, HOURS, 60, b"j"), COUNTER, Query(b"k"), *between)):
        model.sent("a", request)
        answer = seen if isinstance(request, Query) else OK
        assert model.answered("a", request, answer, Window(at, at)) is None
    model.sent("a", Query(b"k"))
    found = model.answered("a", Query(b"k"), reply, Window(9, 9))

    assert found is not None
    assert found.clause == f"THR-{clause}"


TWICE = (Subscribe(b"c"), Subscribe(b"c"), Unsubscribe(b"c"))


@pytest.mark.parametrize(
    "made",
    [
        (Subscribe(b"c"), Unsubscribe(b"c")),
        (*TWICE, Unsubscribe(b"c")),
        (*TWICE, Subscribe(b"c"), Unsubscribe(b"c"), Unsubscribe(b"c")),
    ],
)
def test_as_many_unsubscriptions_as_subscriptions_leave_none(made: tuple[Request, ...]) -> None:
    assert blamed("7.3.2", *made, reading=Publish(b"c", b"m"), reply=OK) == "THR-PUBLISH-8"


@pytest.mark.parametrize("reply", [OK, REFUSED])
@pytest.mark.parametrize("reading", [Publish(b"c", b"m"), Unsubscribe(b"c"), Subscribe(b"c")])
def test_one_unsubscription_may_end_one_of_two_subscriptions_or_both(reading: Request, reply: Message) -> None:
    model = DocumentModel(protocol("throttr").profiles["7.3.2"], "uint16", tolerance_ns=0, shared=False)
    model.connect("a", Window(0, 0), 1)
    for at, request in enumerate((*TWICE, reading)):
        model.sent("a", request)
        answer = reply if request is reading else OK
        assert model.answered("a", request, answer, Window(at, at)) is None
