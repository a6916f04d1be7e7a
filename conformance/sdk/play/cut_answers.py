"""Cases that differ only in how answers are cut."""

from __future__ import annotations

from collections.abc import Iterable

from wireproof.conformance.suite.cases import Case

__all__ = ["CUT", "uncut"]

CUT = "cut"
"""The variable of a case that says how answers are cut; what a record keeps where that alone makes the difference."""
UNCUT = 10000
"""Bytes of a segment that holds whatever a case writes."""


def uncut(case: Case, cases: Iterable[Case]) -> str | None:
    """Return the id of the case that differs from one of cut answers only in that they come whole; None for no such."""

    def is_whole(cut: object) -> bool:
        return cut == "whole" or (isinstance(cut, int) and cut >= UNCUT)

    def others(one: Case) -> dict[str, object]:
        return {name: value for name, value in one.variables.items() if name != CUT}

    entry = case.id.partition(".")[0]
    if CUT not in case.variables or is_whole(case.variables[CUT]):
        return None
    alike = (one for one in cases if one.id.partition(".")[0] == entry and others(one) == others(case))
    return next((one.id for one in alike if is_whole(one.variables.get(CUT))), None)
