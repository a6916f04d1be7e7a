"""How an SDK departs, on purpose and in one known way, from the reference: what a suite for SDKs is proved with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Deviation", "by_name"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Deviation:
    """One fault: the SDK's class with a small patch, and the clauses it breaks."""

    name: str
    told: str
    """What the SDK does, in one sentence."""
    clauses: tuple[str, ...]
    """Those a case may blame for it, the plainest first."""
    client: type[Any]
    profiles: tuple[str, ...] = ()
    """Profiles in which it shows; () = all."""
    variants: tuple[str, ...] = ()
    """Variants in which it shows; () = all."""
    live: bool = False
    """Ends the process it runs in, so that it needs one of its own."""


def by_name(*groups: tuple[Deviation, ...]) -> Mapping[str, Deviation]:
    """Return name -> fault; raises ValueError when two have the same."""
    found: dict[str, Deviation] = {}
    for one in (each for group in groups for each in group):
        if one.name in found:
            raise ValueError(f"two faults are called {one.name!r}")
        found[one.name] = one
    return found
