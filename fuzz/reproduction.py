"""Plays steps again: do they still break an invariant, and with how few of them?"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from wireproof.fuzz.findings.shrink import fewer
from wireproof.fuzz.invariants.invariant_error import InvariantError, unexpected_as_findings
from wireproof.fuzz.invariants.store_invariants import StoreCheck
from wireproof.fuzz.live.canaries import with_fresh_canaries
from wireproof.fuzz.step_failure import Setting, StepFailure
from wireproof.fuzz.store_steps import RequestStep, Step, script_of, steps_of

__all__ = ["SmallestFailure", "play_steps", "smallest"]

REPRODUCTIONS = 3
TRIES = 300


def play_steps(steps: Sequence[Step], setting: Setting) -> StepFailure | None:
    """Play steps on a transport of their own; return the failure, None without any.

    On a shared server the names get fresh canaries.
    """
    context = setting.context
    if setting.shared:
        steps = list(steps_of(with_fresh_canaries(script_of(steps, context)), context))
    transport = setting.transport()
    check = StoreCheck(context, transport, tolerance_ns=setting.tolerance_ns, shared=setting.shared)
    try:
        with unexpected_as_findings():
            for step in steps:
                check.do(step)
    except InvariantError as violation:
        return StepFailure(violation, check)
    finally:
        transport.close()
    return None


@dataclass(frozen=True, slots=True)
class SmallestFailure:
    """The smallest failure found, reproduced `seen` of `of` times."""

    failure: StepFailure
    seen: int
    of: int


def smallest(failure: StepFailure, setting: Setting) -> SmallestFailure:
    """Reduce the steps of a failure for at most `setting.shrink_s` seconds, then replay the result."""
    best, deadline = failure, time.monotonic() + setting.shrink_s

    def holds(steps: Sequence[Step]) -> bool:
        nonlocal best
        found = play_steps(steps, setting) if time.monotonic() < deadline else None
        if found is None or found.key != failure.key:
            return False
        best = found
        return True

    single = _one_by_one(failure.steps)
    steps = single if holds(single) else list(failure.steps)
    fewer(steps, holds, tries=TRIES)
    reproduced = [
        found for _ in range(REPRODUCTIONS) if (found := play_steps(best.steps, setting)) and found.key == failure.key
    ]
    return SmallestFailure(best, len(reproduced), REPRODUCTIONS)


def _one_by_one(steps: Sequence[Step]) -> list[Step]:
    """Return the steps with each request in a write of its own."""
    found: list[Step] = []
    for step in steps:
        found += (
            [RequestStep(step.connection, (one,)) for one in step.requests] if isinstance(step, RequestStep) else [step]
        )
    return found
