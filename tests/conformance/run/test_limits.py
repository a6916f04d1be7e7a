"""The limits of a target that nobody declared are found out; a fault is not taken for a limit."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.conformance import servers
from wireproof.conformance.model.targets import Address
from wireproof.conformance.run import limits
from wireproof.conformance.run.limits import MeasuredLimits, largest_accepted, measured_limits
from wireproof.conformance.run.probe import Spoken
from wireproof.conformance.suite.cases import load_suite

pytestmark = pytest.mark.usefixtures("no_waits")

SUITE = load_suite("psrt")
ASSUMED = {name: one.value for name, one in SUITE.parameters.items()}
ASKED = SUITE.probe["limits"]["ask"]
NOWHERE = Address("tcp", "127.0.0.1", 1)
MUTANTS = (
    "depth-counts-levels",
    "depth-before-normalising",
    "limit-of-subscribe-one-more",
    "limit-of-unsubscribe-one-more",
)


@pytest.mark.parametrize("limit", [1, 2, 15, 16, 17, 31, 32, 1000, 65_535])
def test_the_largest_number_that_is_accepted_is_found(limit: int) -> None:
    async def accepts(number: int) -> bool:
        return number <= limit

    assert asyncio.run(largest_accepted(accepts, 16, 65_536)) == limit


@pytest.mark.parametrize("limit", [0, 65_536, 70_000])
def test_where_all_or_nothing_is_accepted_there_is_no_limit(limit: int) -> None:
    async def accepts(number: int) -> bool:
        return number <= limit

    assert asyncio.run(largest_accepted(accepts, 16, 65_536)) is None


def found(parameters: dict[str, float], mutant: str | None = None) -> dict[str, int]:
    async def ask() -> dict[str, int]:
        async with servers.psrt(parameters, mutant) as address:
            return (await measured_limits(SUITE, address, Spoken("1", "standard"), 5.0, ASSUMED, 0.0)).found

    return asyncio.run(ask())


def test_what_a_target_has_beside_what_is_assumed_is_found() -> None:
    own = {"MAX_TOPIC_DEPTH": 7, "MAX_TOPIC_LENGTH": 1000, "MAX_PUB_SIZE": 150}

    assert found({}) == {}
    assert found(own) == own
    assert found({"MAX_TOPIC_DEPTH": 1}) == {"MAX_TOPIC_DEPTH": 1}


def test_a_limit_that_is_missed_by_one_is_a_fault() -> None:
    assert found({"MAX_TOPIC_DEPTH": 4, "MAX_TOPIC_LENGTH": 63}) == {}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_fault_in_one_request_is_no_limit(mutant: str) -> None:
    assert found({}, mutant) == {}


def test_a_target_that_ended_is_not_asked() -> None:
    async def ask() -> MeasuredLimits:
        async with servers.psrt({"MAX_TOPIC_DEPTH": 7}) as address:
            spoken = Spoken("1", "standard")
            return await measured_limits(SUITE, address, spoken, 5.0, ASSUMED, 0.0, alive=lambda: False)

    assert asyncio.run(ask()) == ({}, tuple(ASKED))


@pytest.mark.parametrize(("at_once", "most"), [(None, 7), (6, 3), (1, 1)])
def test_fewer_requests_are_asked_beside_one_another_than_the_target_serves(
    monkeypatch: pytest.MonkeyPatch, at_once: int | None, most: int
) -> None:
    beside, peak = 0, 0

    async def is_accepted(*question: Any) -> bool:
        nonlocal beside, peak
        beside, peak = beside + 1, max(peak, beside + 1)
        await asyncio.sleep(0)
        beside -= 1
        return int(question[-1]) <= 1000

    monkeypatch.setattr(limits, "_is_accepted", is_accepted)
    asking = measured_limits(SUITE, NOWHERE, Spoken("1", "standard"), 5.0, ASSUMED, 0.2, at_once=at_once)

    assert asyncio.run(asking).found == dict.fromkeys(ASKED, 1000)
    assert peak == most


@pytest.mark.parametrize(("at_once", "right"), [(10, True), (None, False)])
def test_what_a_target_of_few_connections_refuses_is_asked_again(
    monkeypatch: pytest.MonkeyPatch, at_once: int | None, *, right: bool
) -> None:
    """Every other question meets a target that still counts a connection which has closed."""
    asked = dict[str, int]()

    async def is_accepted(*question: Any) -> bool:
        asked[str(question[4:])] = count = asked.get(str(question[4:]), 0) + 1
        return count > 1 and int(question[-1]) <= 1000

    monkeypatch.setattr(limits, "_is_accepted", is_accepted)
    monkeypatch.setattr(limits, "SETTLE", 0.0)
    asking = measured_limits(SUITE, NOWHERE, Spoken("1", "standard"), 5.0, ASSUMED, 0.0, at_once=at_once)

    assert (asyncio.run(asking).found == dict.fromkeys(ASKED, 1000)) is right


def test_what_there_was_no_time_to_find_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST", -1.0)
    asking = measured_limits(SUITE, NOWHERE, Spoken("1", "standard"), 5.0, ASSUMED, 0.0)

    assert asyncio.run(asking) == ({}, tuple(ASKED))
