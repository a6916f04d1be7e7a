"""The description of one seeded bug."""

from __future__ import annotations

from dataclasses import dataclass

from wireproof.fuzz.seeded_bugs.function_edits import Edit

__all__ = ["BugEntry"]


@dataclass(frozen=True, kw_only=True)
class BugEntry:
    """One bug, the engine that must find it, and its budget."""

    mutant: str
    """Its name."""
    description: str
    """What is wrong, in one sentence."""
    part: str
    """Where it is: parser, scheduler, store or transport."""
    engine: str
    budget: int
    """Executions within which it must be found."""
    edits: tuple[Edit, ...] = ()
    """The edits of our own code; none for a mutant of a reference server."""
    profile: str = ""
    """Profile and variant in which it shows; "" for the default ones."""
    variant: str = ""
