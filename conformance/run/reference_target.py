"""Servers of our own, set up as the cases of their protocol say: limits by parameters.yaml, the rest by server.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from wireproof.conformance.model.expressions import Number
from wireproof.conformance.suite.declared import load_parameters, server_document, server_options
from wireproof.conformance.suite.documents import CaseError, vectors_root
from wireproof.reference_server.certificates import self_signed
from wireproof.reference_server.clock import Clock
from wireproof.reference_server.registry import create_service, options_of
from wireproof.reference_server.service import Service, seeded_ids

__all__ = [
    "datagram_arguments",
    "driver_check_options",
    "features",
    "keeps_anything",
    "kept_in",
    "listener_arguments",
    "listeners",
    "options",
    "service",
    "serving_arguments",
]


@cache
def _settable(protocol: str) -> Mapping[str, tuple[str, Number]]:
    """Return parameter -> the option of the server that sets it, and its usual value."""
    known = load_parameters(vectors_root() / protocol / "parameters.yaml")
    return {name: (one.option, one.value) for name, one in known.items() if one.option}


def features(protocol: str) -> frozenset[str]:
    """Return the optional features that such a server has."""
    return frozenset(server_document(protocol).get("features", ()))


@cache
def options(protocol: str) -> dict[str, Any]:
    """Return the options of its own that such a server is given; `CaseError` for one that it does not have."""
    known = {one.name for one in options_of(protocol)}
    wanted = {**dict(_settable(protocol).values()), **server_options(protocol)}
    if unknown := [name for name in wanted if name not in known]:
        there = ", ".join(sorted(known)) or "none"
        raise CaseError(f"{protocol}: its server has no option {unknown[0]!r}; it has {there}")
    return wanted


def driver_check_options(protocol: str) -> Mapping[str, Any]:
    """Return the options of the server that drivers are checked against."""
    found: Mapping[str, Any] = server_document(protocol).get("driver_check", {})
    return found


def listeners(protocol: str, scratch: Path) -> dict[str, Path]:
    """Return the listeners beside the usual one: name -> UNIX socket in `scratch`, where such a server has it."""
    return {name: scratch / name for name in server_document(protocol).get("listeners", {})}


def keeps_anything(protocol: str) -> bool:
    """Say whether such a server keeps anything over a restart."""
    return "data" in server_document(protocol)


def kept_in(protocol: str, data: Path | None) -> dict[str, Any]:
    """Return the option by which such a server keeps what it keeps in `data`; `CaseError` where it keeps nothing."""
    if data is None:
        return {}
    if "data" not in server_document(protocol):
        raise CaseError(f"{protocol}: its server keeps nothing over a restart (no `data` in server.yaml)")
    return {server_document(protocol)["data"]: str(data)}


def service(
    protocol: str,
    *,
    profile: str,
    variant: str,
    clock: Clock,
    mutant: str | None = None,
    parameters: Mapping[str, Number] | None = None,
    seed: int = 1,
    data: Path | None = None,
) -> Service:
    """Return such a server, the same for the same seed; `parameters` where its limits are not the usual ones.

    `data`: the folder of what it keeps over a restart. Raises ValueError as `create_service`, `CaseError` as `kept_in`.
    """
    from wireproof.mutants.registry import server_patch

    given = parameters or {}
    limits = {option: given[name] for name, (option, _) in _settable(protocol).items() if name in given}
    given_options = {**options(protocol), **limits, **kept_in(protocol, data)}
    return create_service(
        protocol,
        profile=profile,
        variant=variant,
        clock=clock,
        ids=seeded_ids(seed),
        patch=server_patch(protocol, mutant),
        options=given_options,
    )


def listener_arguments(protocol: str, scratch: Path) -> list[str]:
    """Return the arguments by which such a server has its listeners beside the usual one, in `scratch`."""
    named = server_document(protocol).get("listeners", {}).items()
    found = [(f"--{option.replace('_', '-')}", str(listeners(protocol, scratch)[name])) for name, option in named]
    return [word for pair in found for word in pair]


def datagram_arguments(protocol: str) -> list[str]:
    """Return the arguments by which such a server takes datagrams, where its protocol has any."""
    return ["--udp"] if "udp" in features(protocol) else []


def serving_arguments(protocol: str, *, profile: str, variant: str, scratch: Path) -> list[str]:
    """Return the arguments after `python -m reference_server` for such a server; a certificate is made in `scratch`."""
    words = [protocol, "--profile", profile, "--variant", variant]
    for name, value in options(protocol).items():
        flag = name.replace("_", "-")
        words += [f"--{'' if value else 'no-'}{flag}"] if isinstance(value, bool) else [f"--{flag}", str(value)]
    words += listener_arguments(protocol, scratch)
    words += datagram_arguments(protocol)
    if "tls" in features(protocol):
        certificate, key = self_signed(scratch)
        words += ["--tls-cert", str(certificate), "--tls-key", str(key)]
    return words
