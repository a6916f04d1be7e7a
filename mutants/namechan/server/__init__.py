"""Mutants of the namechan server, each with the clauses that it breaks, and conforming variants, which break none.

One module for each theme; each lists its own in `MUTANTS` (or `CONFORMING`).
"""

from __future__ import annotations

from collections.abc import Mapping

from wireproof.mutants.mutant import by_name
from wireproof.mutants.namechan.server import conforming, lines, queues, sessions, waste
from wireproof.mutants.namechan.server.mutant import ServerMutant

__all__ = ["DEMONSTRATION", "MUTANTS", "ServerMutant"]

DEMONSTRATION = ("ids-from-zero", "block-comments-do-not-nest")
"""The two that a demonstration shows."""

MUTANTS: Mapping[str, ServerMutant] = by_name(
    lines.MUTANTS, sessions.MUTANTS, queues.MUTANTS, waste.MUTANTS, conforming.CONFORMING
)
"""Name -> mutant or conforming variant."""
