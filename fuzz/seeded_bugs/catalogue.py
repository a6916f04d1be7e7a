"""All seeded bugs: those of our own code, and the mutants of reference servers."""

from __future__ import annotations

from wireproof.fuzz.known_targets import default_protocol
from wireproof.fuzz.seeded_bugs import parser_bugs, scheduler_bugs
from wireproof.fuzz.seeded_bugs.seeded_bug import BugEntry
from wireproof.mutants.registry import seeded_bugs, server_mutants

__all__ = ["all_bugs", "own_bugs"]


def own_bugs() -> dict[str, BugEntry]:
    """Return name -> bug of our own code."""
    return {one.mutant: one for one in (*parser_bugs.BUGS, *scheduler_bugs.BUGS)}


def all_bugs(name: str) -> list[BugEntry]:
    """Return the seeded bugs for a protocol.

    Bugs in code that all protocols share are seeded with the default protocol only.
    """
    mutants = server_mutants(name)
    return [
        *(own_bugs().values() if name == default_protocol() else ()),
        *(
            BugEntry(
                mutant=one.mutant,
                description=mutants[one.mutant].description,
                part=one.part,
                engine=one.engine,
                budget=one.budget,
                profile=one.profile or next(iter(mutants[one.mutant].profiles), ""),
                variant=one.variant or next(iter(mutants[one.mutant].variants), ""),
            )
            for one in seeded_bugs(name)
        ),
    ]
