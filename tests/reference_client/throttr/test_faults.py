"""The faults of the reference client: each is tied to clauses that there are, and drives as the client does."""

from __future__ import annotations

import pytest

from conformance.cases import load_suite
from reference_client.driver import Driver
from reference_client.registry import client_class, client_faults
from reference_client.throttr import Client

FAULTS = client_faults("throttr")


def test_there_are_enough_of_them_and_each_breaks_clauses_that_there_are() -> None:
    known = load_suite("throttr").clauses

    assert len(FAULTS) >= 40
    assert all(one.clauses for one in FAULTS.values())
    assert {clause for one in FAULTS.values() for clause in one.clauses} <= known.keys()


@pytest.mark.parametrize("name", FAULTS)
def test_each_is_the_client_with_something_else(name: str) -> None:
    wrong = client_class("throttr", name)

    assert issubclass(wrong, Client)
    assert wrong is not Client
    Driver("throttr", print, fault=name)


def test_an_unknown_one_is_told_with_those_like_it() -> None:
    with pytest.raises(ValueError, match="perhaps pushes-twice"):
        client_class("throttr", "push-twice")
