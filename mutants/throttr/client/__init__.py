"""Mutants of the Throttr SDK, each with the clauses that it breaks; each module lists its own."""

from __future__ import annotations

from collections.abc import Mapping

from wireproof.mutants.mutant import ClientMutant, by_name
from wireproof.mutants.throttr.client import replies, requests, streams

__all__ = ["MUTANTS"]


MUTANTS: Mapping[str, ClientMutant] = by_name(requests.MUTANTS, replies.MUTANTS, streams.MUTANTS)
"""Name -> mutant, in the order of the modules."""
