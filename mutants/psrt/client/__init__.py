"""Mutants of the PSRT SDK, each with the clauses that it breaks; each module lists its own."""

from __future__ import annotations

from collections.abc import Mapping

from wireproof.mutants.mutant import ClientMutant, by_name
from wireproof.mutants.psrt.client import again, carried, messages, sockets

__all__ = ["MUTANTS"]

MUTANTS: Mapping[str, ClientMutant] = by_name(sockets.MUTANTS, messages.MUTANTS, carried.MUTANTS, again.MUTANTS)
"""Name -> mutant, in the order of the modules."""
