"""SDKs that depart from the reference on purpose, each tied to the clauses it breaks; each module lists its own."""

from __future__ import annotations

from collections.abc import Mapping

from wireproof.mutants.mutant import ClientMutant, by_name
from wireproof.mutants.throttr.client import endings, refusals, replies, requests, streams

__all__ = ["MUTANTS"]


MUTANTS: Mapping[str, ClientMutant] = by_name(
    requests.MUTANTS, refusals.MUTANTS, replies.MUTANTS, streams.MUTANTS, endings.MUTANTS
)
"""Name -> fault, in the order of the modules."""
