"""Plays steps once more: whether they still break something, and with how few of them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from wireproof.fuzz.step_failure import Failure, Setting
from wireproof.fuzz.findings.shrink import fewer
from wireproof.fuzz.invariants.store_invariants import StoreCheck
from wireproof.fuzz.invariants.invariant_error import Violation
from wireproof.fuzz.live.canaries import fresh
from wireproof.fuzz.store_steps import Ask, Step, script_of, steps_of

__all__ = ["Least", "least", "played"]

AGAIN = 3
TRIES = 300


def played(steps: Sequence[Step], setting: Setting) -> Failure | None:
    """Do steps on a place of their own; return what they break. On a shared server they get marks of their own."""
    ground = setting.ground
    if setting.shared:
        steps = list(steps_of(fresh(script_of(steps, ground)), ground))
    place = setting.place()
    check = StoreCheck(ground, place, tolerance_ns=setting.tolerance_ns, shared=setting.shared)
    try:
        for step in steps:
            check.do(step)
    except Violation as violation:
        return Failure(violation, check)
    finally:
        place.close()
    return None


@dataclass(frozen=True, slots=True)
class Least:
    """A failure by few steps, seen again so often."""

    failure: Failure
    seen: int
    of: int


def least(failure: Failure, setting: Setting) -> Least:
    """Return the failure by as few steps as are found in the time that a setting has for it, and play that again."""
    best, deadline = failure, time.monotonic() + setting.shrink_s

    def holds(steps: Sequence[Step]) -> bool:
        nonlocal best
        found = played(steps, setting) if time.monotonic() < deadline else None
        if found is None or found.key != failure.key:
            return False
        best = found
        return True

    single = _one_by_one(failure.steps)
    steps = single if holds(single) else list(failure.steps)
    fewer(steps, holds, tries=TRIES)
    again = [found for _ in range(AGAIN) if (found := played(best.steps, setting)) and found.key == failure.key]
    return Least(best, len(again), AGAIN)


def _one_by_one(steps: Sequence[Step]) -> list[Step]:
    """Return the steps with each request in a write of its own."""
    found: list[Step] = []
    for step in steps:
        found += [Ask(step.connection, (one,)) for one in step.requests] if isinstance(step, Ask) else [step]
    return found
