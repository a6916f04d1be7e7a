"""The concurrency cases over real sockets: requests really overlap, the reference passes, impostors do not."""

from __future__ import annotations

import asyncio

import pytest

from conformance.cases import load_suite
from conformance.concurrency import HISTORY, drawn
from conformance.records import Record, Run
from conformance.runner import Plan, Settings, play_all
from conformance.selection import select
from tests.conformance import servers

SUITE = load_suite("throttr")


def played(profile: str, fault: str | None) -> list[Record]:
    """Return the records of the concurrency cases, side by side."""
    records: list[Record] = []
    cases = select(SUITE, profile, "uint16", expression="concurrency/", heavy=False)
    run = Run("throttr", profile, "uint16", "tcp://127.0.0.1", "x")

    async def go() -> None:
        async with servers.reference(profile, fault=fault) as address:
            await play_all(Plan(run, SUITE, cases, Settings()), address, records.append)

    asyncio.run(go())
    return records


@pytest.mark.parametrize("profile", ["7.1.0", "7.3.2"])
def test_the_reference_passes_and_something_was_shown(profile: str) -> None:
    records = played(profile, None)

    assert [one["verdict"] for one in records] == ["pass"] * len(records)
    assert all(" pairs at the same time, " in one["extra"][HISTORY] for one in records)


@pytest.mark.parametrize("fault", ["decrease-applied-twice", "insert-won-twice", "update-overtaken"])
def test_an_impostor_is_caught_with_a_drawing(fault: str) -> None:
    caught = [one for one in played("7.1.0", fault) if one["verdict"] == "lenient"]

    assert caught
    assert all(drawn(one) and one["blamed"].startswith("THR-CONCURRENCY-") for one in caught)
