"""The one exception of the invariants."""

from __future__ import annotations

__all__ = ["Violation"]


class Violation(AssertionError):  # noqa: N818 - a broken invariant is the finding itself
    """Raised when an invariant does not hold; `invariant` names it, `shape` is the same for the same bug.

    `clause` is the one it breaks, where that is known.
    """

    def __init__(self, invariant: str, told: str, shape: str = "", clause: str | None = None) -> None:
        super().__init__(f"{invariant}: {told}")
        self.invariant = invariant
        self.told = told
        self.shape = shape or told
        self.clause = clause
