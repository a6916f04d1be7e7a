"""The derived vectors are what the cases give today; each clause has cases, and no pair of parameters is missing."""

from __future__ import annotations

import pytest

from tests.gates.conftest import Passes
from wireproof.conformance.suite.documents import vectors_root
from wireproof.protocols import protocol_names

COMBINED = [name for name in protocol_names() if (vectors_root() / name / "combinations.yaml").exists()]


def test_derived_vectors_are_what_the_cases_give(passes: Passes) -> None:
    passes("wireproof", "vectors", "check", "--sample", lines=len(protocol_names()))


@pytest.mark.parametrize("protocol", protocol_names())
def test_every_clause_has_cases(protocol: str, passes: Passes) -> None:
    passes("wireproof", "clauses", protocol, "--brief", lines=1)


@pytest.mark.parametrize("protocol", COMBINED)
def test_every_pair_of_parameters_is_covered(protocol: str, passes: Passes) -> None:
    passes("wireproof", "clauses", protocol, "--coverage", lines=1)
