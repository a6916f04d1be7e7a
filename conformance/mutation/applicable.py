"""Under which profiles and variants a mutant differs from the reference server."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from wireproof.conformance.suite.cases import Suite
from wireproof.mutants.mutant import Mutant

__all__ = ["applicable", "profiles_of"]


def profiles_of(one: Mutant, suite: Suite, known: Sequence[str]) -> list[str]:
    """Return the profiles in which a mutant differs: its own, else those of its first clause, else all `known`."""
    if one.profiles or not one.clauses:
        return list(one.profiles or known)
    return list(suite.clauses[one.clauses[0]].levels)


def applicable(server_mutants: Iterable[Mutant], suite: Suite, profile: str, variant: str) -> list[Mutant]:
    """Return the mutants that differ under a profile and variant, those that need a process of their own too."""
    return [
        one
        for one in server_mutants
        if profile in profiles_of(one, suite, [profile]) and (not one.variants or variant in one.variants)
    ]
