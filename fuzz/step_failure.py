"""What an engine of steps runs on (`Setting`) and what it finds (`StepFailure`)."""

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
"""Longest run in ns of virtual time: beyond it, seconds as a float no longer resolve nanoseconds."""


@dataclass(frozen=True)
class StepFailure:
    """A broken invariant and the steps that break it."""

    violation: InvariantError
    check: StoreCheck

    @property
    def steps(self) -> Sequence[Step]:
        """The steps; the last one breaks the invariant."""
        return self.check.done

    @property
    def key(self) -> tuple[str, str | None, str]:
        """The identity of the failure: invariant, clause, shape."""
        return self.violation.invariant, self.violation.clause, self.violation.shape

    @property
    def weight(self) -> tuple[int, int]:
        """The size of the failure for a reader: (steps and requests, characters of the requests)."""
        asked = [one for step in self.steps if isinstance(step, RequestStep) for one in step.requests]
        return len(self.steps) + len(asked), sum(len(repr(one)) for one in asked)


@dataclass
class Setting:
    """The server and limits that a machine runs with, and the counters and failure of the run."""

    context: FuzzContext
    transport: Callable[[], Transport]
    """Makes the transport of one example."""
    tolerance_ns: int = 0
    shared: bool = False
    """Whether other clients use the server in real time: names carry canaries and waits are short."""
    restarts: bool = False
    """Whether the server may be started again."""
    longest_wait_ns: int = LONGEST_RUN_NS
    shrink_s: float = 20.0
    """Seconds after the first failure during which smaller ones are searched."""
    ends: float = float("inf")
    """When to stop, in seconds of the monotonic clock."""
    known: frozenset[tuple[str, str | None, str]] = frozenset()
    """Keys of failures that are not shrunk again: those of other profiles and variants."""
    ignored: frozenset[tuple[str, str | None, str]] = frozenset()
    """Keys of failures that were reported: they end an example silently."""
    failure: StepFailure | None = None
    examples: int = 0
    asked: int = 0
    """Requests sent."""
    _late: float = field(default=float("inf"), repr=False)

    def go_on(self, ends: float) -> None:
        """Look for other failures than the one that was found, until `ends`."""
        if self.failure is not None:
            self.ignored |= {self.failure.key}
        self.failure, self.ends, self._late = None, ends, float("inf")

    def is_over(self) -> bool:
        """Return whether the time of the run or of shrinking is over."""
        return time.monotonic() > min(self._late, self.ends)

    def failed(self, failure: StepFailure) -> bool:
        """Keep `failure` if it is the smallest so far; return whether it equals the first failure of the run."""
        if failure.key in self.ignored:
            return False
        if self.failure is None:
            self._late = time.monotonic() + (0 if failure.key in self.known else self.shrink_s)
        elif failure.key != self.failure.key:
            return False
        if self.failure is None or failure.weight <= self.failure.weight:
            self.failure = failure
        return True
