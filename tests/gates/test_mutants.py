"""Every mutant of some combinations is killed, no conforming variant fails; the others are nightly (tox.ini)."""

from __future__ import annotations

import pytest

from tests.gates.conftest import Passes

SERVERS = ["throttr 7.3.2 uint64", "psrt 1", "psrt psrtd-0.3", "tmqp doc", "tmqp twino-3.0.0", "namechan 1"]


@pytest.mark.parametrize("combination", SERVERS)
def test_the_cases_kill_every_mutant_of_a_server(combination: str, passes: Passes) -> None:
    passes("wireproof", "mutation", *options(combination), "--gate")


def test_the_cases_kill_every_mutant_of_a_client(passes: Passes) -> None:
    passes("wireproof", "mutation", *options("throttr 7.3.2 uint64"), "--role", "client")


def options(combination: str) -> list[str]:
    protocol, profile, *variant = combination.split()
    return [protocol, "--profile", profile, *(word for one in variant for word in ("--variant", one))]
