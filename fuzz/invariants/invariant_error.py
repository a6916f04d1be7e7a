"""The exception of the invariants, and what becomes of any other exception of the code under test."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wireproof.reference_server.model import Disagreement

__all__ = ["UNEXPECTED", "InvariantError", "agree", "server_ended", "unexpected", "unexpected_as_findings"]

UNEXPECTED = "only named errors"
"""The invariant that an exception breaks which the code under test may not raise."""
ROOT = Path(__file__).resolve().parents[2]
UNDER_TEST = tuple(f"{ROOT / package}/" for package in ("protocols", "reference_server"))
GENERATED = "<generated"


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


def agree(invariant: str, found: Disagreement | None) -> None:
    """Raise `InvariantError` for what a model does not allow; nothing for None."""
    if found is not None:
        raise InvariantError(invariant, found.detail, found.shape, found.clause)


def server_ended(error: BaseException) -> InvariantError:
    """Return the violation that an exception is which a server lets through: it would have ended."""
    kind = type(error).__name__
    return InvariantError("the server stays", f"{kind}: {error}"[:300], kind)


def unexpected(error: Exception, doing: str = "") -> InvariantError:
    """Return the violation that an exception of the code under test is; its shape is its type and where it was raised.

    `doing` says what was done, where that was no check of an input.
    """
    frames = [one for one in traceback.extract_tb(error.__traceback__) if _is_under_test(one.filename)]
    place = f"{Path(frames[-1].filename).name} {frames[-1].name}" if frames else ""
    kind = type(error).__name__
    detail = f"{kind}: {error}"[:300] + (f" in {place}" if place else "") + (f", {doing}" if doing else "")
    return InvariantError(UNEXPECTED, detail, " in ".join(filter(None, (kind, place))))


def _is_under_test(file: str) -> bool:
    """Return whether a file is code under test; generated decoders have names of their own."""
    return file.startswith(GENERATED) or str(Path(file).resolve()).startswith(UNDER_TEST)


@contextmanager
def unexpected_as_findings(doing: str = "") -> Iterator[None]:
    """Raise `InvariantError` for any exception inside that is none."""
    try:
        yield
    except InvariantError:
        raise
    except Exception as error:
        raise unexpected(error, doing) from error
