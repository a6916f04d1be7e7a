"""A mutant of the PSRT server: a small patch on its profile, rules, state, handlers or connections."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wireproof.mutants.mutant import Mutant
from wireproof.reference_server.psrt.patch import HandlerPatch, Patch, ProfilePatch

__all__ = ["HandlerPatch", "ProfilePatch", "ServerMutant", "mutant"]


@dataclass(frozen=True, eq=False, kw_only=True)
class ServerMutant(Patch, Mutant):
    """One mutant; what is not patched stays correct. Patches are made by `patches`."""


def mutant(name: str, description: str, *clauses: str, **patches: Any) -> ServerMutant:
    """Return a mutant that breaks `clauses`, written without their `PSRT-`; doubles count once."""
    broken = tuple(f"PSRT-{clause}" for clause in dict.fromkeys(clauses))
    return ServerMutant(name=name, description=description, clauses=broken, **patches)
