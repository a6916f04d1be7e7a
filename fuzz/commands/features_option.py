"""The option that declares the optional features of a target; what it lacks is not required of it."""

from __future__ import annotations

import asyncio

import click

from wireproof.conformance.commands.target_options import Target, features_of, listeners_of
from wireproof.conformance.model.targets import Address, TargetError
from wireproof.conformance.run.asked_features import can_be_asked, features_found
from wireproof.conformance.run.plan import Settings
from wireproof.conformance.run.probe import Spoken
from wireproof.conformance.suite.cases import load_suite
from wireproof.conformance.verdict.records import Run
from wireproof.fuzz.commands.options import Options
from wireproof.fuzz.live.fuzz_target import LiveTarget
from wireproof.fuzz.script import Script

__all__ = ["FEATURES", "LISTENERS", "check_listeners", "check_listeners_of", "features_at"]

FEATURES = click.option(
    "--feature",
    "features",
    multiple=True,
    metavar="NAME",
    help="Optional feature that the target has (wireproof features PROTOCOL). Repeatable, or comma-separated. "
    "Where none is named, the target is asked for those that can be found out.",
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


def features_at(name: str, options: Options, target: Target, address: Address, spoken: Spoken) -> frozenset[str]:
    """Return the features of a live target: those that were declared; where none was, those that are found by asking.

    A server that wireproof started and that dies of it is started again. Raises `TargetError` for a feature that the
    protocol does not have.
    """
    suite, server = load_suite(name), target.server
    known = features_of(options, suite, address)
    if options["features"] or not can_be_asked(suite):
        return known
    run = Run(name, spoken.profile, spoken.variant, target.label, target.label)
    settings = Settings(features=known, listeners=listeners_of(options))
    found = asyncio.run(features_found(suite, run, address, settings, server))
    if server is not None:
        asyncio.run(server.restart_if_ended("features"))
    if found - known:
        click.echo(f"features found by asking: {', '.join(sorted(found - known))}; --feature NAME declares others")
    return known | found
