"""The concurrency cases over real sockets: requests really overlap, the reference passes, mutants do not."""

from __future__ import annotations

import asyncio

import pytest

from tests.conformance import servers
from wireproof.conformance.player.concurrency import HISTORY, drawn
from wireproof.conformance.run.plan import Plan, Settings
from wireproof.conformance.run.runner import play_all
from wireproof.conformance.run.selection import select
from wireproof.conformance.suite.cases import load_suite
from wireproof.conformance.verdict.records import Record, Run

SUITE = load_suite("throttr")
ROUNDS = 5
"""Rounds in which a race must show at least once."""


def played(profile: str, mutant: str | None) -> list[Record]:
    """Return the records of the concurrency cases, side by side."""
    records: list[Record] = []
    cases = select(SUITE, profile, "uint16", expression="concurrency/", heavy=False)
    run = Run("throttr", profile, "uint16", "tcp://127.0.0.1", "x")

    async def go() -> None:
        async with servers.reference(profile, mutant=mutant) as address:
            await play_all(Plan(run, SUITE, cases, Settings()), address, records.append)

    asyncio.run(go())
    return records


@pytest.mark.parametrize("profile", ["7.1.0", "7.3.2"])
def test_the_reference_passes_and_something_was_shown(profile: str) -> None:
    records = played(profile, None)

    assert [one["verdict"] for one in records] == ["pass"] * len(records)
    assert all(" pairs at the same time, " in one["extra"][HISTORY] for one in records)


@pytest.mark.parametrize("mutant", ["decrease-applied-twice", "insert-won-twice", "update-overtaken"])
def test_an_impostor_is_caught_with_a_drawing(mutant: str) -> None:
    """Whether requests overlap within the race's millisecond is up to the machine, so one round may show nothing."""
    rounds = ([one for one in played("7.1.0", mutant) if one["verdict"] == "lenient"] for _ in range(ROUNDS))
    caught = next(filter(None, rounds), [])

    assert caught
    assert all(drawn(one) and one["blamed"].startswith("THR-CONCURRENCY-") for one in caught)
