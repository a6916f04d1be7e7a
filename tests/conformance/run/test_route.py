"""What lies between wireproof and a right server is found out, taken into account, and never its fault."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from tests.conformance import servers
from tests.conformance.relays import Line, Relay, relayed
from wireproof.conformance.model.targets import Address
from wireproof.conformance.run.plan import Plan, Settings
from wireproof.conformance.run.probe import Spoken
from wireproof.conformance.run.route import UNMEASURED, Route, measured, served_at_once
from wireproof.conformance.run.runner import play_all
from wireproof.conformance.run.segmentation_sample import SegmentationChoice
from wireproof.conformance.run.selection import select
from wireproof.conformance.suite.cases import load_suite
from wireproof.conformance.verdict.records import Record, Run
from wireproof.reference_server.throttr.server_requests import ServerRequests

pytestmark = pytest.mark.usefixtures("no_waits")

SUITE = load_suite("throttr")
SPOKEN = Spoken("7.3.2", "uint16")
MOST = 14
FAR = 0.08
Verdicts = dict[str, str]


async def behind(line: Line, then: Callable[[Address, Relay], Awaitable[Any]], mutant: str | None = None) -> Any:
    async with (
        servers.reference(SPOKEN.profile, SPOKEN.variant, mutant) as address,
        relayed(address, line) as (before, relay),
    ):
        return await then(before, relay)


async def route_to(address: Address) -> Route:
    return await measured(SUITE, address, SPOKEN, 5.0, MOST, ask=True)


def route_behind(line: Line, mutant: str | None = None) -> Route:
    return asyncio.run(behind(line, lambda address, _: route_to(address), mutant))


def shown_as_it_is(port: int) -> int:
    return port


def with_its_bytes_swapped(port: int) -> int:
    return int.from_bytes(port.to_bytes(2, "little"), "big")


def always_the_same(port: int) -> int:
    return 13579


@pytest.mark.parametrize("shown", [shown_as_it_is, with_its_bytes_swapped, always_the_same])
def test_nothing_is_between_where_a_server_is_asked_directly_not_even_if_it_names_a_wrong_port(
    monkeypatch: pytest.MonkeyPatch, shown: Callable[[int], int]
) -> None:
    async def main() -> Route:
        async with servers.reference(SPOKEN.profile, SPOKEN.variant) as address:
            return await route_to(address)

    right = ServerRequests._row
    monkeypatch.setattr(
        ServerRequests,
        "_row",
        lambda self, session: msgspec.structs.replace(row := right(self, session), port=shown(row.port)),
    )

    assert asyncio.run(main()) == UNMEASURED


def test_a_proxy_is_known_by_the_port_that_the_server_sees() -> None:
    found = route_behind(Line())

    assert found.proxy.startswith("it sees 127.0.0.1 port ")
    assert "--feature direct" in found.notes[0]


def test_a_proxy_is_known_although_the_port_of_the_first_connection_belongs_to_others_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The system shares a port among connections to several places; such a one cannot be bound again."""
    first, ours, seen = 40000, "127.0.0.1", iter(range(50000, 50010))

    async def asked(*_: Any) -> tuple[tuple[str, int], tuple[str, int]] | None:
        local = _[-1]
        if local == (ours, first):
            return None
        return (ours, first if local is None else local[1] or first + 1), ("", next(seen))

    monkeypatch.setattr("wireproof.conformance.run.route._seen", asked)

    assert route_behind(Line()).proxy.startswith("it sees us port 50000")


def test_a_long_round_trip_is_measured() -> None:
    found = route_behind(Line(rtt=FAR))

    assert FAR <= found.round_trip < 10 * FAR
    assert "bounds on time include it" in found.notes[0]


@pytest.mark.parametrize("over", ["reset", "close"])
def test_how_many_connections_a_target_serves_is_counted(over: str) -> None:
    found = route_behind(Line(most=10, over=over))

    assert found.at_once == 10
    assert "10 connections at a time" in found.notes[-1]


