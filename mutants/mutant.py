"""Mutants: servers and clients modified deliberately in one known way, to measure what a suite detects.

A mutant breaks clauses, and a suite must kill it. A conforming variant breaks none, and a suite must not fail it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

__all__ = ["ClientMutant", "Mutant", "SeededBug", "by_name"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Mutant:
    """What is common to all mutants; each protocol adds how its server or client is patched."""

    name: str
    """Unique within the protocol and role: `quota-low-byte`."""
    description: str
    """What the mutant does, in one sentence."""
    clauses: tuple[str, ...] = ()
    """The clauses it breaks, the plainest first; none when what it does is legal."""
    profiles: tuple[str, ...] = ()
    """Profiles in which it differs; () = all those of its first clause."""
    variants: tuple[str, ...] = ()
    """Variants in which it differs; () = all."""
    live: bool = False
    """Differs only in a process of its own behind real sockets, not in simulation."""

    @property
    def is_legal(self) -> bool:
        """Whether it breaks nothing: a conforming variant."""
        return not self.clauses


@dataclass(frozen=True, eq=False, kw_only=True)
class ClientMutant(Mutant):
    """An SDK with a small patch."""

    make: Callable[[], type[Any]]
    """Makes its class."""

    @cached_property
    def client(self) -> type[Any]:
        """The class, made when it is asked for."""
        return self.make()


@dataclass(frozen=True, kw_only=True)
class SeededBug:
    """A mutant that a fuzzer must find: by which engine, and within how many executions."""

    mutant: str
    """The name of the mutant."""
    part: str
    """Where it is: store or transport."""
    engine: str
    budget: int
    """Executions."""
    profile: str = ""
    """Profile and variant to serve; "" = the protocol's usual ones."""
    variant: str = ""


OneMutant = TypeVar("OneMutant", bound=Mutant)


def by_name(*groups: Iterable[OneMutant]) -> Mapping[str, OneMutant]:
    """Return name -> mutant, in the order of the groups; raises ValueError where two have one name."""
    found: dict[str, OneMutant] = {}
    for one in (one for group in groups for one in group):
        if one.name in found:
            raise ValueError(f"two mutants have the name {one.name!r}")
        found[one.name] = one
    return found
