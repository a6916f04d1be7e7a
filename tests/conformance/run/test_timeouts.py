"""Time-outs that nobody declared are found once a case that waits for one fails; a fault is not taken for one."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from tests.conformance import servers
from wireproof.conformance.model.targets import Address
from wireproof.conformance.run.plan import Plan, Settings
from wireproof.conformance.run.runner import play_all
from wireproof.conformance.run.selection import select
from wireproof.conformance.run.timeouts import measured_timeout
from wireproof.conformance.suite.cases import load_suite
from wireproof.conformance.suite.declared import UNSUPPORTED, Parameter
from wireproof.conformance.verdict.records import Record, Run

pytestmark = pytest.mark.usefixtures("no_waits")

SUITE = load_suite("psrt")
CASE = "timeout/silent-control"
PLACES = {"most": 2, "behind": ["", "eeaa", "eeaa000100000000"]}


def times(*seconds: float) -> servers.Handle:
    """Return what closes a connection after as many bytes as come in pieces of two, each after its seconds."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            sent = await asyncio.wait_for(reader.read(100), 0.1)
        except TimeoutError:
            sent = b""
        await asyncio.sleep(seconds[len(sent) // 2 % len(seconds)] - (0 if sent else 0.1))
        writer.close()

    return serve


def measured(assumed: float, *seconds: float) -> float | None:
    async def main() -> float | None:
        async with servers.serving(times(*seconds)) as address:
            return await measured_timeout(address, PLACES, assumed)

    return asyncio.run(main())


@pytest.mark.parametrize(("seconds", "found"), [((1.0,), 1.0), ((0.7,), 0.7), ((1.0, 1.2), 1.0)])
def test_a_time_out_that_all_places_show_is_found(seconds: tuple[float, ...], found: float) -> None:
    assert measured(5.0, *seconds) == pytest.approx(found, abs=0.1)


@pytest.mark.parametrize("seconds", [(1.0, 1.7), (5.0,), (0.7, 1.0)], ids=["they differ", "too long", "one as assumed"])
def test_anything_else_is_no_time_out(seconds: tuple[float, ...]) -> None:
    assert measured(1.3, *seconds) is None


def test_nobody_listens() -> None:
    assert asyncio.run(measured_timeout(Address("tcp", "127.0.0.1", 1), PLACES, 5.0)) is None


def played(assumed: Parameter, own: float, *, declared: bool = False) -> tuple[dict[str, str], list[str]]:
    """Play a case that waits on a server with a time-out of its `own`; return verdicts and what the user is told."""

    async def main() -> None:
        async with servers.psrt({"TIMEOUT": own}) as address:
            await play_all(plan, address, records.append)

    suite = replace(SUITE, parameters={**SUITE.parameters, "TIMEOUT": assumed})
    undeclared = frozenset() if declared else frozenset({"TIMEOUT"})
    settings = Settings(parameters={"TIMEOUT": assumed.value, "TOLERANCE": 0.25}, undeclared=undeclared)
    plan = Plan(Run("psrt", "1", "standard", "t", "x"), suite, (), settings)
    plan.cases = select(suite, "1", "standard", expression=CASE)
    reported: list[str] = []
    records: list[Record] = []
    plan.notify = reported.append
    asyncio.run(main())
    return {str(one["case"]): str(one["verdict"]) for one in records if one["delivery"] == "whole"}, reported


def test_a_right_server_passes_that_waits_for_longer_than_is_assumed() -> None:
    verdicts, reported = played(Parameter(1, "Seconds."), 3.0)

    assert set(verdicts.values()) == {"pass"}
    assert [one.partition(";")[0] for one in reported] == [
        "a time-out of the target, found by waiting: TIMEOUT=3 (1 is assumed)"
    ]


def test_what_was_declared_is_judged() -> None:
    verdicts, reported = played(Parameter(1, "Seconds."), 3.0, declared=True)

    assert "fail" in verdicts.values()
    assert reported == []


def test_what_nobody_waits_for_is_unsupported_where_no_document_bounds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SUITE.probe["timeouts"]["TIMEOUT"], "most", 1)
    verdicts, _ = played(Parameter(1, "Seconds of silence.", undeclared=UNSUPPORTED), 30.0)

    assert set(verdicts.values()) == {"unsupported"}
