"""Mutants that fuzzers must find; none yet."""

from __future__ import annotations

from wireproof.mutants.mutant import SeededBug

__all__ = ["SEEDED_BUGS"]

SEEDED_BUGS: tuple[SeededBug, ...] = ()
