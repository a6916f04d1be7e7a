"""The faults of the namechan SDK: each is tied to clauses that there are, and is not what the SDK is."""

from __future__ import annotations

import yaml

from tests.mutants.each import check_each
from tests.places import ROOT
from wireproof.mutants.mutant import ClientMutant
from wireproof.mutants.namechan.client import MUTANTS
from wireproof.mutants.registry import client_mutants, mutant_client
from wireproof.reference_client.driver import Driver
from wireproof.reference_client.namechan import Client

CLAUSES = ROOT / "vectors/namechan/clauses.yaml"


def test_there_are_enough_of_them_and_each_breaks_clauses_that_there_are() -> None:
    known = {one["id"] for one in yaml.load(CLAUSES.read_text(), yaml.CSafeLoader)["clauses"]}
    broken = {clause for one in MUTANTS.values() for clause in one.clauses}

    assert client_mutants("namechan") is MUTANTS
    assert sum(not one.is_legal for one in MUTANTS.values()) >= 150
    assert broken <= known
    assert {one for one in known if one.startswith("NCH-CLIENT-")} == broken


def test_there_are_conforming_variants_and_each_does_otherwise() -> None:
    assert sum(one.is_legal for one in MUTANTS.values()) >= 9


def test_each_is_the_client_with_something_else() -> None:
    check_each(MUTANTS.values(), _is_another_client)


def _is_another_client(mutant: ClientMutant) -> None:
    wrong = mutant_client("namechan", mutant.name)

    assert wrong.__name__ == "Client"
    assert wrong is not Client
    Driver("namechan", print, client_class=wrong)
