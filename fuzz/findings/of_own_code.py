"""Turns an input that breaks an invariant of our own code into a finding: reduced and replayed."""

from __future__ import annotations

from wireproof.fuzz.coverage_guided import FuzzerResult
from wireproof.fuzz.findings.finding import FuzzFinding
from wireproof.fuzz.findings.shrink import smaller
from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.fuzz.known_targets import CodeTarget
from wireproof.protocols import protocol

__all__ = ["broken", "finding_of"]

AGAIN = 3


def broken(target: CodeTarget, name: str, data: bytes) -> InvariantError | None:
    """Return the invariant that an input breaks; None for none."""
    try:
        target.check(name, data)
    except InvariantError as violation:
        return violation
    return None


def finding_of(target: CodeTarget, name: str, result: FuzzerResult, seed: int) -> FuzzFinding:
    """Return the finding of a result of an engine; the result must hold an input."""
    assert result.crash is not None
    found = broken(target, name, result.crash)
    spoken = protocol(name)
    common = (name, spoken.default_profile, spoken.default_variant)
    if found is None:
        detail = result.output.strip().splitlines()[-1:] or ["the process ended"]
        return FuzzFinding(target.name, "the process stays", detail[0], "ended", *common, data=result.crash)

    def same(data: bytes) -> bool:
        other = broken(target, name, data)
        return other is not None and (other.invariant, other.shape) == (found.invariant, found.shape)

    data = smaller(result.crash, same)
    again = sum(same(data) for _ in range(AGAIN))
    return FuzzFinding(
        target.name,
        found.invariant,
        str(broken(target, name, data) or found),
        found.shape,
        *common,
        data=data,
        executions=result.progress.executions,
        seed=seed,
    ).rerun(again, AGAIN)
