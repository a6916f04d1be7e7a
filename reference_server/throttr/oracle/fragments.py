"""Rules of every answer in fragments: numbers rise by one, and no row occurs twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import Protocol

from wireproof.reference_server.model import Disagreement

__all__ = ["misnumbered", "repeated"]


class Numbered(Protocol):
    """A fragment of an answer."""

    @property
    def fragment(self) -> int:
        """Its number."""


def misnumbered(name: str, fragments: Sequence[Numbered]) -> Disagreement | None:
    """Judge the numbers of fragments; the first one may be any (FRAGMENT-5, FRAGMENT-6)."""
    numbers = [one.fragment for one in fragments]
    if all(later == earlier + 1 for earlier, later in pairwise(numbers)):
        return None
    return Disagreement(f"{name} has fragments {numbers}", f"{name} fragments misnumbered", "THR-FRAGMENT-5")


def repeated(name: str, rows: Sequence[Hashable], clause: str) -> Disagreement | None:
    """Judge that no row occurs twice; `clause` is blamed."""
    found = next((row for row, times in Counter(rows).items() if times > 1), None)
    if found is None:
        return None
    detail = found.hex() if isinstance(found, bytes) else found
    return Disagreement(f"{name} has {detail or 'the empty name'} more than once", f"{name} row repeated", clause)
