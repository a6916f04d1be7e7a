"""Servers that answer otherwise where a clause is MAY are no findings."""

from __future__ import annotations

import pytest

from tests.fuzz.live.simulated_plays import first_suspicion, played
from wireproof.conformance.model.actions import Open, Read, Sleep, Write
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.exchanges import lines
from wireproof.fuzz.live.oracles import judged
from wireproof.fuzz.live.required_features import optional_requests
from wireproof.fuzz.script import Script
from wireproof.mutants.throttr.server import MUTANTS
from wireproof.protocols.throttr.replies import Status
from wireproof.protocols.throttr.requests import Event, Get, Insert, Purge, Query, Update

CONTEXT = FuzzContext("throttr", "7.3.2", "uint16")
KEY = b"~00000001~k"
LEGAL = [one.name for one in MUTANTS.values() if one.is_legal and "7.3.2" in (one.profiles or ("7.3.2",))]


def script(*requests: object) -> Script:
    return (Open("a"), *(Write("a", CONTEXT.encode(one)) for one in requests), Read("a", 0.02))  # type: ignore[arg-type]


def test_a_request_is_optional_where_all_its_cases_are() -> None:
    assert optional_requests("throttr", "7.3.2") == {"EVENT"}
    assert not optional_requests("throttr", "7.1.0")


@pytest.mark.parametrize("payload", [b"", b"~00000002~", b"\x06\x05\x00ab", CONTEXT.encode(Get(KEY)) * 2])
@pytest.mark.parametrize("mutant", ["legal-events-01-00", "legal-events-refused"])
def test_an_event_of_no_request_may_be_answered_in_any_way(mutant: str, payload: bytes) -> None:
    play = played(CONTEXT, script(Insert(7, 4, 30, KEY), Event(b"c", payload), Query(KEY)), mutant)

    assert list(judged(play)) == []


def test_what_comes_behind_an_answered_event_is_still_judged() -> None:
    play = played(CONTEXT, script(Event(b"c", b""), Insert(700, 4, 30, KEY), Query(KEY)), "quota-low-byte")

    (line, *_) = lines(play.trace, CONTEXT)
    assert line.asks_what_is_optional
    assert [one.oracle for one in judged(play)] == ["answers agree with the model"]


def test_a_record_without_any_time_left_may_be_seen_within_the_tolerance() -> None:
    play = played(CONTEXT, script(Insert(7, 6, 100, KEY), Update(1, 0, 0, KEY), Purge(KEY)), "legal-expiry-200-ms-late")

    assert list(judged(play)) == []


def asked(ttl_type: int, *requests: object) -> Script:
    """Insert a record of one unit, and send requests later."""
    wrote = (Write("a", CONTEXT.encode(one)) for one in requests)  # type: ignore[arg-type]
    return (*script(Insert(7, ttl_type, 1, KEY)), Sleep(0.01), *wrote, Read("a", 0.02))


def test_a_record_that_expired_may_be_seen_again_within_the_tolerance() -> None:
    """Each request of its own looks whether a record has expired: one may see it gone, and the next one still there."""
    play = played(CONTEXT, asked(3, Update(1, 0, 0, KEY), Purge(KEY)), "legal-expiry-200-ms-late")

    (line, *_) = lines(play.trace, CONTEXT)
    assert [getattr(reply, "ok", None) for _, reply in line.answered] == [True, False, True]
    assert list(judged(play)) == []


def test_a_record_that_cannot_have_expired_is_not_seen_again() -> None:
    model = CONTEXT.model
    assert model is not None
    (state,) = model.step(model.initial, Insert(7, 4, 30, KEY), Status(True))

    assert not model.may_be_seen_again(state, Query(KEY), Status(False), 29 * 10**9)
    assert model.may_be_seen_again(state, Query(KEY), Status(False), 31 * 10**9)
    assert not model.may_be_seen_again(state, Update(0, 2, 8, KEY), Status(False), 31 * 10**9)


@pytest.mark.parametrize(
    "mutant", [pytest.param(one, marks=() if "event" in one else pytest.mark.nightly) for one in LEGAL]
)
def test_a_conforming_variant_is_no_finding(mutant: str) -> None:
    assert first_suspicion(CONTEXT, 150 if "event" in mutant else 60, mutant=mutant) is None
