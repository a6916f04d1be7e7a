"""Which cases nobody wrote: combinations and walks, whose answers the model of the document judges."""

from __future__ import annotations

from wireproof.conformance.suite.combinations import is_combination
from wireproof.conformance.suite.walks import is_walk

__all__ = ["is_generated"]


def is_generated(case: str) -> bool:
    """Say whether a case with this id is a combination or a walk."""
    return is_combination(case) or is_walk(case)
