"""What servers of ours are told, so that they have every feature and the limits that cases assume."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from conformance.declared import load_parameters
from conformance.documents import vectors_root
from conformance.expressions import Number
from reference_server.clock import Clock
from reference_server.registry import create_service, options_of
from reference_server.service import Service, seeded_ids

ACCOUNTS = "accounts"
"""The folder, beside a protocol's cases, of the files that options of its server name."""


def our_options(protocol: str, parameters: Mapping[str, Number] | None = None) -> dict[str, Any]:
    """Return the options of the protocol's own that a server of ours has; `parameters` where they are not the usual."""
    given = parameters or {}
    numbers, files = _usual(protocol)
    return {**{option: given.get(name, value) for name, option, value in numbers}, **dict(files)}


@cache
def _usual(protocol: str) -> tuple[tuple[tuple[str, str, Number], ...], tuple[tuple[str, Path], ...]]:
    """Return (parameter, option, value) of what has a number, and (option, path) of what is a file."""
    folder = vectors_root() / protocol
    known = load_parameters(folder / "parameters.yaml")
    numbers = tuple((name, one.option, one.value) for name, one in known.items() if one.option)
    files = ((one.name, folder / ACCOUNTS / one.name) for one in options_of(protocol) if one.kind == "file")
    return numbers, tuple((name, path) for name, path in files if path.is_file())


def our_arguments(protocol: str) -> list[str]:
    """Return the same for the command line of a server."""
    found = []
    for name, value in our_options(protocol).items():
        found += [f"--{name.replace('_', '-')}", str(value)]
    return found


def our_service(
    protocol: str,
    profile: str,
    variant: str,
    clock: Clock,
    *,
    fault: str | None = None,
    parameters: Mapping[str, Number] | None = None,
    seed: int = 1,
) -> Service:
    """Return a server of ours, the same for the same seed; ValueError as `create_service`."""
    return create_service(
        protocol,
        profile=profile,
        variant=variant,
        clock=clock,
        ids=seeded_ids(seed),
        fault=fault,
        options=our_options(protocol, parameters),
    )
