"""The faults of the PSRT SDK: each is tied to clauses that there are, and is not what the SDK is."""

from __future__ import annotations

import pytest
import yaml

from tests.mutants.each import check_each
from tests.places import ROOT
from wireproof.mutants.mutant import ClientMutant
from wireproof.mutants.psrt.client import MUTANTS
from wireproof.mutants.registry import client_mutants, mutant_client
from wireproof.reference_client.driver import Driver
from wireproof.reference_client.psrt import Client

CLAUSES = ROOT / "vectors/psrt/clauses.yaml"


def test_there_are_enough_of_them_and_each_breaks_clauses_that_there_are() -> None:
    known = {one["id"] for one in yaml.load(CLAUSES.read_text(), yaml.CSafeLoader)["clauses"]}
    broken = {clause for one in MUTANTS.values() for clause in one.clauses}

    assert client_mutants("psrt") is MUTANTS
    assert len(MUTANTS) >= 30
    assert all(one.clauses for one in MUTANTS.values())
    assert broken <= known
    assert {f"PSRT-CLIENT-{number}" for number in range(1, 21)} <= broken


def test_each_is_the_client_with_something_else() -> None:
    check_each(MUTANTS.values(), _is_another_client)


def _is_another_client(mutant: ClientMutant) -> None:
    wrong = mutant_client("psrt", mutant.name)

    assert wrong.__name__ == "Client"
    assert wrong is not Client
    Driver("psrt", print, client_class=wrong)


def test_an_unknown_one_is_reported_with_those_like_it() -> None:
    with pytest.raises(ValueError, match="did you mean no-pings"):
        mutant_client("psrt", "no-ping")
