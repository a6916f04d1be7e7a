"""The option that says what a target has: what it lacks is neither asked of it nor held against it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from wireproof.conformance.commands.target_options import features_of
from wireproof.conformance.model.targets import Address
from wireproof.conformance.suite.cases import load_suite

__all__ = ["FEATURES", "declared"]

FEATURES = click.option(
    "--feature",
    "features",
    multiple=True,
    metavar="NAME",
    help="A feature that the target has (vectors/PROTOCOL/features.yaml); once for each, or with commas.",
)


def declared(name: str, options: Mapping[str, Any], address: Address | None) -> frozenset[str]:
    """Return the features that are declared, all of those of a server of ours without an address; `TargetError`."""
    return features_of(options, load_suite(name), address)
