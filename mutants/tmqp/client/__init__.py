"""Mutants of the TMQP SDK, each with the clauses that it breaks; each module lists its own."""

from __future__ import annotations

from collections.abc import Mapping

from wireproof.mutants.mutant import ClientMutant, by_name
from wireproof.mutants.tmqp.client import answers, messages, requests, sockets

__all__ = ["MUTANTS"]

MUTANTS: Mapping[str, ClientMutant] = by_name(requests.MUTANTS, answers.MUTANTS, messages.MUTANTS, sockets.MUTANTS)
"""Name -> mutant, in the order of the modules."""
