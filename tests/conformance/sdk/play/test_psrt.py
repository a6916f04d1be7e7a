"""The cases for PSRT's SDKs: the reference client passes them, wrong clients do not, and nothing is left out."""

from __future__ import annotations

import asyncio
import json

import pytest

from wireproof.conformance.mutation.clients import ClientMutationRun, InProcessTransport
from wireproof.conformance.run.selection import select
from wireproof.conformance.sdk.driver_process import DriverProcess
from wireproof.conformance.sdk.play.sdk_run import SdkPlan, play_cases
from wireproof.conformance.sdk.play.sdk_suite import load_sdk_suite
from wireproof.conformance.suite.sdk_steps import blamed_by
from wireproof.conformance.suite.written import as_written
from wireproof.conformance.verdict.records import Record, Run
from wireproof.mutants.registry import client_mutants
from wireproof.protocols import protocol
from wireproof.protocols.plain import Plain
from wireproof.reference_client.driver import Driver

SUITE = load_sdk_suite("psrt")
CHECK = ClientMutationRun("psrt", "1", "standard")
QUICK = (
    "any-version",
    "any-certificate",
    "same-nonce",
    "second-data-socket",
    "beacons-answered",
    "length-in-characters",
)


async def played(expression: str, profile: str) -> list[Record]:
    found: list[Record] = []
    cases = select(SUITE, profile, "standard", expression=expression, slow=False)
    run = Run("psrt", profile, "standard", "reference", "reference", role="client")
    endpoints = InProcessTransport(lambda say: Driver("psrt", say))
    async with DriverProcess(endpoints, deadline=10.0) as driver:
        await driver.start()
        await play_cases(SdkPlan(run, SUITE, cases, 10.0), driver, lambda record, outcome: found.append(record))
    return found


@pytest.mark.parametrize("profile", list(protocol("psrt").profiles))
@pytest.mark.parametrize(
    "expression",
    [
        "sdk-open and not timeout",
        "sdk-tls",
        "sdk-publish or sdk-subscribe or sdk-unsubscribe or sdk-bye or sdk-repl",
        "sdk-answer and not none",
        "(sdk-datagram or sdk-sealed) and not (no-answer or wrong-answer)",
        "sdk-message and not slow",
        "(sdk-beacon or sdk-lost or sdk-broken) and not (keep-up or silent)",
    ],
)
def test_the_reference_client_passes(expression: str, profile: str) -> None:
    found = asyncio.run(played(expression, profile))

    assert [(one["case"], one["expected"], one["got"]) for one in found if one["verdict"] != "pass"] == []


@pytest.mark.parametrize("name", QUICK)
def test_a_wrong_client_is_found_out_by_a_clause_that_it_breaks(name: str) -> None:
    result = CHECK.result(client_mutants("psrt")[name])

    assert (result.blamed in client_mutants("psrt")[name].clauses) is True, result.others


def test_every_clause_about_clients_has_a_case() -> None:
    cited = {one for case in SUITE.cases for one in case.clauses}
    cited |= {one for case in SUITE.cases for step in case.script for one in blamed_by(step)}

    assert [one for one, clause in SUITE.clauses.items() if clause.group == "CLIENT" and one not in cited] == []


@pytest.mark.parametrize("operation", list(Plain(protocol("psrt"), "1", "standard").operations))
def test_every_operation_has_a_case_that_asks_for_it(operation: str) -> None:
    detail = json.dumps([[as_written(case.script), dict(case.variables)] for case in SUITE.cases])

    assert f'"{operation.upper()}"' in detail
