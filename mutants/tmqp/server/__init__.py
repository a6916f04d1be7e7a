"""Mutants of the TMQP server, each with the clauses that it breaks, and conforming variants, which break none.

One module for each theme; each lists its own in `MUTANTS` (or `CONFORMING`).
"""

from __future__ import annotations

from collections.abc import Mapping

from wireproof.mutants.mutant import by_name
from wireproof.mutants.tmqp.server import (
    again,
    conforming,
    frames,
    links,
    mixed,
    operations,
    options,
    planted,
    queues,
    rules,
    slow,
    walked,
    waste,
)
from wireproof.mutants.tmqp.server.mutant import ServerMutant

__all__ = ["DEMONSTRATION", "MUTANTS", "ServerMutant"]

DEMONSTRATION = ("headers-once", "newest-first")
"""The two that a demonstration shows."""

MUTANTS: Mapping[str, ServerMutant] = by_name(
    rules.MUTANTS,
    frames.MUTANTS,
    operations.MUTANTS,
    queues.MUTANTS,
    options.MUTANTS,
    mixed.MUTANTS,
    again.MUTANTS,
    links.MUTANTS,
    planted.MUTANTS,
    walked.MUTANTS,
    slow.MUTANTS,
    waste.MUTANTS,
    conforming.CONFORMING,
)
"""Name -> mutant or conforming variant."""
