"""The one place of the mutants that names protocols; each package is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from wireproof.mutants.mutant import ClientMutant, Mutant, SeededBug
from wireproof.mutants.wire import wire_mutants, wire_sample
from wireproof.reference_client.registry import CLIENTS, DrivenClient, client_class, driven_protocols
from wireproof.reference_server.registry import SERVICES

__all__ = [
    "PACKAGES",
    "client_mutants",
    "demonstration_mutants",
    "durability_mutants",
    "mutant_client",
    "seeded_bugs",
    "server_mutants",
    "server_patch",
]

PACKAGES = {
    "namechan": "wireproof.mutants.namechan",
    "psrt": "wireproof.mutants.psrt",
    "throttr": "wireproof.mutants.throttr",
    "tmqp": "wireproof.mutants.tmqp",
}
"""Protocol -> the package whose `server` and `client` hold its mutants."""


def server_mutants(protocol: str) -> Mapping[str, Mutant]:
    """Return name -> mutants and conforming variants of the server of `protocol`; none where there are none."""
    return _server_mutants(protocol) if protocol in SERVICES else {}


@cache
def _server_mutants(protocol: str) -> Mapping[str, Mutant]:
    """Return those of the protocol's tables, then a sample of those derived from its layouts."""
    return {**_mutants(protocol, "server"), **wire_sample(protocol)}


def client_mutants(protocol: str) -> Mapping[str, ClientMutant]:
    """Return name -> mutants of the reference client of `protocol`; none where there are none.

    Raises ValueError where `protocol` has no reference client.
    """
    if protocol not in CLIENTS:
        raise ValueError(f"unknown protocol {protocol!r}: expected {' or '.join(driven_protocols())}")
    return _mutants(protocol, "client")


def demonstration_mutants(protocol: str) -> tuple[str, ...]:
    """Return the names of the mutants that the demonstration serves."""
    names: tuple[str, ...] = getattr(_package(protocol, "server"), "DEMONSTRATION", ())
    return names


def seeded_bugs(protocol: str) -> tuple[SeededBug, ...]:
    """Return the mutants of the server of `protocol` that fuzzers must find."""
    if protocol not in PACKAGES:
        return ()
    found: tuple[SeededBug, ...] = import_module(f"{PACKAGES[protocol]}.server.seeded").SEEDED_BUGS
    return found


def server_patch(protocol: str, name: str | None) -> Any:
    """Return the `patch` that makes `create_service` serve the mutant `name`; None for no name.

    Raises ValueError for a name that is not known, with the nearest known ones.
    """
    if name is None:
        return None
    known = server_mutants(protocol)
    if name not in known and name.startswith("wire:") and protocol in SERVICES:
        known = wire_mutants(protocol)
    if name in durability_mutants(protocol):
        known = durability_mutants(protocol)
    if name not in known:
        raise _unknown(protocol, name, known, demonstration_mutants(protocol))
    return known[name]


def durability_mutants(protocol: str) -> Mapping[str, Mutant]:
    """Return name -> mutants that only a death of the server shows; none where there are none."""
    if protocol not in SERVICES or find_spec(f"{PACKAGES[protocol]}.server.durability") is None:
        return {}
    found: Mapping[str, Mutant] = import_module(f"{PACKAGES[protocol]}.server.durability").DURABILITY_MUTANTS
    return found


def mutant_client(protocol: str, name: str | None) -> type[DrivenClient]:
    """Return the SDK of `protocol` as the mutant `name`, the right one for no name.

    Raises ValueError for a protocol or name that is not known, with what is known.
    """
    if name is None:
        return client_class(protocol)
    known = client_mutants(protocol)
    if name not in known:
        raise _unknown(protocol, name, known, list(known)[:3])
    return known[name].client


def _unknown(protocol: str, name: str, known: Iterable[str], usual: Iterable[str]) -> ValueError:
    close = get_close_matches(name, known, n=3) or usual
    return ValueError(f"unknown {protocol} mutant {name!r}: did you mean {' or '.join(close)}?")


def _mutants(protocol: str, role: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = getattr(_package(protocol, role), "MUTANTS", {})
    return found


def _package(protocol: str, role: str) -> Any:
    return import_module(f"{PACKAGES[protocol]}.{role}") if protocol in PACKAGES else None
