"""A mutant of the PSRT server: edits of its source, or a small patch on its profile, rules, state or handlers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wireproof.mutants.edits import Edit
from wireproof.mutants.mutant import Mutant
from wireproof.mutants.server import clauses_of, patched
from wireproof.reference_server.patch import Patch

__all__ = ["ServerMutant", "mutant"]

SERVER = "wireproof.reference_server.psrt"
HANDLERS = {
    f"{SERVER}.control_requests": lambda module, state, found: module.ControlRequests(state),
    f"{SERVER}.data_requests": lambda module, state, found: module.DataRequests(state),
    f"{SERVER}.datagram_requests": lambda module, state, found: module.DatagramRequests(state),
}


@dataclass(frozen=True, eq=False, kw_only=True)
class ServerMutant(Patch, Mutant):
    """One mutant; what is not patched stays correct."""


def mutant(name: str, description: str, clauses: str, *edits: Edit, **patches: Any) -> ServerMutant:
    """Return a mutant that breaks `clauses`: words without their `PSRT-`, the plainest first."""
    made = patched(SERVER, "wireproof.protocols.psrt", edits, HANDLERS, "PsrtSession", patches)
    return ServerMutant(name=name, description=description, clauses=clauses_of("PSRT", clauses), **made)
