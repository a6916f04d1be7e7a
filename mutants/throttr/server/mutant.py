"""A mutant of the Throttr server: edits of its source, or a small patch on its profile, rules, state or handlers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wireproof.mutants.edits import Edit
from wireproof.mutants.mutant import Mutant
from wireproof.mutants.server import clauses_of, patched
from wireproof.reference_server.patch import Patch

__all__ = ["ServerMutant", "mutant"]

SERVER = "wireproof.reference_server.throttr"
HANDLERS = {
    f"{SERVER}.record_requests": lambda module, state, found: module.RecordRequests(state),
    f"{SERVER}.listings": lambda module, state, found: module.Listings(state),
    f"{SERVER}.channel_requests": lambda module, state, found: module.ChannelRequests(state),
    f"{SERVER}.server_requests": lambda module, state, found: module.ServerRequests(state, found),
}


@dataclass(frozen=True, eq=False, kw_only=True)
class ServerMutant(Patch, Mutant):
    """One mutant; what is not patched stays correct."""


def mutant(name: str, description: str, clauses: str, *edits: Edit, **patches: Any) -> ServerMutant:
    """Return a mutant that breaks `clauses`: words without their `THR-`, the plainest first."""
    made = patched(SERVER, "wireproof.protocols.throttr", edits, HANDLERS, "ThrottrSession", patches)
    return ServerMutant(name=name, description=description, clauses=clauses_of("THR", clauses), **made)
