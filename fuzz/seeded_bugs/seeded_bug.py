"""What is told of one planted fault."""

from __future__ import annotations

from dataclasses import dataclass

from wireproof.fuzz.seeded_bugs.function_edits import Edit

__all__ = ["BugEntry"]


@dataclass(frozen=True, kw_only=True)
class BugEntry:
    """One fault, the engine that is to find it, and in how many executions."""

    mutant: str
    description: str
    """What is wrong, in one sentence."""
    part: str
    """Where: parser, scheduler, store, transport."""
    engine: str
    budget: int
    """Executions within which it is to be found."""
    edits: tuple[Edit, ...] = ()
    """How our own code is wrong; none for a fault of the reference server, which is known to it by name."""
    profile: str = ""
    """Profile and variant under which a server has it; "" = the protocol's usual ones."""
    variant: str = ""
