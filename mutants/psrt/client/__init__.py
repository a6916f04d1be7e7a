"""SDKs that depart from the reference on purpose, each tied to the clauses it breaks; each module lists its own."""

from __future__ import annotations

from collections.abc import Mapping

from wireproof.mutants.mutant import ClientMutant, by_name
from wireproof.mutants.psrt.client import answers, control, data, requests

__all__ = ["MUTANTS"]

MUTANTS: Mapping[str, ClientMutant] = by_name(control.MUTANTS, answers.MUTANTS, data.MUTANTS, requests.MUTANTS)
"""Name -> fault, in the order of the modules."""
