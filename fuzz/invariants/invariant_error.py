"""The one exception of the invariants."""

from __future__ import annotations

__all__ = ["InvariantError"]


class InvariantError(AssertionError):
    """Raised when an invariant does not hold; `invariant` names it, `shape` is the same for the same bug.

    `clause` is the one it breaks, where that is known.
    """

    def __init__(self, invariant: str, detail: str, shape: str = "", clause: str | None = None) -> None:
        super().__init__(f"{invariant}: {detail}")
        self.invariant = invariant
        self.detail = detail
        self.shape = shape or detail
        self.clause = clause
