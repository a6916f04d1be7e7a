"""The faults of the reference client: each is tied to clauses that there are, and drives as the client does."""

from __future__ import annotations

import pytest

from tests.mutants.each import check_each
from wireproof.conformance.suite.cases import load_suite
from wireproof.mutants.mutant import ClientMutant
from wireproof.mutants.registry import client_mutants, mutant_client
from wireproof.reference_client.driver import Driver
from wireproof.reference_client.throttr import Client

MUTANTS = client_mutants("throttr")


def test_there_are_enough_of_them_and_each_breaks_clauses_that_there_are() -> None:
    known = load_suite("throttr").clauses

    assert len(MUTANTS) >= 40
    assert all(one.clauses for one in MUTANTS.values())
    assert {clause for one in MUTANTS.values() for clause in one.clauses} <= known.keys()


def test_each_is_the_client_with_something_else() -> None:
    check_each(MUTANTS.values(), _is_another_client)


def _is_another_client(mutant: ClientMutant) -> None:
    wrong = mutant_client("throttr", mutant.name)

    assert wrong.__name__ == "Client"
    assert wrong is not Client
    Driver("throttr", print, client_class=wrong)


def test_an_unknown_one_is_reported_with_those_like_it() -> None:
    with pytest.raises(ValueError, match="did you mean pushes-twice"):
        mutant_client("throttr", "push-twice")
