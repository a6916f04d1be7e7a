"""The option that declares the optional features of a target; what it lacks is not required of it."""

from __future__ import annotations

import click

from wireproof.conformance.commands.target_options import features_of
from wireproof.conformance.model.targets import Address, TargetError
from wireproof.conformance.suite.cases import load_suite
from wireproof.fuzz.commands.options import Options
from wireproof.fuzz.live.fuzz_target import LiveTarget
from wireproof.fuzz.script import Script

__all__ = ["FEATURES", "LISTENERS", "check_listeners", "check_listeners_of", "declared"]

FEATURES = click.option(
    "--feature",
    "features",
    multiple=True,
    metavar="NAME",
    help="Optional feature that the target has (wireproof features PROTOCOL). Repeatable, or comma-separated.",
)


LISTENERS = click.option(
    "--listener",
    "listeners",
    multiple=True,
    metavar="NAME=ADDRESS",
    help="Where the target listens beside its usual address; it declares the feature of that name, too. A target that "
    "is started may print it instead: listening NAME ADDRESS.",
)


def check_listeners(live: LiveTarget) -> None:
    """Raise `TargetError` if the address of a listener that the target declares is not known."""
    links = live.context.symbols.protocol.links
    needed = {link.listener for name, link in links.items() if not live.context.may_refuse(name, ())} - {""}
    if missing := sorted(needed - live.listeners.keys()):
        raise TargetError(f"expected --listener {missing[0]}=ADDRESS: the target declares that feature")


def check_listeners_of(live: LiveTarget, script: Script) -> None:
    """Raise `TargetError` if the address of a listener is not known to which a kept script connects."""
    if missing := live.unknown_listeners(script):
        raise TargetError(f"expected --listener {missing[0]}=ADDRESS: the finding connects there")


def declared(name: str, options: Options, address: Address | None) -> frozenset[str]:
    """Return the declared features of the target; without an address all features of our own server.

    Raises `TargetError` for a feature that the protocol does not have.
    """
    return features_of(options, load_suite(name), address)
