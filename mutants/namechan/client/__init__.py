"""Mutants of the namechan SDK, each with the clauses that it breaks, and conforming variants; each module lists its own."""

from __future__ import annotations

from collections.abc import Mapping

from wireproof.mutants.mutant import ClientMutant, by_name
from wireproof.mutants.namechan.client import answers, messages, pings, requests, sockets, variants

__all__ = ["MUTANTS"]

MUTANTS: Mapping[str, ClientMutant] = by_name(
    requests.MUTANTS, answers.MUTANTS, messages.MUTANTS, pings.MUTANTS, sockets.MUTANTS, variants.VARIANTS
)
"""Name -> mutant or conforming variant, in the order of the modules."""
