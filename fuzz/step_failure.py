"""What engines of steps run on, and what they found."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.fuzz.invariants.store_invariants import StoreCheck
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.server_transports import Transport
from wireproof.fuzz.store_steps import RequestStep, Step

__all__ = ["LONGEST_RUN_NS", "Setting", "StepFailure"]

LONGEST_RUN_NS = 20 * 86_400 * 10**9
"""Time that a run may take: beyond, seconds as floating point hold no nanoseconds."""


@dataclass(frozen=True)
class StepFailure:
    """What broke, by the fewest steps found."""

    violation: InvariantError
    check: StoreCheck

    @property
    def steps(self) -> Sequence[Step]:
        """The steps, the last of which broke it."""
        return self.check.done

    @property
    def key(self) -> tuple[str, str | None, str]:
        """What makes two failures one."""
        return self.violation.invariant, self.violation.clause, self.violation.shape

    @property
    def weight(self) -> tuple[int, int]:
        """How much there is to read."""
        asked = [one for step in self.steps if isinstance(step, RequestStep) for one in step.requests]
        return len(self.steps) + len(asked), sum(len(repr(one)) for one in asked)


@dataclass
class Setting:
    """What a machine runs on, and what it has found."""

    context: FuzzContext
    transport: Callable[[], Transport]
    """Makes the place of one example."""
    tolerance_ns: int = 0
    shared: bool = False
    """Others use the server, and time is real: names are marked, waits are short."""
    longest_wait_ns: int = LONGEST_RUN_NS
    shrink_s: float = 20.0
    """Seconds from the first failure on after which it is made no smaller."""
    ends: float = float("inf")
    """When to stop, on the monotonic clock."""
    failure: StepFailure | None = None
    examples: int = 0
    asked: int = 0
    """Requests."""
    _late: float = field(default=float("inf"), repr=False)

    def is_over(self) -> bool:
        """Say whether nothing more is to be done."""
        return time.monotonic() > min(self._late, self.ends)

    def failed(self, failure: StepFailure) -> bool:
        """Keep a failure, the smallest of those that are the first one again; say whether this is one."""
        if self.failure is None:
            self._late = time.monotonic() + self.shrink_s
        elif failure.key != self.failure.key:
            return False
        if self.failure is None or failure.weight <= self.failure.weight:
            self.failure = failure
        return True
