"""A mutant of the PSRT server: edits of its source, or a small patch on its profile, rules, state or handlers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wireproof.mutants.edits import Edit, Edited
from wireproof.mutants.mutant import Mutant
from wireproof.reference_server.psrt.patch import HandlerPatch, Patch, ProfilePatch
from wireproof.reference_server.psrt.state import Handler, Handlers, State

__all__ = ["HandlerPatch", "ProfilePatch", "ServerMutant", "mutant"]

SERVER = "wireproof.reference_server.psrt"
PACKAGES = ("wireproof.protocols.psrt", SERVER)
HANDLERS = {
    f"{SERVER}.control_requests": "ControlRequests",
    f"{SERVER}.data_requests": "DataRequests",
    f"{SERVER}.datagram_requests": "DatagramRequests",
}
"""Module -> its class of handlers."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ServerMutant(Patch, Mutant):
    """One mutant; what is not patched stays correct."""


def mutant(name: str, description: str, clauses: str, *edits: Edit, **patches: Any) -> ServerMutant:
    """Return a mutant that breaks `clauses`: words without their `PSRT-`, the plainest first; doubles count once."""
    broken = tuple(f"PSRT-{clause}" for clause in dict.fromkeys(clauses.split()))
    made = {**_patches(Edited(PACKAGES, edits)), **patches} if edits else patches
    return ServerMutant(name=name, description=description, clauses=broken, **made)


def _patches(edited: Edited) -> Mapping[str, Any]:
    """Return the patches that put edited modules in; these are compiled when a server is made."""
    named = {one.place.rpartition(".")[2] for one in edited.edits} - {"__init__"}

    def handlers(correct: Handlers, state: State) -> Handlers:
        found: Handlers = {}
        for module, kind in HANDLERS.items():
            if module in edited.affected:
                found |= getattr(edited.get(module), kind)(state).handlers()
        chosen = {one: handler for one, handler in found.items() if _name(handler) in named}
        return chosen if named <= set(map(_name, chosen.values())) else found

    kinds = {"state": "State", "session": "PsrtSession"}
    made = {one: _Lazy(edited, f"{SERVER}.{one}", kind) for one, kind in kinds.items()}
    return {"handlers": handlers} | {one: made[one] for one in kinds if f"{SERVER}.{one}" in edited.affected}


def _name(handler: Handler) -> str:
    return str(getattr(handler, "__name__", ""))


class _Lazy:
    """A class of an edited module, looked up when it is called."""

    def __init__(self, edited: Edited, module: str, name: str) -> None:
        self._edited, self._module, self._name = edited, module, name

    def __call__(self, *given: Any) -> Any:
        return getattr(self._edited.get(self._module), self._name)(*given)
