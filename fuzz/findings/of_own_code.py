"""An input that breaks an invariant of our own code, as a finding: as small as it gets, and seen again."""

from __future__ import annotations

from wireproof.fuzz.coverage_guided import Result
from wireproof.fuzz.findings.finding import Finding
from wireproof.fuzz.findings.shrink import smaller
from wireproof.fuzz.invariants.invariant_error import Violation
from wireproof.fuzz.known_targets import Target
from wireproof.protocols import protocol

__all__ = ["broken", "finding_of"]

AGAIN = 3


def broken(target: Target, name: str, data: bytes) -> Violation | None:
    """Return what an input breaks; None when nothing."""
    try:
        target.check(name, data)
    except Violation as violation:
        return violation
    return None


def finding_of(target: Target, name: str, result: Result, seed: int) -> Finding:
    """Return what an engine found; its result must hold an input."""
    assert result.crash is not None
    found = broken(target, name, result.crash)
    spoken = protocol(name)
    common = (name, spoken.default_profile, spoken.default_variant)
    if found is None:
        told = result.output.strip().splitlines()[-1:] or ["the process ended"]
        return Finding(target.name, "the process stays", told[0], "ended", *common, data=result.crash)

    def same(data: bytes) -> bool:
        other = broken(target, name, data)
        return other is not None and (other.invariant, other.shape) == (found.invariant, found.shape)

    data = smaller(result.crash, same)
    again = sum(same(data) for _ in range(AGAIN))
    return Finding(
        target.name,
        found.invariant,
        str(broken(target, name, data) or found),
        found.shape,
        *common,
        data=data,
        executions=result.progress.executions,
        seed=seed,
    ).rerun(again, AGAIN)
