"""The servers that are wrong only in a crowd: each is failed by the concurrency cases, for the clause it breaks."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.cases import Case, load_suite
from conformance.delivery import DELIVERIES
from conformance.outcome import Outcome
from conformance.player import Player
from conformance.selection import applicable
from conformance.simulation import SimulationDriver
from conformance.symbols import Symbols
from conformance.verdicts import Verdict
from protocols import protocol
from reference_server.registry import create_service, model_of
from reference_server.service import seeded_ids
from reference_server.throttr.faults import Fault
from reference_server.throttr.faults.concurrency import FAULTS
from tests.reference_server.throttr.simulated import TCP, Client, Server
from tests.reference_server.throttr.test_model import requests

SPOKEN = [("7.1.0", "uint8"), ("7.3.2", "uint32")]
WRONG = [fault for fault in FAULTS if not fault.is_legal]
LEGAL = [fault for fault in FAULTS if fault.is_legal]


def cases(profile: str, variant: str) -> list[Case]:
    suite = load_suite("throttr")
    return [one for one in applicable(suite, profile, variant) if one.topic == "concurrency" and not one.heavy]


@cache
def outcomes(fault: str | None, profile: str, variant: str) -> list[Outcome]:
    def play(case: Case) -> Outcome:
        symbols = Symbols(protocol("throttr"), profile, variant, case=case.id, namespace="t", variables=case.variables)
        driver = SimulationDriver(
            lambda clock: create_service(
                "throttr", profile=profile, variant=variant, clock=clock, ids=seeded_ids(1), fault=fault
            )
        )
        return driver.play(Player(case, symbols, delivery=DELIVERIES["whole"]))

    return [play(case) for case in cases(profile, variant)]


@pytest.mark.parametrize(("profile", "variant"), SPOKEN)
@pytest.mark.parametrize("fault", [None, *(one.name for one in LEGAL)])
def test_a_legal_server_passes_every_case(fault: str | None, profile: str, variant: str) -> None:
    assert [one.verdict for one in outcomes(fault, profile, variant)] == [Verdict.PASS] * len(cases(profile, variant))


@pytest.mark.parametrize(("profile", "variant"), SPOKEN)
@pytest.mark.parametrize("fault", WRONG, ids=lambda one: one.name)
def test_a_wrong_one_fails_for_what_it_breaks(fault: Fault, profile: str, variant: str) -> None:
    found = outcomes(fault.name, profile, variant)
    blamed = [one.blamed for one in found if one.verdict is Verdict.FAIL]

    assert {one.verdict for one in found} <= {Verdict.PASS, Verdict.FAIL}
    assert set(blamed) & set(fault.clauses)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda one: one.name)
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_asked_one_after_another_none_is_wrong(fault: Fault, data: st.DataObject) -> None:
    server = Server("7.3.2")
    server.service = create_service(
        "throttr",
        profile="7.3.2",
        variant="uint16",
        clock=server.clock,
        ids=seeded_ids(7),
        fault=fault.name,
    )
    model = model_of("throttr", profile="7.3.2", variant="uint16")
    client, states = Client(server, TCP), {model.initial}
    for request in data.draw(st.lists(requests(server.maximum), max_size=25)):
        reply = client.ask(request)
        states = {then for state in states for then in model.step(state, request, reply)}

        assert states, f"{request} answered {reply}"
