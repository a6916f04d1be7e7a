"""A mutant of the PSRT SDK: edits of its source."""

from __future__ import annotations

from wireproof.mutants.edits import Edit, Edited
from wireproof.mutants.mutant import ClientMutant

__all__ = ["mutant"]

CLIENT = "wireproof.reference_client"
MODULES = (
    "wireproof.protocols.psrt",
    f"{CLIENT}.psrt",
    *(f"{CLIENT}.{one}" for one in ("server_connection", "link", "pings", "silence")),
)


def mutant(name: str, description: str, clauses: str, *edits: Edit) -> ClientMutant:
    """Return a mutant that breaks `clauses`: words without their `PSRT-`."""
    edited = Edited(MODULES, edits)
    return ClientMutant(
        name=name,
        description=description,
        clauses=tuple(f"PSRT-{one}" for one in clauses.split()),
        make=lambda: edited.get(f"{CLIENT}.psrt.client").Client,
    )
