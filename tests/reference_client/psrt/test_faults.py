"""The faults of the PSRT SDK: each is tied to clauses that there are, and is not what the SDK is."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from reference_client.driver import Driver
from reference_client.psrt import Client
from reference_client.psrt.faults import FAULTS
from reference_client.registry import client_class, client_faults

CLAUSES = Path(__file__).parents[3] / "vectors/psrt/clauses.yaml"


def test_there_are_enough_of_them_and_each_breaks_clauses_that_there_are() -> None:
    known = {one["id"] for one in yaml.load(CLAUSES.read_text(), yaml.CSafeLoader)["clauses"]}
    broken = {clause for one in FAULTS.values() for clause in one.clauses}

    assert client_faults("psrt") is FAULTS
    assert len(FAULTS) >= 30
    assert all(one.clauses for one in FAULTS.values())
    assert broken <= known
    assert {f"PSRT-CLIENT-{number}" for number in range(1, 21)} <= broken


@pytest.mark.parametrize("name", FAULTS)
def test_each_is_the_client_with_something_else(name: str) -> None:
    wrong = client_class("psrt", name)

    assert issubclass(wrong, Client)
    assert wrong is not Client
    Driver("psrt", print, fault=name)


def test_an_unknown_one_is_told_with_those_like_it() -> None:
    with pytest.raises(ValueError, match="perhaps no-pings"):
        client_class("psrt", "no-ping")
