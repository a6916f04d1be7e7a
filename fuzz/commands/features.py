"""The option that declares the optional features of a target; what it lacks is not required of it."""

from __future__ import annotations

import click

from wireproof.conformance.commands.target_options import features_of
from wireproof.conformance.model.targets import Address
from wireproof.conformance.suite.cases import load_suite
from wireproof.fuzz.commands.options import Options

__all__ = ["FEATURES", "declared"]

FEATURES = click.option(
    "--feature",
    "features",
    multiple=True,
    metavar="NAME",
    help="Optional feature that the target has, see vectors/PROTOCOL/features.yaml. Repeatable, or comma-separated.",
)


def declared(name: str, options: Options, address: Address | None) -> frozenset[str]:
    """Return the declared features of the target; without an address all features of our own server.

    Raises `TargetError` for a feature that the protocol does not have.
    """
    return features_of(options, load_suite(name), address)
