"""Who else uses a target now is asked, and what depends on it is unsupported then, not failed."""

from __future__ import annotations

import asyncio

import pytest

from tests.conformance import servers
from wireproof.conformance.model.targets import Address
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.run.momentary_features import momentary_features
from wireproof.conformance.run.plan import Plan, Settings
from wireproof.conformance.run.probe import Spoken
from wireproof.conformance.run.runner import play_all
from wireproof.conformance.run.selection import select
from wireproof.conformance.suite.cases import load_suite
from wireproof.conformance.verdict.records import Record, Run
from wireproof.reference_client.psrt import Client

SUITE, SPOKEN = load_suite("psrt"), Spoken("1", "standard")
DECLARED = frozenset({"accounts", "replication"})
NOBODY = ("replication/nobody-subscribed", "replication/goes-on")

pytestmark = pytest.mark.usefixtures("no_waits")


def asked(mask: bytes, declared: frozenset[str] = DECLARED) -> frozenset[str]:
    async def main() -> frozenset[str]:
        async with (
            servers.reference_of("psrt", "1") as address,
            Client.connect(address.host, address.port) as other,
        ):
            await other.subscribe(mask)
            return await momentary_features(SUITE, address, SPOKEN, declared, 2.0)

    return asyncio.run(main())


def test_a_target_has_it_while_nobody_else_hears_every_topic() -> None:
    assert asked(b"mine/#") == {"unheard"}


@pytest.mark.parametrize("mask", [b"#", b"+/#"])
def test_it_has_not_while_somebody_does(mask: bytes) -> None:
    assert asked(mask) == frozenset()


def test_nobody_is_asked_for_what_is_declared_or_goes_with_what_is_not() -> None:
    assert asked(b"#", DECLARED | {"unheard"}) == frozenset()
    assert asked(b"mine/#", frozenset()) == frozenset()


def test_where_nobody_listens_the_cases_say_so() -> None:
    there = asyncio.run(momentary_features(SUITE, Address("tcp", "127.0.0.1", 1), SPOKEN, DECLARED, 1.0))
    assert there == {"unheard"}


@pytest.mark.parametrize(("mask", "verdict"), [(b"mine/#", Verdict.PASS), (b"#", Verdict.UNSUPPORTED)])
def test_a_right_server_passes_beside_somebody_who_hears_every_topic(mask: bytes, verdict: Verdict) -> None:
    records: list[Record] = []

    async def main() -> None:
        async with (
            servers.reference_of("psrt", "1") as address,
            Client.connect(address.host, address.port) as other,
        ):
            await other.subscribe(mask)
            has = DECLARED | await momentary_features(SUITE, address, SPOKEN, DECLARED, 2.0)
            cases = select(SUITE, "1", "standard", expression=" or ".join(NOBODY), slow=False, heavy=False)
            plan = Plan(Run("psrt", "1", "standard", "t", "x"), SUITE, cases, Settings(timeout=2.0, features=has))
            await play_all(plan, address, records.append)

    asyncio.run(main())
    assert {one["verdict"] for one in records} == {verdict}
