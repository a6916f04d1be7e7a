"""The clause of a fault is that of the cases which look there; what no clause binds has none."""

from __future__ import annotations

from functools import cache

import pytest

from wireproof.conformance.interop.blamed_clauses import PUSH, Clauses
from wireproof.conformance.model.verdict import Level
from wireproof.conformance.suite.cases import load_suite
from wireproof.protocols.plain import Plain
from wireproof.protocols.registry import protocol


@cache
def clauses_of(profile: str) -> Clauses:
    return Clauses(load_suite("throttr"), profile)


@pytest.mark.parametrize(
    ("request_name", "reply", "field", "clause"),
    [
        ("QUERY", "QUERY_REPLY", "quota", "THR-QUERY-6"),
        ("LIST", "LIST_REPLY", "rows.bytes_used", "THR-LIST-11"),
        ("STAT", "STAT_REPLY", "total_reads", None),
        ("EVENT", "EVENT_REPLY", "", None),
    ],
)
def test_a_reply(request_name: str, reply: str, field: str, clause: str | None) -> None:
    assert clauses_of("7.3.2").of_reply(request_name, reply, field) == clause


def test_a_request_by_its_field() -> None:
    assert clauses_of("7.3.2").of_request("INSERT", "quota") == "THR-INSERT-2"
    assert clauses_of("7.3.2").of_request("INSERT", "type") == "THR-INSERT-1"


@pytest.mark.parametrize("profile", protocol("throttr").profiles)
def test_every_request_has_clauses_that_bind(profile: str) -> None:
    suite = load_suite("throttr")
    clauses = Clauses(suite, profile)
    for request in Plain(protocol("throttr"), profile, "uint16").operations.values():
        name = request.NAME
        for clause in (clauses.of_answer(name), clauses.of_request(name), clauses.of_report(name)):
            assert suite.clauses[clause].levels[profile] in (Level.MUST, Level.SHOULD), name
    assert clauses.of_reply(PUSH, PUSH, "") is not None


@pytest.mark.parametrize(("push", "clause"), [("NOTIFICATION", "TMQP-CLIENT-18"), ("MESSAGE", "TMQP-CLIENT-23")])
def test_an_event_by_the_push_that_it_reports(push: str, clause: str) -> None:
    assert Clauses(load_suite("tmqp"), "doc").of_event(push) == clause
