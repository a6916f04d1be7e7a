"""A mutant of the namechan server: edits of its source, or a small patch on its profile, rules, state or handlers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wireproof.mutants.edits import Edit
from wireproof.mutants.mutant import Mutant
from wireproof.mutants.server import clauses_of, patched
from wireproof.reference_server.patch import Patch

__all__ = ["ServerMutant", "mutant"]

SERVER = "wireproof.reference_server.namechan"
SHARED = (
    "wireproof.protocols.namechan",
    "wireproof.protocols.sexp",
    "wireproof.protocols.sexp_messages",
    "wireproof.reference_server.stream_session",
)
"""What the server needs beside its own modules, and an edit may change."""
HANDLERS = {f"{SERVER}.handlers": lambda module, state, found: module.LineHandlers(state)}


@dataclass(frozen=True, eq=False, kw_only=True)
class ServerMutant(Patch, Mutant):
    """One mutant; what is not patched stays correct."""


def mutant(name: str, description: str, clauses: str, *edits: Edit, **patches: Any) -> ServerMutant:
    """Return a mutant that breaks `clauses`: words without their `NCH-`, the plainest first."""
    made = patched(SERVER, SHARED, edits, HANDLERS, "NamechanSession", patches)
    return ServerMutant(name=name, description=description, clauses=clauses_of("NCH", clauses), **made)
