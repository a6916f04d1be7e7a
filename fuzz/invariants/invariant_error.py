"""The exception of the invariants."""

from __future__ import annotations

__all__ = ["InvariantError"]


class InvariantError(AssertionError):
    """Raised when an invariant does not hold.

    `invariant` is its name, `detail` what was observed, `shape` a text that is equal for equal bugs, `clause` the
    broken clause if it is known.
    """

    def __init__(self, invariant: str, detail: str, shape: str = "", clause: str | None = None) -> None:
        super().__init__(f"{invariant}: {detail}")
        self.invariant = invariant
        self.detail = detail
        self.shape = shape or detail
        self.clause = clause
