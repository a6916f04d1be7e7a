"""A mutant of the TMQP server: edits of its source, or a small patch on its profile, rules, state or handlers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wireproof.mutants.edits import Edit
from wireproof.mutants.mutant import Mutant
from wireproof.mutants.server import clauses_of, patched
from wireproof.reference_server.tmqp.patch import Patch

__all__ = ["ServerMutant", "mutant"]

SERVER = "wireproof.reference_server.tmqp"
SHARED = ("wireproof.protocols.tmqp", "wireproof.reference_server.stream_session")
"""What the server needs beside its own modules, and an edit may change."""
HANDLERS = {
    f"{SERVER}.handshake": lambda module, state, found: module.Handshake(state),
    f"{SERVER}.operations": lambda module, state, found: module.Operations(state),
    f"{SERVER}.queue_operations": lambda module, state, found: module.QueueOperations(state),
    f"{SERVER}.messaging": lambda module, state, found: module.Messaging(state),
    f"{SERVER}.direct": lambda module, state, found: module.Direct(state),
    f"{SERVER}.routing": lambda module, state, found: module.Routing(state),
}


@dataclass(frozen=True, eq=False, kw_only=True)
class ServerMutant(Patch, Mutant):
    """One mutant; what is not patched stays correct."""


def mutant(name: str, description: str, clauses: str, *edits: Edit, **patches: Any) -> ServerMutant:
    """Return a mutant that breaks `clauses`: words without their `TMQP-`, the plainest first."""
    made = patched(SERVER, SHARED, edits, HANDLERS, "TmqpSession", patches, slave="nodes.SlaveSession")
    return ServerMutant(name=name, description=description, clauses=clauses_of("TMQP", clauses), **made)
