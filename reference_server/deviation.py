"""How a server departs, on purpose and in one known way, from the reference: what a suite is proved with.

A fault breaks clauses and every suite worth its name must find it; a variety breaks none and no suite may fail it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

__all__ = ["Deviation", "Plant", "by_name"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Deviation:
    """What is told of a departure; each protocol adds how its server is patched."""

    name: str
    """Unique within the protocol: `quota-low-byte`."""
    told: str
    """What the server does, in one sentence."""
    clauses: tuple[str, ...] = ()
    """The clauses it breaks, the plainest first; none when what it does is legal."""
    profiles: tuple[str, ...] = ()
    """Profiles in which it shows; () = all those of its first clause."""
    variants: tuple[str, ...] = ()
    """Variants in which it shows; () = all."""
    live: bool = False
    """Shows only in a process of its own behind real sockets, not in simulation."""

    @property
    def is_legal(self) -> bool:
        """Whether it breaks nothing."""
        return not self.clauses


@dataclass(frozen=True, kw_only=True)
class Plant:
    """A fault that fuzzers prove themselves with: which engine is to find it, and within how many executions."""

    fault: str
    """The name of the deviation."""
    part: str
    """Where it is: store or transport."""
    engine: str
    budget: int
    profile: str = ""
    """Profile and variant to serve; "" = the protocol's usual ones."""
    variant: str = ""


OneDeviation = TypeVar("OneDeviation", bound=Deviation)


def by_name(*groups: Iterable[OneDeviation]) -> Mapping[str, OneDeviation]:
    """Return name -> departure, in the order of the groups; ValueError where two have one name."""
    found: dict[str, OneDeviation] = {}
    for one in (one for group in groups for one in group):
        if one.name in found:
            raise ValueError(f"two faults are called {one.name!r}")
        found[one.name] = one
    return found