def test_connections_that_wait_for_others_to_end_are_not_served() -> None:
    """A server with as many threads takes the others and answers them later."""

    async def few(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with threads:
            while await reader.read(65536):
                writer.write(b"\0")
        writer.close()

    async def main() -> int:
        async with servers.serving(few) as address:
            return await served_at_once(SUITE, address, SPOKEN, 6, 0.0)

    threads = asyncio.Semaphore(3)

    assert asyncio.run(main()) == 3


def test_a_target_that_does_not_answer_has_no_route() -> None:
    async def main() -> Route:
        async with servers.serving(servers.closes) as address:
            return await route_to(address)

    assert asyncio.run(main()) == UNMEASURED


async def verdicts(address: Address, expression: str, route: Route, **settings: Any) -> Verdicts:
    """Play a selection on such a way; return case -> verdict."""
    features = frozenset() if route.proxy else frozenset({"direct"})
    run = Run("throttr", SPOKEN.profile, SPOKEN.variant, "t", "x")
    plan = Plan(run, SUITE, (), Settings(jobs=32, features=features, route=route, **settings))
    plan.cases = select(SUITE, SPOKEN.profile, SPOKEN.variant, expression=expression, slow=False, heavy=False)
    found: list[Record] = []
    await play_all(plan, address, found.append)
    return {f"{one['case']} {one['delivery']}": one["verdict"] for one in found}


def played(line: Line, expression: str, mutant: str | None = None) -> Verdicts:
    async def then(address: Address, _: Relay) -> Verdicts:
        return await verdicts(address, expression, await route_to(address))

    found: Verdicts = asyncio.run(behind(line, then, mutant))
    return found


PORTS = "connections/port or connections/kind-of-stream or connections/pairs-74ab8db4 or connections/pairs-47184f4b"


def test_through_a_proxy_the_port_alone_is_not_judged() -> None:
    assert played(Line(), PORTS) == {
        "connections/port whole": "unsupported",
        "connections/kind-of-stream whole": "pass",
        "connections/pairs-74ab8db4 whole": "pass",
        "connections/pairs-47184f4b whole": "pass",
    }


FAR_CASES = "expiry/never-early.2 or expiry/query or channels/unknown or pressure/hundreds-at-once"


def test_far_away_a_right_server_passes_and_what_takes_too_long_is_not_asked() -> None:
    found = played(Line(rtt=FAR), FAR_CASES)

    assert found.pop("pressure/hundreds-at-once whole") == "unsupported"
    assert set(found.values()) == {"pass"}


@pytest.mark.parametrize("line", [Line(rtt=FAR), Line(most=10)], ids=["far", "narrow"])
def test_a_wrong_server_fails_however_it_is_reached(line: Line) -> None:
    found = played(line, "query/quota or query/fields", "quota-low-byte")

    assert "fail" in found.values()


MANY = "info/k or fragment/many-connections or connections/id or push/to or concurrency/counter"


@pytest.mark.parametrize("over", ["reset", "close"])
def test_where_few_are_served_no_more_are_open(over: str) -> None:
    async def then(address: Address, relay: Relay) -> tuple[Verdicts, int]:
        route = await route_to(address)
        before = relay.turned_away
        return await verdicts(address, MANY, route), relay.turned_away - before

    found, turned_away = asyncio.run(behind(Line(most=10, over=over), then))

    assert found.pop("fragment/many-connections whole") == "unsupported"
    assert set(found.values()) <= {"pass", "unsupported"}
    assert turned_away == 0


@pytest.mark.nightly
def test_a_case_with_more_connections_than_were_asked_for_finds_the_limit_itself() -> None:
    async def then(address: Address, _: Relay) -> Verdicts:
        return await verdicts(address, "pressure/events-around-nonsense", replace(await route_to(address), proxy="x"))

    found = asyncio.run(behind(Line(most=60), then))

    assert set(found.values()) == {"unsupported"}


@pytest.mark.parametrize("away", [0.0, 0.5])
def test_a_target_that_is_restarted_in_mid_run_loses_nothing(away: float) -> None:
    async def then(address: Address, relay: Relay) -> Verdicts:
        playing = asyncio.create_task(verdicts(address, RESTARTED, route, segmentations=SegmentationChoice()))
        await asyncio.sleep(0.3)
        relay.down()
        await asyncio.sleep(away)
        await relay.up()
        return await playing

    route = Route(proxy="a relay")
    found = asyncio.run(behind(Line(), then))

    assert len(found) > 20
    assert set(found.values()) <= {"pass", "unsupported"}


RESTARTED = "expiry/get or expiry/query or expiry/stat or expiry/list or query/ and not pairs"
