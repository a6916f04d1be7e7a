"""A mutant of the TMQP SDK: edits of its source."""

from __future__ import annotations

from wireproof.mutants.edits import Edit, Edited, before
from wireproof.mutants.mutant import ClientMutant

__all__ = ["mutant", "sent"]

CLIENT = "wireproof.reference_client"
SHARED = ("server_connection", "link", "matched_link", "pings", "checks")
MODULES = ("wireproof.protocols.tmqp", f"{CLIENT}.tmqp", *(f"{CLIENT}.{one}" for one in SHARED))


def mutant(name: str, description: str, clauses: str, *edits: Edit) -> ClientMutant:
    """Return a mutant that breaks `clauses`: words without their `TMQP-`."""
    edited = Edited(MODULES, edits)
    return ClientMutant(
        name=name,
        description=description,
        clauses=tuple(f"TMQP-{one}" for one in clauses.split()),
        make=lambda: edited.get(f"{CLIENT}.tmqp.client").Client,
    )


def sent(field: str, value: str, condition: str = "True") -> Edit:
    """Return the edit that sends requests with another value of a field: an expression of `one`, the request."""
    changed = f"request = (lambda one: replace(one, {field}={value}) if {condition} else one)(request)"
    return before("Client.ask", "self._check(request)", changed)
