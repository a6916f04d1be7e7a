"""Turns an input that breaks an invariant of our own code into a finding: reduced and replayed."""

from __future__ import annotations

import time
from dataclasses import replace

from wireproof.fuzz.coverage_guided import FuzzerResult
from wireproof.fuzz.findings.finding import FuzzFinding
from wireproof.fuzz.findings.shrink import smaller
from wireproof.fuzz.invariants.ending import ENDLESS
from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.fuzz.known_targets import CodeTarget

__all__ = ["broken", "finding_of"]

AGAIN = 3
SHRINK_S = 20.0
"""Seconds after which an input is not reduced any further; one that does not end is not reduced, and replayed once."""


def broken(target: CodeTarget, name: str, data: bytes) -> InvariantError | None:
    """Return the invariant that an input breaks; None for none. An empty input stands for what was recorded."""
    try:
        if not data:
            target.check_recorded(name)
        target.check(name, data)
    except InvariantError as violation:
        return violation
    return None


def finding_of(target: CodeTarget, name: str, result: FuzzerResult, seed: int) -> FuzzFinding:
    """Return the finding of a result of an engine that found something."""
    if result.without_input is not None:
        wrong, described = result.without_input, target.described(name, b"")
        common = name, described.profile, described.variant
        return FuzzFinding(target.name, wrong.invariant, wrong.detail, wrong.shape, *common, seed=seed)
    assert result.crash is not None
    found = broken(target, name, result.crash)
    if found is None:
        described = target.described(name, result.crash)
        detail = result.output.strip().splitlines()[-1:] or ["the process ended"]
        common = name, described.profile, described.variant
        found_here = FuzzFinding(target.name, "the process stays", detail[0], "ended", *common, data=result.crash)
        return replace(found_here, steps=described.steps, seed=seed)

    def same(data: bytes) -> bool:
        other = broken(target, name, data)
        return other is not None and (other.invariant, other.shape) == (found.invariant, found.shape)

    deadline, data, tries = time.monotonic() + SHRINK_S, result.crash, 1
    if found.shape != ENDLESS:
        data, tries = smaller(data, lambda data: time.monotonic() < deadline and same(data)), AGAIN
    again = sum(same(data) for _ in range(tries))
    described = target.described(name, data)
    return FuzzFinding(
        target.name,
        found.invariant,
        str((broken(target, name, data) if data != result.crash else None) or found),
        found.shape,
        name,
        described.profile,
        described.variant,
        data=data,
        steps=described.steps,
        executions=result.progress.executions,
        seed=seed,
    ).rerun(again, tries)
