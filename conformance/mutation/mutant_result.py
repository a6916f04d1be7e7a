"""The result of one mutant: which cases it does not pass, and which clause each of them blames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from wireproof.conformance.model.verdict import Verdict
from wireproof.mutants.mutant import Mutant

__all__ = ["RED", "CaseFinding", "MutantResult"]

RED = frozenset({Verdict.FAIL, Verdict.LENIENT, Verdict.CRASH, Verdict.HANG})
"""Verdicts that kill a mutant."""


@dataclass(frozen=True, slots=True)
class CaseFinding:
    """A case whose verdict on a mutant is not that on the reference server."""

    case: str
    verdict: Verdict
    blamed: str | None
    got: str | None
    segmentations: tuple[str, ...] = ()
    """The segmentations that show it, where unsegmented writes do not."""

    @property
    def kills(self) -> bool:
        """Whether the case fails the server."""
        return self.verdict in RED


@dataclass(frozen=True)
class MutantResult:
    """One mutant or conforming variant, and what the cases found; a case not named passed."""

    mutant: Mutant
    findings: Sequence[CaseFinding]
    error: str | None = None
    """Why it could not be run."""

    @cached_property
    def kills(self) -> list[CaseFinding]:
        """The findings that fail the server."""
        return [one for one in self.findings if one.kills]

    @cached_property
    def misblamed(self) -> list[CaseFinding]:
        """The kills that blame a clause the server keeps."""
        return [one for one in self.kills if one.blamed not in self.mutant.clauses]
