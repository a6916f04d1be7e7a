"""The servers that are wrong only in a crowd: each is failed by the concurrency cases, for the clause it breaks."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference_server.throttr.simulated import TCP, Client, Server
from tests.reference_server.throttr.test_model import requests
from wireproof.conformance.drivers.simulation import SimulationDriver
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.player.player import Player
from wireproof.conformance.run.selection import applicable
from wireproof.conformance.suite.cases import Case, load_suite
from wireproof.conformance.suite.segmentation import SEGMENTATIONS
from wireproof.conformance.suite.symbols import Symbols
from wireproof.mutants.registry import server_patch
from wireproof.mutants.throttr.server import ServerMutant
from wireproof.mutants.throttr.server.concurrency import MUTANTS
from wireproof.protocols import protocol
from wireproof.reference_server.registry import create_service, model_of
from wireproof.reference_server.service import seeded_ids

SPOKEN = [("7.1.0", "uint8"), ("7.3.2", "uint32")]
WRONG = [mutant for mutant in MUTANTS if not mutant.is_legal]
LEGAL = [mutant for mutant in MUTANTS if mutant.is_legal]


def cases(profile: str, variant: str) -> list[Case]:
    suite = load_suite("throttr")
    return [one for one in applicable(suite, profile, variant) if one.topic == "concurrency" and not one.heavy]


@cache
def outcomes(mutant: str | None, profile: str, variant: str) -> list[Outcome]:
    def play(case: Case) -> Outcome:
        symbols = Symbols(protocol("throttr"), profile, variant, case=case.id, namespace="t", variables=case.variables)
        driver = SimulationDriver(
            lambda clock: create_service(
                "throttr",
                profile=profile,
                variant=variant,
                clock=clock,
                ids=seeded_ids(1),
                patch=server_patch("throttr", mutant),
            )
        )
        return driver.play(Player(case, symbols, segmentation=SEGMENTATIONS["whole"]))

    return [play(case) for case in cases(profile, variant)]


@pytest.mark.parametrize(("profile", "variant"), SPOKEN)
@pytest.mark.parametrize("mutant", [None, *(one.name for one in LEGAL)])
def test_a_legal_server_passes_every_case(mutant: str | None, profile: str, variant: str) -> None:
    assert [one.verdict for one in outcomes(mutant, profile, variant)] == [Verdict.PASS] * len(cases(profile, variant))


@pytest.mark.parametrize(("profile", "variant"), SPOKEN)
@pytest.mark.parametrize("mutant", WRONG, ids=lambda one: one.name)
def test_a_wrong_one_fails_for_what_it_breaks(mutant: ServerMutant, profile: str, variant: str) -> None:
    found = outcomes(mutant.name, profile, variant)
    blamed = [one.blamed for one in found if one.verdict is Verdict.FAIL]

    assert {one.verdict for one in found} <= {Verdict.PASS, Verdict.FAIL}
    assert set(blamed) & set(mutant.clauses)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda one: one.name)
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_asked_one_after_another_none_is_wrong(mutant: ServerMutant, data: st.DataObject) -> None:
    server = Server("7.3.2")
    server.service = create_service(
        "throttr",
        profile="7.3.2",
        variant="uint16",
        clock=server.clock,
        ids=seeded_ids(7),
        patch=mutant,
    )
    model = model_of("throttr", profile="7.3.2", variant="uint16")
    client, states = Client(server, TCP), {model.initial}
    for request in data.draw(st.lists(requests(server.maximum), max_size=25)):
        reply = client.ask(request)
        states = {then for state in states for then in model.step(state, request, reply)}

        assert states, f"{request} answered {reply}"
